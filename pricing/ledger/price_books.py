"""Revisions of price books: texts that never change, and which of them price usage."""

import hashlib
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, func, select

from pricing.errors import Conflict
from pricing.ledger.connect import Change
from pricing.ledger.rows import Page, all_of, fetch_all, fetch_one, fetch_page
from pricing.ledger.tables import BookState, book_revision
from pricing.scope import Scope

ORDER = tuple(BookState)  # a state moves forward only
REVISION_MAX = 2**31 - 1  # the most that the column holds


@dataclass(frozen=True, slots=True, kw_only=True)
class BookRevision:
    """One text of a price book. Prices in it are dated; a correction is another revision."""

    book: str
    revision: int
    toml_text: str
    sha256: str
    currency: str
    state: str
    created_at: datetime
    created_by: str
    published_at: datetime | None = None
    published_by: str | None = None


def add_revision(
    change: Change,
    book: str,
    *,
    toml_text: str,
    currency: str,
    state: BookState,
    reviewed_first: bool = False,
) -> BookRevision:
    """Keep a validated text as the book's next revision; the same text again returns the first.

    reviewed_first: a text is published only once another key than its author's has reviewed it.
    Raises Conflict where the book has another currency: amounts of one book must add up.
    """
    digest = hashlib.sha256(toml_text.encode()).hexdigest()
    known = _revisions(change.connection, book)
    if known and known[-1].currency != currency:
        raise Conflict(
            f"Book {book!r} is in {known[-1].currency}, this text is in {currency}.",
            remedy="Publish another currency as another book.",
        )
    for old in known:
        if old.sha256 == digest:
            return advance(change, old, state=state, reviewed_first=reviewed_first)
    if state is BookState.REVIEWED or (state is BookState.PUBLISHED and reviewed_first):
        raise Conflict(
            f"Nobody has reviewed this text of book {book!r}: there is no draft of it.",
            remedy="Keep it as a draft; then let another key review it.",
        )
    published = state is BookState.PUBLISHED
    new = BookRevision(
        book=book,
        revision=len(known) + 1,
        toml_text=toml_text,
        sha256=digest,
        currency=currency,
        state=state,
        created_at=change.at,
        created_by=change.actor,
        published_at=change.at if published else None,
        published_by=change.actor if published else None,
    )
    change.insert(book_revision, asdict(new))
    return new


def advance(
    change: Change, old: BookRevision, *, state: BookState, reviewed_first: bool = False
) -> BookRevision:
    """Move a revision forward. Raises Conflict for a step that it must not take."""
    if ORDER.index(state) < ORDER.index(BookState(old.state)):
        raise Conflict(
            f"Revision {old.revision} of book {old.book!r} is {old.state}.",
            remedy="Add another revision with the corrected text.",
        )
    if state is BookState.PUBLISHED:
        _not_behind(change, old)
    if state == old.state:
        return old
    if state is BookState.REVIEWED and change.actor == old.created_by:
        raise Conflict(
            f"Revision {old.revision} of book {old.book!r} was written with this key.",
            remedy="Let a second person review it, with a key of their own.",
        )
    if state is BookState.PUBLISHED and reviewed_first and old.state != BookState.REVIEWED:
        raise Conflict(
            f"Revision {old.revision} of book {old.book!r} is a {old.state}, and the policy "
            'book_review = "second_person" is in force.',
            remedy="Let another key than its author's review it; then publish it.",
        )
    changes: dict[str, object] = {"state": state}
    if state is BookState.PUBLISHED:
        changes |= {"published_at": change.at, "published_by": change.actor}
    key = {"book": old.book, "revision": old.revision}
    return BookRevision(**change.update(book_revision, key, changes))


def _not_behind(change: Change, old: BookRevision) -> None:
    """The latest published revision prices usage: publishing an older one would change nothing."""
    published = [
        each.revision
        for each in _revisions(change.connection, old.book)
        if each.state == BookState.PUBLISHED and each.revision > old.revision
    ]
    if published:
        raise Conflict(
            f"This is the text of revision {old.revision} of book {old.book!r}, and revision "
            f"{published[-1]} is published since.",
            remedy="To go back to it, say so in the `source` of an entry: that is another text.",
        )


def next_publication(connection: Connection, after: datetime) -> datetime | None:
    """When any book was published next after the UTC time `after`; None: not yet."""
    table = book_revision
    query = select(func.min(table.c.published_at)).where(table.c.published_at > after)
    found: datetime | None = connection.execute(query).scalar_one()
    return found


def get_revision(connection: Connection, book: str, *, revision: int) -> BookRevision:
    """One revision. Raises NotFound, also for a number that the column could not hold."""
    asked = revision if 1 <= revision <= REVISION_MAX else 0  # no book has a revision 0
    query = all_of(book_revision, Scope.house()).where(
        book_revision.c.book == book, book_revision.c.revision == asked
    )
    return fetch_one(connection, query, BookRevision, what=f"revision {revision} of {book!r}")


def list_revisions(connection: Connection, page: Page) -> list[BookRevision]:
    """Every revision, by book and number."""
    by = [book_revision.c.book, book_revision.c.revision]
    return fetch_page(
        connection, all_of(book_revision, Scope.house()), BookRevision, by=by, page=page
    )


def published_books(connection: Connection) -> list[BookRevision]:
    """The latest published revision of each book: what prices usage now."""
    table = book_revision
    latest = (
        select(table.c.book, func.max(table.c.revision).label("revision"))
        .where(table.c.state == BookState.PUBLISHED)
        .group_by(table.c.book)
        .subquery()
    )
    query = select(table).join(
        latest, (table.c.book == latest.c.book) & (table.c.revision == latest.c.revision)
    )
    return fetch_all(connection, query.order_by(table.c.book), BookRevision)


def every_published(connection: Connection) -> list[BookRevision]:
    """Every revision that ever priced usage, by book and number."""
    table = book_revision
    query = all_of(table, Scope.house()).where(table.c.state == BookState.PUBLISHED)
    return fetch_all(connection, query.order_by(table.c.book, table.c.revision), BookRevision)


def _revisions(connection: Connection, book: str) -> list[BookRevision]:
    query = all_of(book_revision, Scope.house()).where(book_revision.c.book == book)
    return fetch_all(connection, query.order_by(book_revision.c.revision), BookRevision)
