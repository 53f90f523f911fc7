"""Node samples: a scrape is stored once."""

from typing import Any

import pyarrow as pa

from metering.store.append import append_samples
from metering.store.batches import Answer, SampleBatch
from metering.store.connect import Store
from metering.wire import SAMPLE_SCHEMA, to_batch
from tests.metering.store.leg_rows import NOW, at, counts, rows


def sample(**change: Any) -> dict[str, Any]:
    """A valid sample of node p1."""
    return {"sampled_at": NOW, "node_id": "p1", "source": "sglang_metrics"} | change


def send(store: Store, *samples: dict[str, Any]) -> Answer:
    """The answer to one batch."""
    table = pa.Table.from_batches([to_batch(samples, SAMPLE_SCHEMA)])
    batch = SampleBatch(table=table, sender="key-1")
    return append_samples(store.cursor(), [batch], NOW, check_clock=NOW)[0]


def test_a_resent_scrape_is_a_duplicate(store: Store) -> None:
    """Known by time, node, source, stage and model; two models of one scrape are two samples."""
    models = [sample(model_id="m-river"), sample(model_id="m-lake"), sample()]
    assert counts(send(store, *models)) == (3, 0, 0, 0, 0)
    assert counts(send(store, *models, sample(sampled_at=at(1)))) == (1, 3, 0, 0, 0)
    assert rows(store, "SELECT count(*) FROM node_sample") == [(4,)]


def test_a_sample_without_time_node_or_source_is_rejected(store: Store) -> None:
    """And one with a negative count, an unknown stage or a wrong clock; the good one is stored."""
    bad = [
        sample(sampled_at=None),
        sample(node_id=None),
        sample(source=""),
        sample(running_requests=-1),
        sample(stage="gateway"),
        sample(sampled_at=at(49 * 3600)),
    ]
    answer = send(store, sample(), *bad)
    assert counts(answer) == (1, 0, 0, 0, 6)
    fields = ["sampled_at", "node_id", "source", "running_requests", "stage", "sampled_at"]
    assert [record.field for record in answer.records] == fields


def test_a_gauge_that_is_no_number_is_unknown(store: Store) -> None:
    """Prometheus may say NaN; NULL is unknown, 0 would be a lie."""
    send(store, sample(kv_usage_ratio=float("nan"), power_watts=12.5))
    assert rows(store, "SELECT kv_usage_ratio, power_watts FROM node_sample") == [(None, 12.5)]
