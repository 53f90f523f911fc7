"""Published billing failures, run through `tokentill rate` (cases.json: input and right answer)."""

import json
from decimal import Decimal

import pytest

from tests.e2e.rate_command import book_text, per_million, rate, usage_leg

START = "2026-01-01T00:00:00Z"


@pytest.fixture(scope="module")
def cases(shared):
    """Cases by id."""
    loaded = json.loads((shared / "cases" / "cases.json").read_text("utf-8"))
    listed = loaded if isinstance(loaded, list) else loaded["cases"]
    return {case["id"]: case for case in listed}


def entry(model, prices, effective_from=START, **extra):
    """One dated entry of the book."""
    return {
        "model": model,
        "effective_from": effective_from,
        "per_million_tokens": per_million(prices),
        **extra,
    }


def legs_of(events, **change):
    """The cases' events as unified legs of a usage file."""
    return [
        usage_leg(
            event_id=event["event_id"],
            input_tokens=event["input_tokens"],
            cached_input_tokens=event["cached_tokens"],
            output_tokens=event["output_tokens"],
            **(change | _instant(event)),
        )
        for event in events
    ]


def _instant(event):
    at = {"started_at": event["at"], "finished_at": event["at"]} if "at" in event else {}
    return at | ({"model_id": event["model"]} if "model" in event else {})


def lines_of(request):
    """Tokens and amount by line of a rated request."""
    return {x["line"]: (x["tokens"], Decimal(x["amount"])) for x in request["lines"]}


def test_c01_cached_tokens_are_a_part_of_the_input(cases, tmp_path):
    """By hand in the case: 4,500 × 2.00 + 176,500 × 0.20 + 2,400 × 8.00 = 0.0635."""
    case = cases["C01"]
    price = case["input"]["price"]
    book = book_text([entry(price["model"], price["per_million"])])
    answer = rate(tmp_path, book, legs_of(case["input"]["events"]))
    assert Decimal(answer["total"]) == Decimal(case["expected"]["amounts"]["total"])
    tokens = {line: count for line, (count, _) in lines_of(answer["requests"][0]).items()}
    assert tokens == {"input": 4500, "cached_input": 176500, "output": 2400}


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_c02_a_split_cluster_bills_each_field_once(cases, tmp_path, order):
    """62 + 2,048 + 412 tokens; p1 earns 0.0005336, d1 0.003296, whatever came first."""
    case = cases["C02"]
    price = case["input"]["price"]
    legs = [
        usage_leg(
            request_id=r["request_id"],
            stage=r["role"],
            node_id=r["node"],
            input_tokens=r["input_tokens"],
            cached_input_tokens=r["cached_tokens"],
            output_tokens=r["output_tokens"],
            finished_at=f"2026-06-10T03:00:0{1 if r['role'] == 'prefill' else 9}Z",
        )
        for r in case["input"]["records"]
    ]
    book = book_text([entry(price["model"], price["per_million"])])
    answer = rate(tmp_path, book, [legs[i] for i in order])
    assert Decimal(answer["total"]) == Decimal(case["expected"]["amounts"]["total"])
    earned = {node: Decimal(amount) for node, amount in answer["by_node"].items()}
    assert earned == {n: Decimal(a) for n, a in case["expected"]["node_revenue"].items()}
    assert answer["requests"][0]["flags"] == ["cached_exceeds_input", "decode_cached_differs"]


def test_c02_one_half_is_held_not_priced(cases, tmp_path):
    """Only the decode record: at risk between all cached and none cached."""
    leg = usage_leg(
        request_id="r1",
        stage="decode",
        input_tokens=2110,
        cached_input_tokens=4096,
        output_tokens=412,
    )
    price = cases["C02"]["input"]["price"]["per_million"]
    answer = rate(tmp_path, book_text([entry("m-river", price)]), [leg])
    (held,) = answer["orphans"]
    assert (answer["total"], held["reason"]) == ("0", "decode_only")
    # 2,110 × 0.20 + 412 × 8 = 3,718; 2,110 × 2 + 412 × 8 = 7,516 per million
    assert (held["amount_min"], held["amount_max"]) == ("0.003718", "0.007516")


