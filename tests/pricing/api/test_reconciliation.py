"""/v1/reconciliation: counters against legs, by hour and model as asked for."""

from datetime import timedelta

import pyarrow as pa
import pytest

from metering.store.append import append_samples
from metering.store.batches import SampleBatch
from metering.wire import SAMPLE_SCHEMA, to_batch
from tests.pricing.api.conftest import BOOK, NOW, leg

WINDOW = {"start_at": (NOW - timedelta(hours=3)).isoformat(), "end_at": NOW.isoformat()}


@pytest.fixture
def counted(house):
    """A request of 500,000 input tokens whose engine has counted 500,100."""
    rows = [
        {
            "sampled_at": NOW - timedelta(hours=2, minutes=minutes),
            "node_id": "u01",
            "source": "vllm_metrics",
            "model_id": "m-river",
            "counter_input_tokens": tokens,
            "counter_output_tokens": 0,
        }
        for minutes, tokens in ((1, 0), (-1, 500_100))
    ]
    assert house.send("POST", "/v1/prices", json={"toml": BOOK}).status_code == 201
    house.settle(leg(1, "t-alder"))
    cursor = house.store.cursor()
    table = pa.Table.from_batches([to_batch(rows, SAMPLE_SCHEMA)])
    append_samples(cursor, [SampleBatch(table=table, sender="test")], NOW)
    cursor.close()
    return house


def test_the_gap_by_cause_in_tokens_and_money(counted):
    """100 tokens that no record reports: 0.00002 to 0.0002 at 0.20 and 2.00 per million."""
    row = counted.get("/v1/reconciliation", params=WINDOW).json()["items"][0]
    assert (row["measure"], row["counted"], row["metered"], row["gap"]) == (
        "input_tokens", 500_100, 500_000, 100,
    )  # fmt: skip
    assert (row["hour_at"], row["model_id"]) == (None, None)
    billed, lost = row["explained"]
    assert (billed["cause"], billed["amount_max"]) == ("billed", None)
    assert (lost["cause"], lost["amount_min"], lost["amount_max"]) == (
        "lost_lines_or_evaded_ids", "0.00002", "0.0002",
    )  # fmt: skip


def test_by_hour_and_model(counted):
    """One row for the hour in which the counters moved, and one for the sample before it."""
    asked = WINDOW | {"by": ["hour", "model"]}
    rows = counted.get("/v1/reconciliation", params=asked).json()["items"]
    inputs = [row for row in rows if row["measure"] == "input_tokens"]
    assert [(row["hour_at"], row["model_id"], row["gap"]) for row in inputs] == [
        ("2026-10-01T09:00:00Z", "m-river", None),  # the first sample ever tells no step
        ("2026-10-01T10:00:00Z", "m-river", 100),
    ]


def test_another_grouping_is_refused(counted):
    """422 for what samples do not keep."""
    assert counted.get("/v1/reconciliation", params=WINDOW | {"by": "tenant"}).status_code == 422
