"""Other examples of the kinds of fault behind cases C01, C02, C03, C05 and C18, in one usage file.

Prices per million tokens in CNY: input 2.00, cached 0.20, cache write 2.50, output 8.00, reasoning
10.00; above 200,000 input tokens 5.00 / 0.50 / 6.00 / 15.00 / 20.00. Amounts are worked by hand.
"""

import json
from decimal import Decimal

import pytest

from tests.e2e.rate_command import book_text, rate, usage_leg

PRICES = {
    "input": "2.00",
    "cached_input": "0.20",
    "cache_write": "2.50",
    "output": "8.00",
    "reasoning": "10.00",
}
LONG = dict(zip(PRICES, ("5.00", "0.50", "6.00", "15.00", "20.00"), strict=True))
FREE_CACHE = {"input": "3.00", "cached_input": "3.00", "output": "1.00"}
BOOK = book_text(
    [
        {
            "model": "m-river",
            "effective_from": "2026-01-01T00:00:00Z",
            "per_million_tokens": PRICES,
            "tiers": [{"input_tokens_above": 200_000, "per_million_tokens": LONG}],
        },
        {
            "model": "m-flat",
            "effective_from": "2026-01-01T00:00:00Z",
            "per_million_tokens": FREE_CACHE,
        },
    ]
)


def counts(input_tokens, cached, output, **more):
    """The three counts of a leg, and others by name."""
    return {
        "input_tokens": input_tokens,
        "cached_input_tokens": cached,
        "output_tokens": output,
        **more,
    }


def prefill(second, *stated, **change):
    """A prefill leg of node p1 that ended at this second."""
    own = {"stage": "prefill", "node_id": "p1", "finished_at": f"2026-06-10T03:00:0{second}Z"}
    return own | counts(*stated) | change


def decode(second, *stated, **change):
    """A decode leg of node d1 that ended at this second."""
    own = {"stage": "decode", "node_id": "d1", "finished_at": f"2026-06-10T03:00:0{second}Z"}
    return own | counts(*stated) | change


