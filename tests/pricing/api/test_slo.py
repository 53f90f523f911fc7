"""/v1/slo and /v1/capacity: service levels from legs to shares, and a sheet as JSON."""

import json
import tomllib
from datetime import timedelta

import pyarrow as pa
import pytest

from metering.sidecar.batch import sample_batch, sample_record
from metering.sources import parse_metrics
from metering.sources.record import NodeIdentity
from metering.wire import SAMPLE_SCHEMA, to_ipc
from pricing.runs.sample_hours import fold_samples
from tests.pricing.api.conftest import BOOK, NOW, leg, open_house
from tests.pricing.api.test_economics import DAY, half

LIMIT = {"measure": "ttft", "limit_seconds": 2}
NDJSON = {"Content-Type": "application/x-ndjson"}
ARROW = {"Content-Type": "application/vnd.apache.arrow.stream"}


@pytest.fixture(scope="module")
def served(ledger_template, tmp_path_factory):
    """Eight answers of 100 tokens within 1 s, one of 1,100 tokens after 30 s, one error.

    Input is free of hits: 500,000 tokens at 2.00 are 1 CNY each; 100 tokens of output 0.0008.
    """
    with open_house(ledger_template, tmp_path_factory.mktemp("slo")) as made:
        made.send("POST", "/v1/prices", json={"toml": BOOK})
        fast = [leg(i, "t-alder", ttft_seconds=1.0, output_tokens=100) for i in range(8)]
        slow = leg(8, "t-alder", ttft_seconds=30.0, output_tokens=1_100)
        made.settle(*fast, slow, leg(9, "t-alder", status="error"))
        yield made


def levels(house, **params):
    answer = house.get("/v1/slo", params=DAY | LIMIT | params)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


def test_a_limit_is_met_by_request_by_token_and_by_revenue(served):
    """8 of 10 requests (the error missed), 800 of 1,900 tokens."""
    (row,) = levels(served)
    assert (row["requests"], row["failed_requests"]) == (9, 1)
    assert row["by_request_low"] == row["by_request_high"] == 0.8
    assert row["by_token_low"] == pytest.approx(800 / 1_900)
    assert row["is_met"] is False


def test_revenue_at_risk_is_what_may_have_missed(served):
    """9 CNY of input and 0.0152 of output, spread by output tokens: 1,100 of 1,900 are at risk."""
    (row,) = levels(served)
    assert (row["currency"], row["revenue"]) == ("CNY", "9.0152")
    assert float(row["revenue_at_risk"]) == pytest.approx(9.0152 * 1_100 / 1_900)


def test_two_limits_at_once_have_bounds(served):
    """8 of 10 met TTFT. Nobody timed e2e: both are met by 0 to 8. TTFT of 40 s: by the same 8."""
    (row,) = levels(served, also="e2e", also_limit_seconds=1)
    assert (row["both_by_request_low"], row["both_by_request_high"]) == (0.0, 0.8)
    (row,) = levels(served, also="ttft", also_limit_seconds=40)
    assert (row["both_by_request_low"], row["both_by_request_high"]) == (0.8, 0.8)
    (row,) = levels(served)
    assert row["both_by_request_low"] is None


def test_a_second_limit_needs_its_measure(served):
    """A limit of what? 422."""
    answer = served.get("/v1/slo", params=DAY | LIMIT | {"also": "tpot"})
    assert (answer.status_code, "belong together" in answer.text) == (422, True)


def test_percentiles_are_read_from_the_added_counts(served):
    """The ninth of nine took 30 s: P99 is its bucket's bound, at most 9 % above."""
    (row,) = levels(served)
    assert 1.0 <= row["p50_seconds"] <= 1.0 * 2 ** (1 / 8)
    assert 30.0 <= row["p99_seconds"] <= 30.0 * 2 ** (1 / 8)


@pytest.mark.parametrize("group_by", ["model", "pool", "node", "hour", "day"])
def test_groups_hold_the_same_requests(served, group_by):
    """Nine measured and one failed, however they are told apart."""
    rows = levels(served, group_by=group_by)
    assert sum(row["requests"] + row["failed_requests"] for row in rows) == 10


