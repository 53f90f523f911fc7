"""List prices of lines under contracts, from the published revisions that the ledger keeps."""

from decimal import Decimal
from functools import cached_property

from sqlalchemy import Connection

from pricing.invoices import InvoiceLine
from pricing.ledger.price_books import every_published
from pricing.list_prices import list_unit_price
from pricing.price_book import Book
from pricing.runs.ledger_rules import parsed


class ListPrices:
    """Asks every revision; they are read when the first line under a contract comes."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[object, ...], Decimal | None] = {}

    def __call__(self, line: InvoiceLine) -> Decimal | None:
        """Per million tokens; the line's own price without a contract, or where none is told."""
        if line.contract is None or line.unit_price is None:
            return line.unit_price
        key = (line.price_key, line.line, line.unit_price)
        if key not in self._known:
            told = {list_unit_price(book, line) for book in self._books} - {None}
            self._known[key] = told.pop() if len(told) == 1 else line.unit_price
        return self._known[key]

    @cached_property
    def _books(self) -> list[Book]:
        return [parsed(each) for each in every_published(self._connection)]
