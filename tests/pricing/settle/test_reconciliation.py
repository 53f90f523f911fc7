"""Reconciliation on a settled store: every token of every server has a fate."""

from datetime import UTC, datetime
from decimal import Decimal
from itertools import zip_longest

import pyarrow as pa

from metering.store.append import append_samples
from metering.store.batches import SampleBatch
from metering.windows import Window
from metering.wire import SAMPLE_SCHEMA, to_batch
from pricing.reports.reconciliation import reconciliation_report
from tests.pricing.settle.legs import NOW, at, decode, fed, leg, prefill

DAY = Window(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 6, 2, tzinfo=UTC))


def sampled(till, node, *values, finished=()):
    """Scrapes of a node's input and output counters, and finished inputs, a minute apart."""
    rows = [
        {
            "sampled_at": at(60 * number),
            "node_id": node,
            "source": "sglang_metrics",
            "counter_input_tokens": inputs,
            "counter_output_tokens": outputs,
            "counter_finished_input_tokens": done,
            "counter_finished_output_tokens": None if done is None else outputs,
        }
        for number, ((inputs, outputs), done) in enumerate(zip_longest(values, finished))
    ]
    table = pa.Table.from_batches([to_batch(rows, SAMPLE_SCHEMA)])
    append_samples(till.cursor, [SampleBatch(table=table, sender="test")], NOW)


def report(till):
    """Server and measure → gap and tokens by cause."""
    found = reconciliation_report(till.cursor, DAY, tolerance_tokens=0)
    return {
        (one.node_id, one.reconciled.measure): (
            one.reconciled.gap,
            {each.cause: each.tokens for each in one.reconciled.explained},
        )
        for one in found
    }


def test_a_pair_and_a_retry():
    """p1: 1,000 billed and 1,000 retried; d1: 50 out; counters agree."""
    till = fed(prefill("p0", finished_at=at(0.5)), prefill("p1"), decode("d"))
    sampled(till, "p1", (0, 0), (2000, 2))
    sampled(till, "d1", (0, 0), (1000, 50))
    assert report(till) == {
        ("p1", "input_tokens"): (0, {"billed": 1000, "retry": 1000}),
        ("d1", "output_tokens"): (0, {"billed": 50}),
    }


def test_a_restart_of_the_engine_loses_nothing():
    """Counters 0 → 600, restart, 0 → 400: together the leg's 1,000."""
    till = fed(prefill("p1"), decode("d"))
    sampled(till, "p1", (0, 0), (600, 1), (400, 1))
    assert report(till)["p1", "input_tokens"] == (0, {"billed": 1000})


def test_the_gap_has_a_price():
    """100 unmetered input tokens: between 0.20 and 2.00 per million, as cached or not."""
    till = fed(leg("u"))
    sampled(till, "u1", (0, 0), (1100, 50))
    found = reconciliation_report(till.cursor, DAY, tolerance_tokens=0)
    (inputs,) = [one for one in found if one.reconciled.measure == "input_tokens"]
    assert (inputs.amount_min, inputs.amount_max) == (Decimal("0.00002"), Decimal("0.0002"))


def test_the_prompts_of_further_samples_are_named():
    """n = 2 on a unified engine: the second prompt is work, flagged sample_prompt (trap 9)."""
    two = {"group_id": "g", "group_size": 2}
    till = fed(leg("s1", **two), leg("s2", finished_at=at(10), **two))
    assert report(till)["u1", "input_tokens"][1] == {"billed": 1000, "sample_prompt": 1000}


def test_what_waits_is_not_yet_settled():
    """A prefill leg whose decode leg has not come."""
    till = fed(prefill("p"))
    assert report(till)["p1", "input_tokens"] == (None, {"not_yet_settled": 1000})


def test_unfinished_requests_by_counters_with_a_restart():
    """vLLM: 1,030 counted, 1,000 of them finished, over a restart: 30 are of clients that left."""
    till = fed(leg("u"))
    sampled(till, "u1", (0, 0), (610, 50), (420, 0), finished=(0, 600, 400))
    assert report(till)["u1", "input_tokens"] == (30, {"billed": 1000, "unfinished_requests": 30})


def test_samples_from_before_say_nothing_of_finished_requests():
    """A scrape without the counter between two with it: what was unfinished is unknown, not all."""
    till = fed(leg("u"))
    sampled(till, "u1", (0, 0), (1030, 50), finished=(None, 1000))
    assert report(till)["u1", "input_tokens"][1] == {"billed": 1000, "lost_lines_or_evaded_ids": 30}


def test_beams_beyond_the_answer_are_work():
    """n=3, 4 tokens, 6-token prompt: billed 6 / 12, counted 78 / 10 (facts/real_engine.md)."""
    work = {"engine_input_tokens": "78", "engine_output_tokens": "10"}
    till = fed(leg("u", input_tokens=6, cached_input_tokens=0, output_tokens=12, labels=work,
                   source="vllm_stats"))  # fmt: skip
    sampled(till, "u1", (0, 0), (78, 10))
    assert report(till)["u1", "input_tokens"] == (0, {"billed": 6, "beam_search": 72})
    assert report(till)["u1", "output_tokens"] == (0, {"billed": 12, "beam_search": -2})