def test_a_pair_counts_once(house):
    """Both halves time the first token; the decode half delivered it."""
    house.send("POST", "/v1/prices", json={"toml": BOOK})
    house.settle(
        half(1, "prefill", "p01", ttft_seconds=1.0), half(1, "decode", "d01", ttft_seconds=1.5)
    )
    (row,) = levels(house)
    assert (row["requests"], row["by_request_low"]) == (1, 1.0)
    (row,) = levels(house, stage="prefill", limit_seconds=0.5)
    assert (row["requests"], row["by_request_high"], row["revenue"]) == (1, 0.0, None)


def scrapes(house, *counted, **change):
    """What a sidecar sends of a decode server from 09:10, a minute apart; the hour is folded."""
    at = NOW.replace(hour=9, minute=10)
    rows = [
        {"node_id": "d01", "source": "vllm_metrics", "stage": "decode", "model_id": "m-river"}
        | {"sampled_at": (at + timedelta(minutes=minute)).isoformat(), "itl_by_bucket": counts}
        | change
        for minute, counts in enumerate(counted)
    ]
    body = "\n".join(json.dumps(row) for row in rows)
    answer = house.send("POST", "/v1/usage/samples", content=body, headers=NDJSON)
    fold_samples(house.store.cursor(), now=NOW)
    return answer.json()


def test_inter_token_latency_from_the_engines_histogram(house):
    """90 − 10 of 110 − 10 intervals took up to 25 ms; of requests and money nothing is known."""
    assert scrapes(house, {"0.025": 10, "+Inf": 10}, {"0.025": 90, "+Inf": 110})["accepted"] == 2
    (row,) = levels(house, measure="itl", limit_seconds=0.025, target="0.8")
    assert (row["by_token_low"], row["by_token_high"], row["is_met"]) == (0.8, 0.8, True)
    assert (row["output_tokens"], row["p50_seconds"], row["p99_seconds"]) == (100, 0.025, None)
    unknown = ("requests", "failed_requests", "by_request_low", "by_revenue_high", "goodput_low",
               "revenue", "revenue_at_risk")  # fmt: skip
    assert {row[name] for name in unknown} == {None}
    assert "by token" in row["by_request_reason"]


def test_a_real_engine_from_its_page_to_the_route(house, shared):
    """vLLM's captures as a sidecar sends them: 5,233 of 5,509 intervals took up to 25 ms."""
    node = NodeIdentity(node_id="u01", stage="unified", model_id="tiny")
    rows = []
    for minute, name in enumerate(("before", "after", "final")):
        text = (shared / f"data/real_engine/plain/metrics_{name}.prom").read_text()
        at = NOW.replace(hour=9, minute=minute)
        rows += parse_metrics("vllm_metrics", text, node, at)
    body = to_ipc(sample_batch(map(sample_record, rows)))
    house.send("POST", "/v1/usage/samples", content=body, headers=ARROW).raise_for_status()
    fold_samples(house.store.cursor(), now=NOW)
    (row,) = levels(house, measure="itl", limit_seconds=0.025, group_by="node")
    assert (row["group"], row["output_tokens"]) == ("u01", 5_509)
    assert row["by_token_low"] == row["by_token_high"] == pytest.approx(5_233 / 5_509)


def test_a_limit_that_cuts_an_engines_bucket_stays_open(house):
    """20 ms lies within (0, 25]: between 0 and 80 of 100, so 50 % are neither kept nor missed."""
    scrapes(house, {"0.025": 0, "+Inf": 0}, {"0.025": 80, "+Inf": 100})
    (row,) = levels(house, measure="itl", limit_seconds=0.02, target="0.5")
    assert (row["by_token_low"], row["by_token_high"], row["is_met"]) == (0.0, 0.8, None)
    assert levels(house, measure="ttft") == []


