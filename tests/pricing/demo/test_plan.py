"""The demo's price book: one price, or two with a day between them."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

from pricing.books.toml_book import read_book
from pricing.demo.plan import MODEL, Prices
from pricing.price_book import Catalogue, PriceQuery

CHANGED = datetime(2026, 10, 1, tzinfo=UTC)


def input_price(text: str, at: datetime) -> Decimal:
    """What a million uncached tokens cost by the demo's book at `at`."""
    book = read_book(text, name_of_file="demo.toml")
    return Catalogue([book], book.name).quote(PriceQuery(model_id=MODEL, at=at)).price.input_price


def test_prices_given_hold_from_the_change_on():
    """8 now, a quarter more before: 10."""
    text = Prices().book(CHANGED)
    assert input_price(text, CHANGED) == 8
    assert input_price(text, CHANGED - timedelta(microseconds=1)) == 10


def test_without_a_change_prices_always_held():
    """A single entry since 2020."""
    assert input_price(Prices(input="0.123456789").book(), CHANGED) == Decimal("0.123456789")
