"""Samples folded into hours: the increase of every counter, by hand."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from metering.store.append import append_samples
from metering.store.batches import SampleBatch
from metering.store.connect import open_store
from metering.wire import SAMPLE_SCHEMA
from pricing.runs.sample_hours import fold_samples

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = "SELECT input_tokens_delta, restarts, samples FROM node_sample_hourly"


def sample(minute: int, model: str | None, counted: int) -> dict:
    """One scrape of an engine at 12:minute."""
    return {
        "node_id": "v1",
        "source": "vllm_metrics",
        "stage": "unified",
        "model_id": model,
        "sampled_at": NOON + timedelta(minutes=minute),
        "counter_input_tokens": counted,
    }


@pytest.fixture
def cursor():
    """A store in memory."""
    store = open_store(None)
    yield store.cursor()
    store.close()


def folded(cursor, samples: list[dict]) -> tuple:
    """input_tokens_delta, restarts and samples of the hour from noon."""
    table = pa.Table.from_pylist(samples, schema=SAMPLE_SCHEMA)
    append_samples(cursor, [SampleBatch(table=table, sender="test")], NOON)
    fold_samples(cursor, now=NOON + timedelta(hours=2))
    return cursor.execute(HOUR).fetchone()


def test_a_counter_is_increased_by_what_it_grew(cursor):
    """10, 25, then a restart and 7: 15 + 7; the first sample says only where it stands."""
    assert folded(cursor, [sample(0, "m", 10), sample(1, "m", 25), sample(2, "m", 7)]) == (22, 1, 3)


def test_two_models_of_one_engine_are_two_series(cursor):
    """a grows by 5 and b by 2; between them nothing restarted."""
    series = [sample(0, "a", 100), sample(0, "b", 3), sample(1, "a", 105), sample(1, "b", 5)]
    assert folded(cursor, series) == (7, 0, 4)


def test_an_engine_without_a_model_name_is_one_series(cursor):
    """NULL is a name like another."""
    assert folded(cursor, [sample(0, None, 1), sample(1, None, 4)]) == (3, 0, 2)