def test_c03_a_model_without_price_is_unknown_money_not_zero(cases, tmp_path):
    """e2 is listed with its 41.2 M tokens and no amount; with the price added it is 82.40."""
    case = cases["C03"]
    prices = case["input"]["price_book_v1"][0]["per_million"]
    legs = legs_of(case["input"]["events"])
    before = rate(tmp_path, book_text([entry("m-river", prices)]), legs, "--strict", status=1)
    (unpriced,) = before["unpriced"]
    assert Decimal(before["total"]) == Decimal(case["expected"]["before"]["draft_total"])
    assert (unpriced["model_id"], unpriced["tokens"]) == ("m-river-xl", 41_200_000)
    assert unpriced["amount_min"] is None
    both = book_text([entry("m-river", prices), entry("m-river-xl", prices)])
    after = rate(tmp_path, both, legs, "--strict")
    assert Decimal(after["total"]) == Decimal(case["expected"]["after"]["total"])


def test_c05_an_abandoned_answer_pays_what_the_engine_did(cases, tmp_path):
    """r1: 2,840 input + 71 output = 0.006248; r2 never reached prefill and pays nothing."""
    case = cases["C05"]
    legs = []
    for event in case["input"]["events"]:
        record = event["engine_record"]
        status = "aborted" if event["status"] == "aborted" else "rejected"
        counts = {k.replace("cached_tokens", "cached_input_tokens"): v for k, v in record.items()}
        legs.append(usage_leg(request_id=event["request_id"], status=status, **counts))
    prices = case["input"]["price"]["per_million"]
    answer = rate(tmp_path, book_text([entry("m-river", prices)]), legs, "--strict")
    assert Decimal(answer["total"]) == Decimal(case["expected"]["r1"]["amount"])
    assert [item["reason"] for item in answer["cost"]] == ["rejected"]


def test_c08_the_price_of_the_instant_decides(cases, tmp_path):
    """e1 pays v1, e2 pays v2; v3 of July, published late, touches neither: 2.80 and 2.20."""
    case = cases["C08"]
    entries = [
        entry("m-river", v["per_million"], v["effective_from"])
        for v in case["input"]["price_versions"]
    ]
    answer = rate(tmp_path, book_text(entries), legs_of(case["input"]["events"]))
    amounts = [Decimal(request["amount"]) for request in answer["requests"]]
    assert amounts == [Decimal(case["expected"][e]["amount"]) for e in ("e1", "e2")]


def test_c18_the_whole_request_moves_to_the_long_tier(cases, tmp_path):
    """Strictly above 200,000 total input: uncached, cached and output all move; 1.890005."""
    case = cases["C18"]
    tier = {"input_tokens_above": 200000, "per_million_tokens": per_million(case["input"]["long"])}
    book = book_text([entry("m-river", case["input"]["base"], tiers=[tier])])
    answer = rate(tmp_path, book, legs_of(case["input"]["events"]))
    amounts = sorted(Decimal(request["amount"]) for request in answer["requests"])
    assert amounts == sorted(Decimal(case["expected"][e]) for e in "abc")
    assert Decimal(answer["total"]) == Decimal(case["expected"]["total"])


def test_bad_lines_cost_nobody_elses_good_lines(tmp_path):
    """Each refused line is named by number, field and reason; the good line is billed."""
    good = usage_leg(request_id="g", input_tokens=1, cached_input_tokens=0, output_tokens=0)
    bad = [
        good | {"input_tokens": -1},
        good | {"input_tokens": 10**13},
        good | {"started_at": "2026-06-10T03:00:00"},
        good | {"schema_version": 2},
        good | {"stage": "prefil"},
        good | {"inputs": 1},
    ]
    prices = {"uncached": "2", "cached": "1", "output": "1"}
    answer = rate(tmp_path, book_text([entry("m-river", prices)]), [*bad, good])
    assert answer["total"] == "0.000002"
    named = [(item["line_number"], item["field"]) for item in answer["rejected"]]
    assert named == list(
        enumerate(
            ["input_tokens", "input_tokens", "started_at", "schema_version", "stage", "inputs"], 1
        )
    )
