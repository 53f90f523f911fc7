"""Drafts, reviews and publications of price books, on both databases."""

from datetime import timedelta

import pytest

from pricing.errors import Conflict
from pricing.ledger.price_books import add_revision, next_publication
from pricing.ledger.tables import BookState
from tests.pricing.ledger.conftest import NOW


def keep(ledger, text, state, *, by="key_a", at=NOW, reviewed_first=True):
    """Move a text of the book to a state with a key."""
    with ledger.write(actor=by, at=at) as change:
        asked = {"currency": "CNY", "state": state, "reviewed_first": reviewed_first}
        return add_revision(change, "list", toml_text=text, **asked)


def test_a_second_key_reviews_and_only_then_the_book_is_published(ledger):
    """The author cannot review, and a draft cannot be published past the review."""
    keep(ledger, "v1", BookState.DRAFT)
    for state in (BookState.REVIEWED, BookState.PUBLISHED):
        with pytest.raises(Conflict):
            keep(ledger, "v1", state)
    assert keep(ledger, "v1", BookState.REVIEWED, by="key_b").state == "reviewed"
    published = keep(ledger, "v1", BookState.PUBLISHED)
    assert (published.state, published.published_by) == ("published", "key_a")


def test_a_new_text_needs_its_own_review(ledger):
    """That v1 was reviewed says nothing about v2."""
    keep(ledger, "v1", BookState.DRAFT)
    keep(ledger, "v1", BookState.REVIEWED, by="key_b")
    with pytest.raises(Conflict, match="no draft of it"):
        keep(ledger, "v2", BookState.PUBLISHED)


def test_a_state_never_moves_back(ledger):
    """What was published stays; its text may be sent again."""
    first = keep(ledger, "v1", BookState.PUBLISHED, reviewed_first=False)
    with pytest.raises(Conflict, match="is published"):
        keep(ledger, "v1", BookState.DRAFT)
    assert keep(ledger, "v1", BookState.PUBLISHED) == first


def test_the_next_publication_ends_what_one_has_changed(ledger):
    """None until there is one; then its time, to the microsecond."""
    keep(ledger, "v1", BookState.PUBLISHED, reviewed_first=False)
    later = NOW + timedelta(microseconds=1)
    with ledger.read() as connection:
        assert next_publication(connection, NOW) is None
    keep(ledger, "v2", BookState.PUBLISHED, at=later, reviewed_first=False)
    with ledger.read() as connection:
        assert next_publication(connection, NOW) == later
