"""A price key is its content."""

from dataclasses import replace
from decimal import Decimal
from hashlib import sha256

import pytest

from pricing.price_key import PriceKey

KEY = PriceKey(
    currency="CNY",
    book="list",
    book_revision="r1",
    entry="m-river@2026-01-01T00:00:00Z",
    input_price=Decimal("2.00"),
    cached_price=Decimal("0.20"),
    output_price=Decimal("8.00"),
)


def test_the_id_is_the_digest_of_a_written_form():
    """Stored rows depend on the form: JSON without the revision, SHA-256, first 64 bits."""
    form = (
        '["CNY", "list", "m-river@2026-01-01T00:00:00Z", null, null, null, null, null, '
        '"2", "0.2", null, null, null, "8", null]'
    )
    assert KEY.id == int.from_bytes(sha256(form.encode()).digest()[:8], "big", signed=True)
    assert -(2**63) <= KEY.id < 2**63


def test_the_same_content_has_the_same_id():
    """2.00 and 2 are one price; a new revision of the book with the same prices is no new price."""
    assert replace(KEY, input_price=Decimal(2)).id == KEY.id
    assert replace(KEY, book_revision="r2").id == KEY.id


@pytest.mark.parametrize(
    "change",
    [
        {"input_price": Decimal("2.000000001")},
        {"input_price": None},
        {"currency": "USD"},
        {"entry": "m-river@2026-02-01T00:00:00Z"},
        {"band": "00:30-08:30"},
        {"contract": "t1@2026-01-01T00:00:00Z -10%"},
        {"reasoning_price": Decimal(0)},
    ],
)
def test_any_other_content_has_another_id(change):
    """Every field that decides is part of the id; no price is not a price of 0."""
    assert replace(KEY, **change).id != KEY.id


@pytest.mark.parametrize("price", ["0.0000000001", "1000000000", "-1"])
def test_a_price_fits_the_store(price):
    """DECIMAL(18, 9): nine digits on either side of the point."""
    with pytest.raises(ValueError, match="fraction digits"):
        replace(KEY, output_price=Decimal(price))