def test_samples_of_an_older_sidecar_say_nothing_of_it(house):
    """They lack the field, in JSON and in Arrow; both are stored."""
    old = SAMPLE_SCHEMA.remove(SAMPLE_SCHEMA.get_field_index("itl_by_bucket"))
    row = {"node_id": "d01", "source": "vllm_metrics", "sampled_at": NOW, "model_id": "m-river"}
    body = to_ipc(pa.RecordBatch.from_pylist([row], schema=old))
    answer = house.send("POST", "/v1/usage/samples", content=body, headers=ARROW)
    assert answer.json()["accepted"] == scrapes(house, None)["accepted"] == 1
    assert levels(house, measure="itl") == []


@pytest.mark.parametrize(
    ("counts", "change", "field"),
    [
        ({"0.01": 3}, {}, "itl_by_bucket"),  # how many are above?
        ({"0.01": 3, "+Inf": 2}, {}, "itl_by_bucket"),  # fewer in all than up to 10 ms
        ({"soon": 1, "+Inf": 2}, {}, "itl_by_bucket"),  # no number of seconds
        ({"nan": 1, "+Inf": 2}, {}, "itl_by_bucket"),
        ({str(edge): 1 for edge in range(128)} | {"+Inf": 1}, {}, "itl_by_bucket"),  # 129 bounds
        ({"+Inf": 2}, {"model_id": None}, "model_id"),  # whose?
    ],
)
def test_what_is_no_histogram_is_rejected(house, counts, change, field):
    """By the name of its field, with what is expected."""
    answer = scrapes(house, counts, **change)
    assert [(r["outcome"], r["field"]) for r in answer["records"]] == [("rejected", field)]


@pytest.mark.parametrize(
    "asked",
    [
        {"also": "itl", "also_limit_seconds": 1},
        {"measure": "itl", "also": "ttft", "also_limit_seconds": 1},
    ],
)
def test_which_requests_met_itl_too_is_in_no_histogram(served, asked):
    """Requests are not told apart in it: no bounds on both, 422."""
    assert served.get("/v1/slo", params=DAY | LIMIT | asked).status_code == 422


def test_the_sheet_of_the_docs_as_json(furnished, root):
    """docs/examples/capacity_sheet.toml: 260,000 tok/s at 0.8 of T_eq are 3.996, so 4 servers."""
    text = (root / "docs/examples/capacity_sheet.toml").read_text(encoding="utf-8")
    sheet = json.loads(json.dumps(tomllib.loads(text)))
    answer = furnished.send("POST", "/v1/capacity", json=sheet)
    assert answer.status_code == 200, answer.text
    pools = answer.json()["pools"]
    assert pools["prefill"]["servers"] == 4
    assert pools["prefill"]["servers_exact"] == pytest.approx(
        260_000 / 0.8 * (0.5 / 95_920.5 + 0.3 / 80_000 + 0.2 / 60_000)
    )


def test_shares_that_are_no_whole_are_refused(furnished, root):
    """0.5 + 0.3 + 0.3: 422 that says so."""
    sheet = tomllib.loads((root / "docs/examples/capacity_sheet.toml").read_text(encoding="utf-8"))
    sheet["prefill"]["classes"][2]["token_share"] = 0.3
    answer = furnished.send("POST", "/v1/capacity", json=sheet)
    assert (answer.status_code, "sum to 1" in answer.json()["detail"]) == (422, True)


def test_a_failed_pair_is_one_failure_and_a_retry_that_succeeds_is_none(house):
    """Call 1: both halves failed. Call 2: its first prefill failed, the second was answered."""
    house.send("POST", "/v1/prices", json={"toml": BOOK})
    lost = [half(1, stage, node, status="error") for stage, node in PAIR]
    first = half(2, "prefill", "p02", status="error", event_id=f"{77:032x}")
    again = [half(2, stage, node, ttft_seconds=1.0) for stage, node in PAIR]
    house.settle(*lost, first, *again)
    (row,) = levels(house)
    assert (row["requests"], row["failed_requests"]) == (1, 1)


PAIR = (("prefill", "p01"), ("decode", "d01"))
