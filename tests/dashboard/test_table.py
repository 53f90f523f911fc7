"""Tables and downloads: sorted by value, exact to the last digit."""

import csv
import io
from datetime import UTC, datetime
from decimal import Decimal
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import openpyxl

from dashboard.columns import Column
from dashboard.downloads import as_csv, as_xlsx
from dashboard.table import frame

EXACT = Decimal("12345678901234567890.123456789")
PAGE = SimpleNamespace(filters=SimpleNamespace(zone=ZoneInfo("Asia/Shanghai")))
COLUMNS = [
    Column("name", "Name"),
    Column("amount", "Amount", "money"),
    Column("tokens", "Tokens", "count"),
    Column("at", "At", "moment"),
]
AT = datetime(2026, 11, 30, 16, 30, tzinfo=UTC)
ROWS = [
    {"name": "a", "amount": Decimal("9.995"), "tokens": 9_007_199_254_740_993, "at": AT},
    {"name": "=1+1", "amount": EXACT, "tokens": None, "at": None},
    {"name": None, "amount": Decimal("10.5"), "tokens": 0, "at": AT},
]


def read_csv():
    """The rows of the CSV file as a spreadsheet would read them."""
    return list(csv.reader(io.StringIO(as_csv(ROWS, COLUMNS).decode("utf-8-sig"))))


def test_money_sorts_by_value():
    """9.995, 10.5, 12345678901234567890.12: as text 10.5 would come first."""
    shown = frame(PAGE, ROWS, COLUMNS, "CNY").sort_values("amount")["amount"].tolist()
    assert shown == [Decimal("10.00"), Decimal("10.50"), Decimal("12345678901234567890.12")]


def test_times_are_shown_in_the_zone():
    """16:30 UTC is 00:30 of the next day in Shanghai."""
    assert str(frame(PAGE, ROWS, COLUMNS, "CNY")["at"][0]) == "2026-12-01 00:30:00"


def test_csv_keeps_every_digit():
    """The amounts and counts as they came, beyond what a float holds."""
    rows = read_csv()
    assert rows[0] == ["Name", "Amount", "Tokens", "At"]
    assert rows[1] == ["a", "9.995", "9007199254740993", "2026-11-30T16:30:00Z"]
    assert rows[2][1] == "12345678901234567890.123456789"


def test_csv_runs_no_formula():
    """A name that begins with = gets a quote before it."""
    assert read_csv()[2][0] == "'=1+1"


def test_xlsx_is_exact_and_holds_no_formula():
    """Numbers of up to 15 digits as numbers, longer ones as text, formulas as text."""
    sheet = openpyxl.load_workbook(io.BytesIO(as_xlsx(ROWS, COLUMNS))).active
    cells = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=2)]
    assert cells[0][:3] == ["a", 9.995, "9007199254740993"]
    assert cells[1][:2] == ["=1+1", "12345678901234567890.123456789"]
    assert sheet["A3"].data_type == "s"


def test_the_same_rows_are_the_same_file():
    """A page that draws itself anew keeps the files that somebody is about to fetch."""
    assert as_xlsx(ROWS, COLUMNS) == as_xlsx(ROWS, COLUMNS)
