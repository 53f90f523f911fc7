"""Reconciliation on a settled store: every token of every server has a fate."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import zip_longest

import pyarrow as pa

from metering.store.append import append_samples
from metering.store.batches import SampleBatch
from metering.windows import Window
from metering.wire import SAMPLE_SCHEMA, to_batch
from pricing.policy import Policy
from pricing.reports.reconciliation import reconciliation_report
from tests.pricing.settle.legs import NOW, at, decode, fed, leg, prefill, rules

DAY = Window(datetime(2026, 6, 1, tzinfo=UTC), datetime(2026, 6, 2, tzinfo=UTC))


def sampled(till, node, *values, finished=(), every=60, **also):
    """Scrapes of a node's input and output counters, and finished inputs, seconds apart."""
    rows = [
        {
            "sampled_at": at(every * number),
            "node_id": node,
            "source": "sglang_metrics",
            "counter_input_tokens": inputs,
            "counter_output_tokens": outputs,
            "counter_finished_input_tokens": done,
            "counter_finished_output_tokens": None if done is None else outputs,
            **also,
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


def split(till, measure="input_tokens", **by):
    """(server, hour, model, counted, gap) of each row of a measure."""
    found = reconciliation_report(till.cursor, DAY, tolerance_tokens=0, **by)
    return [
        (
            one.node_id,
            one.hour_at and one.hour_at.hour,
            one.model_id,
            one.reconciled.counted,
            one.reconciled.gap,
        )
        for one in found
        if one.reconciled.measure == measure
    ]


def test_each_hour_with_a_restart_between():
    """Scrapes at 0:00, 0:50, 1:40: 1,000 in hour 0, a restart, 1,100 in hour 1: 100 too many."""
    till = fed(leg("u1"), leg("u2", finished_at=at(4000)))
    sampled(till, "u1", (0, 0), (1000, 50), (1100, 50), every=3000, counter_epoch="a")
    till.cursor.execute(
        "UPDATE node_sample SET counter_epoch = 'b' WHERE counter_input_tokens = 1100"
    )
    assert split(till, by_hour=True) == [("u1", 0, None, 1000, 0), ("u1", 1, None, 1100, 100)]


def test_a_leg_belongs_to_the_sample_that_counts_it():
    """It ends at 0:55, after the last scrape of hour 0: hour 1 counts it and answers for it."""
    till = fed(leg("u", finished_at=at(3300)))
    sampled(till, "u1", (0, 0), (0, 0), (1000, 50), every=3000)
    assert split(till, by_hour=True) == [("u1", 0, None, 0, 0), ("u1", 1, None, 1000, 0)]


def test_two_models_of_one_engine():
    """Two label sets in each scrape: a server's counters are their sum, and each one's its own."""
    till = fed(leg("a", model_id="m-a"), leg("b", model_id="m-b:lora", input_tokens=200))
    sampled(till, "u1", (5000, 9), (6000, 59), model_id="m-a")
    sampled(till, "u1", (70, 9), (300, 59), model_id="m-b")
    assert split(till) == [("u1", None, None, 1230, 30)]
    assert split(till, by_model=True) == [
        ("u1", None, "m-a", 1000, 0),
        ("u1", None, "m-b", 230, 30),
    ]


def test_a_model_that_no_counter_names_is_unknown():
    """Where counters tell models apart, another one's legs are not set against any of them."""
    till = fed(leg("a", model_id="m-a"), leg("x", model_id="m-x"))
    for model in ("m-a", "m-b"):
        sampled(till, "u1", (0, 0), (1000 if model == "m-a" else 0, 50), model_id=model)
    assert split(till, by_model=True) == [
        ("u1", None, "m-a", 1000, 0),
        ("u1", None, "m-b", 0, 0),
        ("u1", None, "m-x", None, None),
    ]


def test_a_server_whose_every_line_was_lost():
    """Counters without a single leg: all of it is the gap."""
    till = fed(leg("other", node_id="u9"))
    sampled(till, "u1", (0, 0), (1000, 50), stage="unified")
    assert report(till)["u1", "input_tokens"] == (1000, {"lost_lines_or_evaded_ids": 1000})


def test_a_counter_that_one_scrape_does_not_show_goes_on():
    """600, not shown, 1,000: 1,000 in all, not 1,600."""
    till = fed(leg("u"))
    sampled(till, "u1", (0, 0), (600, 30), (None, 40), (1000, 50))
    assert report(till)["u1", "input_tokens"] == (0, {"billed": 1000})


def test_each_cause_has_a_price_but_the_billed_one():
    """1,000 retried tokens are worth 0.0002 to 0.002, 100 lost ones a tenth of it."""
    till = fed(prefill("p0", finished_at=at(0.5)), prefill("p1"), decode("d"))
    sampled(till, "p1", (0, 0), (2100, 2))
    (one,) = [
        each
        for each in reconciliation_report(till.cursor, DAY, tolerance_tokens=99)
        if each.node_id == "p1"
    ]
    assert one.causes == {
        "retry": (Decimal("0.0002"), Decimal("0.002")),
        "lost_lines_or_evaded_ids": (Decimal("0.00002"), Decimal("0.0002")),
    }
    assert one.reconciled.within_tolerance is False


def test_the_policy_says_what_is_tolerated():
    """A gap of 100 is within a tolerance of 100 and beyond one of 99."""
    till = fed(leg("u"))
    sampled(till, "u1", (0, 0), (1100, 50))
    for tolerance, is_within in ((100, True), (99, False)):
        found = reconciliation_report(till.cursor, DAY, tolerance_tokens=tolerance)
        assert [one.reconciled.within_tolerance for one in found] == [is_within, True]


def test_answers_that_a_gateway_bills_are_the_check():
    """Policy billing_source = gateway: the engines' answers are named, not lost."""
    used = replace(rules(), policy=Policy(billing_source="gateway"))
    till = fed(leg("u"), used=used)
    sampled(till, "u1", (0, 0), (1000, 50))
    assert report(till)["u1", "input_tokens"] == (0, {"gateway_bills": 1000})
