"""Case C39 on CSV: names cannot run as formulas, credits stay numbers, names come back."""

import csv
import io
import json
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.exports.tables import MONEY, csv_lines, safe_text, write_parquet


@pytest.fixture(scope="module")
def rows(shared):
    """The case's rows: names that begin with = + - @ and a tab, one credit."""
    loaded = json.loads((shared / "cases" / "cases.json").read_text("utf-8"))
    listed = loaded if isinstance(loaded, list) else loaded["cases"]
    (case,) = [case for case in listed if case["id"] == "C39"]
    return case["input"]["rows"]


def table_of(rows):
    """Tenant and amount as an Arrow table."""
    columns = {
        "tenant": pa.array([row["tenant"] for row in rows]),
        "amount": pa.array([Decimal(row["amount"]) for row in rows], MONEY),
    }
    return pa.table(columns)


def test_case_c39_in_csv(rows):
    """Five rows, sum 13.30, no text cell that a spreadsheet would run."""
    text = b"".join(csv_lines(table_of(rows))).decode("utf-8")
    read = list(csv.DictReader(io.StringIO(text, newline="")))
    assert sum(Decimal(row["amount"]) for row in read) == Decimal("13.30")
    assert all(not row["tenant"].startswith(("=", "+", "-", "@", "\t", "\r")) for row in read)
    assert [row["tenant"].removeprefix("'") for row in read] == [row["tenant"] for row in rows]


def test_parquet_keeps_names_and_decimals_as_they_are(rows, tmp_path):
    """A typed format needs no cure."""
    write_parquet(tmp_path / "t.parquet", table_of(rows))
    read = pq.read_table(tmp_path / "t.parquet")
    assert read.column("tenant").to_pylist() == [row["tenant"] for row in rows]
    assert sum(read.column("amount").to_pylist()) == Decimal("13.30")


@given(st.text(max_size=20))
def test_every_name_comes_back(name):
    """Dropping one leading apostrophe of a cured cell gives the name; others are untouched."""
    cell = safe_text(name)
    assert cell.removeprefix("'") == name if cell != name else not name.startswith("'")


def test_a_byte_order_mark_on_request():
    """Some spreadsheets need it to read UTF-8."""
    assert b"".join(csv_lines(table_of([]), bom=True)).startswith(b"\xef\xbb\xbftenant")
