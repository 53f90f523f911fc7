"""/v1/economics/cache: the two answers to one question, and κ from metered prefill seconds."""

import pytest

from tests.pricing.api.conftest import BOOK, leg, open_house
from tests.pricing.api.test_economics import DAY

MODEL = {"model_id": "m-river"}


@pytest.fixture(scope="module")
def cached(ledger_template, tmp_path_factory):
    """Prompts of many shapes that take 0.01 s + 10⁻⁴ s per uncached + 2·10⁻⁶ per cached token.

    12 sizes × 6 shares of hits; prices 2.00 and 0.20.
    """
    with open_house(ledger_template, tmp_path_factory.mktemp("cache")) as made:
        made.send("POST", "/v1/prices", json={"toml": BOOK})
        shapes = [(1_000 * 2**i, j / 6) for i in range(12) for j in range(6)]
        rows = []
        for number, (tokens, share) in enumerate(shapes):
            hits = int(tokens * share)
            seconds = 0.01 + 1e-4 * (tokens - hits) + 2e-6 * hits
            counts = {"input_tokens": tokens, "cached_input_tokens": hits}
            rows.append(leg(number, "t-alder", prefill_seconds=seconds, **counts))
        made.settle(*rows)
        yield made


def cache(house, **params):
    answer = house.get("/v1/economics/cache", params=DAY | MODEL | params)
    assert answer.status_code == 200, answer.text
    (row,) = answer.json()["items"]
    return row


def test_kappa_is_what_the_seconds_say(cached):
    """2·10⁻⁶ / 10⁻⁴ = 0.02, inside its interval; C = 10,000 tokens/s."""
    row = cache(cached)
    assert row["kappa"] == pytest.approx(0.02, rel=1e-4)
    assert row["kappa_low"] <= row["kappa"] <= row["kappa_high"]
    assert row["uncached_tokens_per_second"] == pytest.approx(10_000, rel=1e-4)


def test_a_point_of_hits_has_two_prices(cached):
    """Traffic fixed: −N · 1.80 / 10⁸. Compute fixed: N · (0.20 − κ·2.00) / (1 − r + κ·r) / 10⁸."""
    row = cache(cached, kappa="0.02")
    tokens, ratio = row["input_tokens"], row["hit_ratio"]
    assert float(row["traffic_fixed_per_point"]) == pytest.approx(-tokens * 1.8 / 1e8)
    held = tokens * (0.2 - 0.02 * 2) / (1 - ratio + 0.02 * ratio) / 1e8
    assert float(row["compute_fixed_per_point"]) == pytest.approx(held)


def test_at_the_break_even_kappa_hits_change_nothing(cached):
    """κ = p_h / p_m = 0.1: revenue is the same at every hit ratio if compute is fixed."""
    row = cache(cached, kappa="0.1")
    assert (row["break_even_kappa"], row["compute_fixed_per_point"]) == (0.1, "0")
    answer = cached.get("/v1/economics/cache/toggle", params=DAY | MODEL | {"kappa": "0.1"})
    rows = answer.json()["items"]
    assert (len(rows), len({row["compute_fixed"] for row in rows})) == (41, 1)
    assert len({row["traffic_fixed"] for row in rows}) == 41


def test_break_evens_of_the_prices(cached):
    """κ 0.02: p_h = 0.04; hits pay from (2.00 − 0.20) / 0.98 per million uncached tokens."""
    row = cache(cached, kappa="0.02")
    assert row["break_even_cached_price"] == "0.04"
    assert float(row["cost_at_which_hits_pay"]) == pytest.approx(1.8 / 0.98)


def test_kappa_that_cannot_be_measured_says_why(furnished):
    """One shape of prompt without timings: null, with the reason."""
    row = cache(furnished)
    assert (row["kappa"], row["kappa_source"]) == (None, "unknown")
    assert "rows" in row["kappa_reason"]


def test_the_mix_of_contexts_is_a_harmonic_mean(cached):
    """T_eq = Σ tokens ÷ Σ seconds, whatever the classes; time shares sum to 1."""
    answer = cached.get("/v1/economics/contexts", params=DAY | MODEL)
    rows = answer.json()["items"]
    seconds = sum(row["prefill_seconds"] for row in rows)
    tokens = sum(row["input_tokens"] for row in rows)
    assert rows[0]["equivalent_tokens_per_second"] == pytest.approx(tokens / seconds)
    assert sum(row["time_share"] for row in rows) == pytest.approx(1)
    assert sum(row["token_share"] for row in rows) == pytest.approx(1)
