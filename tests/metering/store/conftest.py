"""A store for one test."""

from collections.abc import Iterator

import pytest

from metering.store.connect import Store, open_store


@pytest.fixture
def store() -> Iterator[Store]:
    """A new store in memory."""
    opened = open_store(None)
    yield opened
    opened.close()
