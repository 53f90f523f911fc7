"""FOCUS of a tenant with a contract: list prices from the ledger's own revisions (FOCUS 1.2)."""

import csv
from datetime import date
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from pricing.runs.export_file import ExportOrder, export_file
from pricing.runs.issue import document_of
from pricing.scope import Scope
from tests.pricing.close.conftest import BOOK, time, usage

CONTRACT = """
[[contract]]
tenant = "t-alder"
effective_from = 2026-01-01T00:00:00Z
percent_off = "{percent}"
"""
LATER = BOOK.replace("2020-01-01", "2026-06-20").replace("2.00", "9.00")


def focus(house, tmp_path, month=date(2026, 6, 1)):
    """The rows of the month's FOCUS export."""
    order = ExportOrder(kind="focus", month=month, zone=ZoneInfo("UTC"), scope=Scope.house())
    path = tmp_path / "focus.csv"
    with house.ledger.read() as connection:
        export_file(house.till.cursor, connection, order, format_="csv", path=path)
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


def closed(house, percent):
    """June of t-alder (a contract) and t-birch (none): three million tokens each."""
    house.publish(BOOK + CONTRACT.format(percent=percent), time("2026-01-02T00:00:00Z"))
    for name in ("t-alder", "t-birch"):
        house.tenant(name)
        row = usage("a", name, "2026-06-05T00:00:00Z", tokens=3_000_000)
        house.feed(row, now="2026-06-06T00:00:00Z")
    house.close("2026-06", "2026-07-01T01:00:00Z")
    return house


@pytest.mark.parametrize(("percent", "paid"), [("10", "5.4"), ("12.5", "5.25"), ("100", "0")])
def test_the_list_is_the_list_whatever_was_agreed(house, tmp_path, percent, paid):
    """3 M tokens at 2.00 are 6.00 for both tenants; only what is contracted and billed differs."""
    rows = focus(closed(house, percent), tmp_path)
    assert [Decimal(row["ListUnitPrice"]) for row in rows] == [2, 2]
    assert [Decimal(row["ListCost"]) for row in rows] == [6, 6]
    for name in ("ContractedCost", "EffectiveCost", "BilledCost"):
        assert [Decimal(row[name]) for row in rows] == [Decimal(paid), 6]
    assert [row["x_Contract"] for row in rows] == [f"t-alder@2026-01-01T00:00:00Z -{percent}%", ""]


def test_later_books_do_not_move_the_list_of_a_closed_month(house, tmp_path):
    """The entry that priced June is in its own revision, though later ones have it no more."""
    closed(house, "10").publish(LATER, time("2026-07-05T00:00:00Z"))
    assert [Decimal(row["ListCost"]) for row in focus(house, tmp_path)] == [6, 6]


def test_one_document_says_the_same_as_the_export(house, tmp_path):
    """`invoice document --format focus` and `export --kind focus`."""
    (row, _) = focus(closed(house, "10"), tmp_path)
    number, at = row["InvoiceId"], time("2026-07-02T00:00:00Z")
    made = document_of(
        house.ledger, Scope.house(), number, format_="focus", actor="test", at=at
    ).body.decode()
    assert list(csv.DictReader(made.splitlines())) == [row]
