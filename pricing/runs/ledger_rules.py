"""The rules of a settlement batch, read from the ledger: prices, policies, owners."""

from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from pricing.books.toml_book import read_book
from pricing.ledger.connect import Ledger
from pricing.ledger.directory import read_directory
from pricing.ledger.policies import policy_at
from pricing.ledger.price_books import BookRevision, published_books
from pricing.policy import Policy
from pricing.price_book import Book, Catalogue
from pricing.runs.price_cells import PriceCells
from pricing.runs.settle import Rules

EMPTY_BOOK: Final = Book(name="", currency="", zone=ZoneInfo("UTC"), entries=())


class LedgerRules:
    """Reads the rules for each batch; parsed books are kept until a revision is published.

    default_book: the book of record; None: the first published book by name.
    """

    def __init__(self, ledger: Ledger, *, default_book: str | None = None) -> None:
        self._ledger = ledger
        self._default_book = default_book
        self._revisions: tuple[tuple[str, int], ...] | None = None
        self._prices = PriceCells(Catalogue([EMPTY_BOOK], EMPTY_BOOK.name))
        self._contract_tenants: frozenset[str] = frozenset()

    def at(self, now: datetime) -> Rules:
        """The rules in force at the UTC time `now`."""
        with self._ledger.read() as connection:
            books = published_books(connection)
            policy = policy_at(connection, now)
            self._refresh(books)
            directory = read_directory(connection, at=now, contract_tenants=self._contract_tenants)
        chosen = Policy.from_toml(policy.toml_text) if policy else Policy()
        return Rules(prices=self._prices, policy=chosen, directory=directory)

    def _refresh(self, books: list[BookRevision]) -> None:
        revisions = tuple((book.book, book.revision) for book in books)
        if revisions == self._revisions:
            return
        parsed = [read_book(b.toml_text, name_of_file=f"{b.book} r{b.revision}") for b in books]
        books_in_force = parsed or [EMPTY_BOOK]
        default = self._default(books_in_force)
        self._prices = PriceCells(
            Catalogue(books_in_force, default),
            catalogue_id=" ".join([default, *(f"{book}@{number}" for book, number in revisions)]),
        )
        self._contract_tenants = frozenset(c.tenant for book in parsed for c in book.contracts)
        self._revisions = revisions

    def _default(self, books: list[Book]) -> str:
        names = [book.name for book in books]
        return self._default_book if self._default_book in names else names[0]
