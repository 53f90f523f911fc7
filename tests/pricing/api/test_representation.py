"""pricing/api/representation.py: CSV that a spreadsheet cannot run, Arrow that stays exact."""

from decimal import Decimal

import pyarrow as pa
import pytest
from pydantic import BaseModel

from pricing.api.encoding import arrow_of, cell, csv_of
from pricing.api.shapes import Amount, Time


class Row(BaseModel):
    """A row with one of everything."""

    name: str | None
    tokens: int
    ratio: float | None
    amount: Amount | None
    at: Time | None
    flags: list[str]


NAMES = list(Row.model_fields)
ROW = Row(name="a", tokens=2**53 + 1, ratio=0.5, amount=Decimal("-0.20"), at=None, flags=["x", "y"])


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_text_that_would_run_as_a_formula_is_quoted(text):
    """Case C39: the cure does not touch numbers: a credit of −0.20 stays −0.2."""
    assert cell(text) == f"'{text}"
    assert cell(Decimal("-0.20")) == "-0.2"


def test_csv_has_a_header_and_empty_cells_for_unknown():
    """NULL is empty, never 0 and never 'None'; a list is words."""
    assert b"".join(csv_of(Row, NAMES, [[ROW]])).decode() == (
        f"name,tokens,ratio,amount,at,flags\r\na,{2**53 + 1},0.5,-0.2,,x y\r\n"
    )


def test_an_empty_list_has_the_same_columns():
    """A reader's schema does not depend on whether there was usage."""
    assert b"".join(csv_of(Row, NAMES, [[]])).decode() == "name,tokens,ratio,amount,at,flags\r\n"
    empty = pa.ipc.open_stream(b"".join(arrow_of(Row, NAMES, [[]]))).read_all()
    full = pa.ipc.open_stream(b"".join(arrow_of(Row, NAMES, [[ROW]]))).read_all()
    assert empty.schema == full.schema


def test_arrow_keeps_every_digit():
    """2^53 + 1 tokens and 15 fraction digits, which a float would not hold."""
    row = ROW.model_copy(update={"amount": Decimal("12345678901234567890.123456789012345")})
    table = pa.ipc.open_stream(b"".join(arrow_of(Row, NAMES, [[row]]))).read_all()
    assert table["tokens"].to_pylist() == [2**53 + 1]
    assert table["amount"].to_pylist() == [row.amount]
    assert table.schema.field("flags").type == pa.list_(pa.string())
