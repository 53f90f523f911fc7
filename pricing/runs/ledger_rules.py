"""The rules of a settlement batch, read from the ledger: prices, policies, owners."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from pricing.books.toml_book import read_book
from pricing.ledger.connect import Ledger
from pricing.ledger.directory import read_directory
from pricing.ledger.policies import policy_in_force
from pricing.ledger.price_books import BookRevision, published_books
from pricing.price_book import Book, Catalogue
from pricing.runs.price_cells import PriceCells
from pricing.runs.settle import Rules

EMPTY_BOOK: Final = Book(name="", currency="", zone=ZoneInfo("UTC"), entries=())


class LedgerRules:
    """Reads the rules for each batch; parsed books are kept until a revision is published.

    default_book: the book of record where the policies name none; None: the first by name.
    """

    def __init__(self, ledger: Ledger, *, default_book: str | None = None) -> None:
        self._ledger = ledger
        self._default_book = default_book
        self._catalogue_id: str | None = None
        self._prices = PriceCells(Catalogue([EMPTY_BOOK], EMPTY_BOOK.name))
        self._contract_tenants: frozenset[str] = frozenset()

    def at(self, now: datetime) -> Rules:
        """The rules in force at the UTC time `now`."""
        with self._ledger.read() as connection:
            books = published_books(connection)
            policy = policy_in_force(connection, now)
            self._refresh(books, policy.default_book or self._default_book)
            directory = read_directory(connection, at=now, contract_tenants=self._contract_tenants)
        return Rules(prices=self._prices, policy=policy, directory=directory)

    def _refresh(self, revisions: list[BookRevision], default_book: str | None) -> None:
        names = [each.book for each in revisions] or [EMPTY_BOOK.name]
        default = default_book if default_book in names else names[0]
        catalogue_id = " ".join([default, *(f"{each.book}@{each.revision}" for each in revisions)])
        if catalogue_id == self._catalogue_id:
            return
        books = [parsed(each) for each in revisions]
        self._prices = PriceCells(Catalogue(books or [EMPTY_BOOK], default), catalogue_id)
        self._contract_tenants = contract_tenants(books)
        self._catalogue_id = catalogue_id


def parsed(revision: BookRevision) -> Book:
    """The book that a stored text says."""
    return read_book(revision.toml_text, name_of_file=f"{revision.book} r{revision.revision}")


def contract_tenants(books: Iterable[Book]) -> frozenset[str]:
    """Tenants with prices of their own in any of the books."""
    return frozenset(contract.tenant for book in books for contract in book.contracts)