# name → legs of one request key, then what is billed in all under it
BILLED = {
    # K1, overlapping classes: 1,000 × 2 + 6,000 × 0.2 + 3,000 × 2.5 + 100 × 8
    "cache write is a third part of the input": (
        [counts(10_000, 6_000, 100, cache_write_tokens=3_000)],
        "0.0115",
    ),
    # explicit and one-hour parts are inside their wholes: the same money
    "parts of parts are not added": (
        [
            counts(
                *(10_000, 6_000, 100),
                cached_explicit_tokens=2_000,
                cache_write_tokens=3_000,
                cache_write_1h_tokens=1_000,
            )
        ],
        "0.0115",
    ),
    # 40 of 100 output tokens are reasoning: 60 × 8 + 40 × 10
    "reasoning is a part of the output": ([counts(0, 0, 100, reasoning_tokens=40)], "0.00088"),
    # image tokens are inside the input: 1,000 × 2
    "input by class is inside the input": (
        [counts(1_000, 0, 0, input_by_class={"image": 700})],
        "0.002",
    ),
    "the whole prompt was cached": ([counts(5_000, 5_000, 0)], "0.001"),
    # a zero that was said is a zero
    "an explicit zero": ([counts(0, 0, 0)], "0"),
    # K7, phantom usage: 1,000 × 2 + 100 × 8, whatever else was computed
    "a router's retry on another node": (
        [
            prefill(1, 1_000, 0, 1, node_id="p2"),
            prefill(2, 1_000, 0, 1),
            decode(9, 1_000, 0, 100),
        ],
        "0.0028",
    ),
    "a transfer that failed, then worked": (
        [
            prefill(1, 1_000, 0, 1),
            decode(2, 1_000, 0, 0, status="error", node_id="d2"),
            prefill(3, 1_000, 0, 1),
            decode(9, 1_000, 0, 100),
        ],
        "0.0028",
    ),
    "a decode server that calls the transfer a hit": (
        [prefill(1, 1_000, 0, 1), decode(9, 1_000, 1_000, 100)],
        "0.0028",
    ),
    "one key used for two requests": (
        [
            prefill(1, 1_000, 0, 1),
            decode(2, 1_000, 0, 100),
            prefill(5, 3_000, 0, 1),
            decode(9, 3_000, 0, 100),
        ],
        "0.0096",  # 4,000 × 2 + 200 × 8
    ),
    # C05: the client left: 2,840 × 2 + 71 × 8; and before any output: 2,840 × 2
    "aborted on both sides": (
        [
            prefill(1, 2_840, 0, 1, status="aborted"),
            decode(5, 2_840, 0, 71, status="aborted"),
        ],
        "0.006248",
    ),
    "aborted before the first token": ([counts(2_840, 0, 0, status="aborted")], "0.00568"),
    "an engine's error": ([counts(2_840, 0, 71, status="error")], "0"),
    "a warm-up": ([counts(2_840, 0, 71, status="warmup")], "0"),
    # C03: what is missing matters only where the prices differ: 1,000 × 3 + 10 × 1
    "cached unknown at one price": (
        [counts(1_000, None, 10, model_id="m-flat")],
        "0.00301",
    ),
    # C18: strictly above 200,000 of all input; every line of the request moves
    "on the limit": ([counts(200_000, 199_999, 0)], "0.0400018"),
    "one above, nearly all of it cached": ([counts(200_001, 200_000, 1_000)], "0.115005"),
    "above by what is written": (
        [counts(200_001, 0, 0, cache_write_tokens=200_001)],
        "1.200006",
    ),
}
# name → legs, then the list it is in, its reason, least and most money at stake
SET_ASIDE = {
    "cached unknown": ([counts(1_000, None, 100)], "unpriced", "0.001", "0.0028"),
    "cached beyond the input": ([counts(1_000, 2_000, 100)], "unpriced", "0.001", "0.0028"),
    "input unknown": ([counts(None, None, 100)], "unpriced", "0.0008", None),
    "output unknown": ([counts(1_000, 0, None)], "unpriced", "0.002", None),
    "a model without price": ([counts(1_000, 0, 1, model_id="m-lake")], "unpriced", None, None),
    "prefill only": ([prefill(1, 1_000, 0, 1)], "orphans", "0", "0.002"),
    "decode only": ([decode(9, 1_000, 0, 100)], "orphans", "0.001", "0.0028"),
    "two prompts of other lengths": (
        [prefill(1, 900, 0, 1), decode(9, 1_000, 0, 100)],
        "orphans",
        "0.001",
        "0.0028",
    ),
}


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    """The answer to all cases in one file, the legs of a case last first."""
    legs = [
        usage_leg(request_id=name, **leg)
        for name, (case, *_) in {**BILLED, **SET_ASIDE}.items()
        for leg in reversed(case)
    ]
    return rate(tmp_path_factory.mktemp("kinds"), BOOK, legs)


@pytest.mark.parametrize("name", BILLED)
def test_each_token_is_billed_once_by_its_own_price(rated, name):
    """Money of the key, and no line below zero."""
    own = [request for request in rated["requests"] if request["request_id"] == name]
    assert sum(Decimal(request["amount"]) for request in own) == Decimal(BILLED[name][1])
    assert all(line["tokens"] >= 0 for request in own for line in request["lines"])


@pytest.mark.parametrize("name", SET_ASIDE)
def test_what_is_unknown_is_listed_with_the_money_at_stake(rated, name):
    """In its list, not billed, with a least and a most that bracket the truth."""
    _, where, least, most = SET_ASIDE[name]
    assert not [request for request in rated["requests"] if request["request_id"] == name]
    found = [item for item in rated[where] if item["request_id"] == name]
    amounts = {(item["amount_min"], item["amount_max"]) for item in found}
    assert (least, most) in amounts, json.dumps(found)


def test_the_sums_agree(rated):
    """Σ servers = Σ tenants = Σ requests = total, to the last digit (V7)."""
    total = sum(Decimal(amount) for _, amount in BILLED.values())
    for amounts in (
        rated["by_node"].values(),
        rated["by_tenant"].values(),
        [request["amount"] for request in rated["requests"]],
        [rated["total"]],
    ):
        assert sum(map(Decimal, amounts)) == total
