"""Valid books in a line; a test changes only what it is about."""

from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from pricing.price_book import Book, Catalogue, PriceQuery, Quote
from pricing.price_entry import SAME, Entry, Prices

START = datetime(2026, 1, 1, tzinfo=UTC)


def prices(**texts: str) -> Prices:
    """input="8", cached_input="same" → prices per million tokens."""
    return {name: SAME if text == SAME else Decimal(text) for name, text in texts.items()}


def entry(model: str = "m-river", **change: object) -> Entry:
    """An entry with the prices of case C01: 2.00 / 0.20 / 8.00."""
    base = {
        "model": model,
        "effective_from": START,
        "prices": prices(input="2.00", cached_input="0.20", output="8.00"),
    }
    return Entry(**(base | change))


def book(*entries: Entry, **change: object) -> Book:
    """A CNY book in Shanghai's time."""
    base = {
        "name": "list",
        "currency": "CNY",
        "zone": ZoneInfo("Asia/Shanghai"),
        "entries": entries,
        "revision": "r1",
    }
    return Book(**(base | change))


def quote(of: Book, model_id: str = "m-river", **change: object) -> Quote:
    """What a request at START pays under one book."""
    base = {"model_id": model_id, "at": START}
    return Catalogue([of], of.name).quote(PriceQuery(**(base | change)))


def utc(text: str) -> datetime:
    """An ISO 8601 time as aware UTC."""
    return datetime.fromisoformat(text).astimezone(UTC)
