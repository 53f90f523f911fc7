"""Files of what is shown: CSV and XLSX that keep every digit."""

import csv
import io
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Final

import streamlit as st
import xlsxwriter

from dashboard.columns import Column, Row
from dashboard.page import Page

FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
CREATED: Final = datetime(2000, 1, 1, tzinfo=UTC)  # the same rows are the same bytes
EXCEL_DIGITS: Final = 15  # more than these a spreadsheet drops without a word


def downloads(page: Page, rows: Sequence[Row], columns: Sequence[Column], name: str) -> None:
    """Buttons that hand over `rows` as files."""
    start = page.formats.day(page.filters.period.start_at)
    with st.container(horizontal=True, horizontal_alignment="right", key=f"download_{name}"):
        for ending, make in (("csv", as_csv), ("xlsx", as_xlsx)):
            st.download_button(
                ending.upper(),
                make(rows, columns),  # now: a click that comes late finds the same file
                f"tokentill-{name}-{start}.{ending}",
                key=f"{name}_{ending}",
                type="tertiary",
                icon=":material/download:",
                on_click="ignore",
            )


def as_csv(rows: Sequence[Row], columns: Sequence[Column]) -> bytes:
    """UTF-8 with a mark for spreadsheets; amounts with every digit, times in ISO 8601 UTC."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([column.label for column in columns])
    for row in rows:
        writer.writerow([_cell(row.get(column.field)) for column in columns])
    return ("\ufeff" + out.getvalue()).encode()


def as_xlsx(rows: Sequence[Row], columns: Sequence[Column]) -> bytes:
    """A workbook; a number that a spreadsheet cannot hold exactly is written as text."""
    out = io.BytesIO()
    book = xlsxwriter.Workbook(out, {"in_memory": True, "strings_to_formulas": False})
    book.set_properties({"created": CREATED})
    sheet = book.add_worksheet()
    bold = book.add_format({"bold": True})
    for place, column in enumerate(columns):
        sheet.write_string(0, place, column.label, bold)
        sheet.set_column(place, place, 18)
    for line, row in enumerate(rows, 1):
        for place, column in enumerate(columns):
            value = row.get(column.field)
            if isinstance(value, (int, Decimal)) and _fits(value):
                sheet.write_number(line, place, value)
            elif value is not None:
                sheet.write_string(line, place, plain(value) or "")
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, max(len(rows), 1), len(columns) - 1)
    book.close()
    return out.getvalue()


def _fits(value: int | Decimal) -> bool:
    return len(Decimal(value).normalize().as_tuple().digits) <= EXCEL_DIGITS


def plain(value: Any) -> str | None:
    """As a file holds it: times in ISO 8601 UTC, decimals with every digit."""
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, (list, tuple)):
        return " ".join(str(each) for each in value)
    return str(value)


def _cell(value: Any) -> str:
    text = plain(value) or ""
    return f"'{text}" if isinstance(value, str) and text.startswith(FORMULA_STARTS) else text
