"""Engines' histograms of inter-token latency folded into hours, by hand."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pyarrow as pa
import pytest

from metering.sources import parse_metrics
from metering.sources.record import NodeIdentity
from metering.store.append import append_samples
from metering.store.batches import SampleBatch
from metering.store.connect import open_store
from metering.store.maintenance import fold_rollups
from metering.windows import Window
from metering.wire import SAMPLE_SCHEMA
from pricing.reports.service_levels import LevelsQuery, service_levels
from pricing.runs.sample_hours import fold_samples
from pricing.slo import Bucket, Share

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)
HOUR = Window(NOON, NOON + timedelta(hours=1))
INF = float("inf")
FIRST = {"0.01": 10, "0.025": 14, "+Inf": 15}
SECOND = {"0.01": 12, "0.025": 19, "+Inf": 21}  # since FIRST: 2 up to 10 ms, 3 up to 25 ms, 1 above


@pytest.fixture
def store():
    """A store in memory."""
    made = open_store(None)
    yield made
    made.close()


def scrape(minute, counts, **change):
    """A scrape of an engine at 12:minute."""
    base = {"node_id": "d1", "source": "vllm_metrics", "stage": "decode", "model_id": "m"}
    at = NOON + timedelta(minutes=minute)
    return base | {"sampled_at": at, "itl_by_bucket": counts} | change


def folded(store, *scrapes, hours=2):
    """Intervals of 12:00 to 13:00 by the engine's bucket."""
    cursor = store.cursor()
    table = pa.Table.from_pylist(
        [row | {"itl_by_bucket": _pairs(row["itl_by_bucket"])} for row in scrapes],
        schema=SAMPLE_SCHEMA,
    )
    (answer,) = append_samples(cursor, [SampleBatch(table=table, sender="test")], NOON)
    assert answer.accepted == len(scrapes)
    fold_samples(cursor, now=NOON + timedelta(hours=hours))
    return counted(store)


def _pairs(counts):
    return None if counts is None else list(counts.items())


def levels(store, limit=0.025):
    """What the hour says of model m and a limit: one row, or none."""
    query = LevelsQuery(measure="itl", limit_seconds=limit, model_id="m")
    return service_levels(store.cursor(), HOUR, query)


def counted(store):
    """Intervals by bucket."""
    rows = levels(store)
    return {b: w.output_tokens for row in rows for b, w in row.histogram.items()}


def test_two_scrapes_are_one_difference(store):
    """FIRST says where the counters stand; SECOND adds 2, 5 − 2 = 3 and 6 − 5 = 1."""
    assert folded(store, scrape(0, FIRST), scrape(1, SECOND)) == {
        Bucket(0.0, 0.01): 2,
        Bucket(0.01, 0.025): 3,
        Bucket(0.025, INF): 1,
    }
    (row,) = levels(store)
    assert [weight.requests for weight in row.histogram.values()] == [0, 0, 0]


def test_a_limit_on_an_edge_is_exact_and_one_within_a_bucket_is_not(store):
    """25 ms: 5 of 6. 20 ms cuts (10, 25]: 2 of 6 surely, 5 of 6 perhaps. P99 has no bound."""
    folded(store, scrape(0, FIRST), scrape(1, SECOND))
    (edge,), (cut,) = levels(store, 0.025), levels(store, 0.02)
    assert edge.met.by_token == Share(Fraction(5, 6), Fraction(5, 6))
    assert cut.met.by_token == Share(Fraction(2, 6), Fraction(5, 6))
    assert (edge.percentile(0.5), edge.percentile(0.99)) == (0.025, None)


@pytest.mark.parametrize(
    ("last", "change"),
    [
        ({"0.01": 1, "0.025": 1, "+Inf": 2}, {}),  # all fell
        ({"0.01": 13, "0.025": 13, "+Inf": 14}, {}),  # (10, 25] fell from 7 to 0
        ({"0.05": 30, "+Inf": 40}, {}),  # other edges: the old buckets are gone
        ({"0.01": 90, "0.025": 91, "+Inf": 92}, {"counter_epoch": "b"}),  # _created changed
        ({"0.01": 90, "0.025": 91, "+Inf": 92}, {"counter_output_tokens": 95}),  # a counter fell
    ],
)
def test_after_a_restart_the_counts_began_at_0(store, last, change):
    """6 before it, and all that the new process counts: its +Inf."""
    known = {"counter_epoch": "a", "counter_output_tokens": 100}
    found = folded(
        store,
        scrape(0, FIRST, **known),
        scrape(1, SECOND, **known),
        scrape(2, last, **known | change),
    )
    assert sum(found.values()) == 6 + last["+Inf"]


def test_a_missing_histogram_is_missing_and_not_0(store):
    """A scrape without it (an older sidecar's) is passed over: 6 are counted once, no restart."""
    assert sum(folded(store, scrape(0, FIRST), scrape(1, None), scrape(2, SECOND)).values()) == 6


def test_one_scrape_alone_says_nothing(store):
    """Where its counters stand is no difference."""
    assert folded(store, scrape(0, FIRST)) == {}


def test_the_first_interval_of_a_new_engine_counts(store):
    """Before it SGLang has no series, which is 0 and no bucket: then 10, 4 and 1."""
    found = folded(store, scrape(0, {"+Inf": 0}), scrape(1, FIRST))
    assert list(found.values()) == [10, 4, 1]


def test_an_hour_begins_where_the_last_one_ended(store):
    """11:59 to 12:01: the 6 are noon's, where the second scrape is; models are told apart."""
    others = [scrape(m, c, model_id="n") for m, c in ((-1, SECOND), (1, SECOND | {"+Inf": 50}))]
    found = folded(store, scrape(-1, FIRST), *others, scrape(1, SECOND))
    assert sum(found.values()) == 6


def test_hours_are_folded_once_and_stay_under_maintenance(store):
    """A second fold adds nothing; the roll-up's own folding keeps edges apart."""
    before = folded(store, scrape(0, FIRST), scrape(1, SECOND))
    fold_samples(store.cursor(), now=NOON + timedelta(hours=3))
    fold_rollups(store, HOUR)
    assert counted(store) == before


def test_two_engines_of_other_edges_add_up(store):
    """vLLM's (10, 25] and SGLang's (20, 25]: within 22 ms surely 2 + 4, and perhaps 3 + 5 more."""
    finer = [{"0.02": 0, "0.025": 0, "+Inf": 0}, {"0.02": 4, "0.025": 9, "+Inf": 9}]
    other = [scrape(m, c, node_id="d2", source="sglang_metrics") for m, c in enumerate(finer)]
    folded(store, scrape(0, FIRST), scrape(1, SECOND), *other)
    (row,) = levels(store, 0.022)
    assert row.met.by_token == Share(Fraction(6, 15), Fraction(14, 15))


def test_a_real_engines_counts_are_conserved(store, shared):
    """vLLM's captures before, after and at the end: 5,509 intervals, 2,020 of them up to 10 ms."""
    node = NodeIdentity(node_id="d1", stage="unified", model_id="m")
    rows = []
    for minute, name in enumerate(("before", "after", "final")):
        text = (shared / f"data/real_engine/plain/metrics_{name}.prom").read_text()
        rows += parse_metrics("vllm_metrics", text, node, NOON + timedelta(minutes=minute))
    found = folded(store, *[row | {"model_id": "m"} for row in rows])
    assert (sum(found.values()), found[Bucket(0.0, 0.01)]) == (5_509, 2_020)
