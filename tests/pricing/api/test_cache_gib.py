"""/v1/economics/cache/gib and /v1/economics/elasticity: figures of a window, checked by hand."""

import pytest

from tests.pricing.api.conftest import BOOK, leg, open_house
from tests.pricing.api.test_economics import DAY

MODEL = {"model_id": "m-river"}
GIB = {"hit_ratio_gain": "0.01", "kappa": "0.02", "gib": "10"}


@pytest.fixture(scope="module")
def half_cached(ledger_template, tmp_path_factory):
    """Ten million tokens, half of them hits: 5 · 2.00 + 5 · 0.20 = 11 CNY; b = 1.10."""
    with open_house(ledger_template, tmp_path_factory.mktemp("gib")) as made:
        made.send("POST", "/v1/prices", json={"toml": BOOK})
        counts = {"input_tokens": 1_000_000, "cached_input_tokens": 500_000}
        made.settle(*(leg(number, "t-alder", **counts) for number in range(10)))
        yield made


def rows(house, path, **params):
    answer = house.get(path, params=DAY | MODEL | params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def gib(house, **params):
    answer = rows(house, "/v1/economics/cache/gib", **GIB | params)
    (row,) = answer["items"]
    return row


def test_one_more_gib_has_two_values(half_cached):
    """r 0.5 → 0.51 by 10 GiB, κ 0.02: W = 5.1 M; 5.1·1.082/0.5002 − 11 CNY, a tenth per GiB.

    Traffic fixed: 10 M · 0.01 · 1.80 = 0.18 CNY lost; 0.098 M uncached tokens are freed, at 3.00
    a million: 0.294 CNY saved.
    """
    row = gib(half_cached, cost_per_million_uncached="3.00")
    assert float(row["compute_fixed"]) == pytest.approx((5.1 * 1.082 / 0.5002 - 11) / 10)
    assert row["traffic_fixed_revenue"] == "-0.018"
    assert row["traffic_fixed"] == "0.0114"
    assert row["hit_ratio_gain_per_gib"] == pytest.approx(0.001)


def test_a_month_of_it(half_cached):
    """Twelve hours have passed: sixty times as much in 30 days."""
    row = gib(half_cached, cost_per_million_uncached="3.00")
    assert row["traffic_fixed_month"] == "0.684"


def test_what_is_not_known_is_null(half_cached):
    """No cost: nothing is said about what freed servers save; the revenue lost is known."""
    row = gib(half_cached)
    assert (row["traffic_fixed"], row["traffic_fixed_revenue"]) == (None, "-0.018")


def test_at_the_break_even_kappa_a_gib_earns_nothing(half_cached):
    """κ = p_h / p_m = 0.1: with compute fixed revenue does not depend on r."""
    assert gib(half_cached, kappa="0.1")["compute_fixed"] == "0"


def test_no_gib_is_refused(half_cached):
    """A gain of nothing has no value per GiB."""
    answer = half_cached.get("/v1/economics/cache/gib", params=DAY | MODEL | GIB | {"gib": "0"})
    assert (answer.status_code, "above 0" in answer.text) == (422, True)


def test_every_figure_names_its_formula(half_cached):
    """The curve's section for the value, §9.1 for κ."""
    found = rows(half_cached, "/v1/economics/cache/gib", **GIB)["figures"]
    assert found["compute_fixed"]["formula"].endswith("#94-hit-ratio-against-cache-size")
    assert "per GiB" in found["traffic_fixed"]["unit"]


def test_elastic_demand_has_a_best_price(half_cached):
    """ε 2 at a cost of 0.30: b* = 0.60; 10 M · (1.10/0.60)² tokens at a margin of 0.30."""
    asked = {"elasticity": "2", "cost_per_million": "0.30"}
    items = rows(half_cached, "/v1/economics/elasticity", **asked)["items"]
    (best,) = [item for item in items if item["is_best"]]
    assert best["blended_price"] == pytest.approx(0.60)
    assert best["profit"] == pytest.approx(10 * (1.10 / 0.60) ** 2 * 0.30)
    assert best["profit"] == max(item["profit"] for item in items)
    assert best["cached_price"] is None  # 0.60 with p_m 2.00 at r 0.5 would need p_h = −0.80


def test_the_present_price_is_one_of_the_points(half_cached):
    """Factor 1 is the window as it was billed: 11 CNY, p_h 0.20."""
    asked = {"elasticity": "1", "cost_per_million": "0.30"}
    items = rows(half_cached, "/v1/economics/elasticity", **asked)["items"]
    (now,) = [item for item in items if item["price_factor"] == 1]
    assert (now["revenue"], now["cached_price"]) == (pytest.approx(11), pytest.approx(0.20))
    assert not any(item["is_best"] for item in items)  # ε ≤ 1 has no best price
    assert len(items) == 21


def test_an_elasticity_without_bound_is_refused(half_cached):
    """Demand to the power of a thousand is a slip."""
    params = DAY | MODEL | {"elasticity": "1000", "cost_per_million": "0.30"}
    assert half_cached.get("/v1/economics/elasticity", params=params).status_code == 422
