"""A store and its writer for one test."""

from collections.abc import Iterator

import pytest

from metering.collector.writer import IngestWriter
from metering.store.connect import Store, open_store
from tests.metering.store.leg_rows import NOW


@pytest.fixture
def store() -> Iterator[Store]:
    """A new store in memory."""
    opened = open_store(None)
    yield opened
    opened.close()


@pytest.fixture
def writer(store: Store) -> Iterator[IngestWriter]:
    """A writer whose clock stands at NOW."""
    running = IngestWriter(store, lambda: NOW)
    yield running
    running.close()
