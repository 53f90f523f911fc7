"""What a hit is worth: facts/economics.md §1.1, §7.1; κ = p_h / p_m changes nothing."""

import json
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pricing.cache_economics import (
    Compute,
    Pool,
    break_even_cached_price,
    break_even_kappa,
    cost_at_which_hits_pay,
    cost_per_million_uncached,
    full_load_revenue,
    revenue_per_server_second,
    servers_for_traffic,
    slope_with_compute_fixed,
    slope_with_traffic_fixed,
    throughput_by_kv_bandwidth,
    value_of_cache_step,
)
from pricing.formula import TokenPrices

MONTH = 30 * 86_400
GLM = TokenPrices(input_price=8, cached_price=2)
SYNTH_COST = Fraction(70_076) + Fraction(2, 3)  # CNY a month, economics.md §4.2


def compute(kappa: str = "0.02", rate: str = "32000") -> Compute:
    """A server of 32,000 uncached tokens/s."""
    return Compute(uncached_tokens_per_second=Decimal(rate), kappa=Decimal(kappa))


@pytest.mark.parametrize(
    ("ratio", "revenue"),
    [
        ("0", 173_499.36),
        ("0.5", 216_874.20),
        ("0.8", 346_998.71),
        ("0.9", 563_872.91),
        ("0.95", 997_621.30),
    ],
)
def test_anchor_with_compute_fixed(ratio, revenue):
    """§1.1: C = 8,367.06 held, κ = 0: revenue rises with r."""
    found = full_load_revenue(MONTH, compute("0", "8367.06"), hit_ratio=Decimal(ratio), prices=GLM)
    assert float(found) == pytest.approx(revenue, abs=0.005)


def test_all_hits_without_cost_have_no_bound():
    """§1.1, r = 1 and κ = 0: bounded by KV bandwidth only, not by compute."""
    assert full_load_revenue(MONTH, compute("0"), hit_ratio=1, prices=GLM) is None


def test_the_what_if_trap_has_opposite_signs():
    """§7.1: +10,960,712.44 per unit of r with compute fixed, −1,301,245.17 with traffic fixed."""
    up = slope_with_compute_fixed(MONTH, compute(), hit_ratio=Decimal("0.9"), prices=GLM)
    down = slope_with_traffic_fixed(MONTH, Decimal("83670.6"), GLM)
    assert float(up) == pytest.approx(10_960_712.44, abs=0.005)
    assert float(down) == pytest.approx(-1_301_245.17, abs=0.005)


def test_slope_is_the_derivative():
    """Independent: a difference quotient of full_load_revenue at r = 0.9."""
    at, step = Fraction(9, 10), Fraction(1, 10**7)
    ends = [
        full_load_revenue(MONTH, compute(), hit_ratio=r, prices=GLM) for r in (at - step, at + step)
    ]
    slope = slope_with_compute_fixed(MONTH, compute(), hit_ratio=at, prices=GLM)
    assert float((ends[1] - ends[0]) / (2 * step)) == pytest.approx(float(slope), rel=1e-9)


@given(st.fractions(0, 1), st.fractions(0, 1))
def test_break_even_kappa_is_invariant(first, second):
    """§7.1: at κ = p_h / p_m revenue does not depend on r, exactly."""
    at_break_even = Compute(uncached_tokens_per_second=32_000, kappa=break_even_kappa(GLM))
    revenues = {
        full_load_revenue(MONTH, at_break_even, hit_ratio=r, prices=GLM) for r in (first, second)
    }
    assert revenues == {Fraction("663552")}


@pytest.mark.parametrize(
    ("miss", "hit", "kappa"),
    [
        ("8", "2", 0.25),
        ("1.40", "0.26", 0.186),
        ("0.55", "0.14", 0.2545),
        ("3", "0.025", 0.00833),
    ],
)
def test_break_even_kappas(miss, hit, kappa):
    """§7.1: GLM in CNY and USD, DeepSeek R1, V4-pro."""
    prices = TokenPrices(input_price=Decimal(miss), cached_price=Decimal(hit))
    assert float(break_even_kappa(prices)) == pytest.approx(kappa, rel=3e-3)
    assert break_even_kappa(TokenPrices()) is None


def test_break_even_cached_price_is_its_inverse():
    """κ = 0.02 at p_m = 8: a cached token pays its way from 0.16 on."""
    assert break_even_cached_price(8, Decimal("0.02")) == Fraction("0.16")


def test_a_hit_earns_more_per_server_second():
    """§7.1: 0.256 against 3.2 CNY: 12.5 times."""
    miss, hit = revenue_per_server_second(compute(), GLM)
    assert (miss, hit, hit / miss) == (Fraction("0.256"), Fraction("3.2"), Fraction("12.5"))
    assert revenue_per_server_second(compute("0"), GLM)[1] is None


def test_cost_at_which_hits_pay():
    """§7.1: 6.1224 CNY per uncached MTok at κ = 0.02."""
    assert float(cost_at_which_hits_pay(GLM, Decimal("0.02"))) == pytest.approx(6.1224, abs=5e-5)
    assert cost_at_which_hits_pay(GLM, 1) is None


@pytest.mark.parametrize(
    ("rate", "utilization", "cost"),
    [("32000", 1, 0.845), ("32000", "0.4", 2.112), ("8367", 1, 3.231), ("8367", "0.4", 8.078)],
)
def test_synth_1_cost_per_uncached_token(rate, utilization, cost):
    """§7.1: only the slow server at 40 % (8.078 > 6.1224) gains from hits at fixed traffic."""
    found = cost_per_million_uncached(
        SYNTH_COST, MONTH, compute(rate=rate), utilization=Fraction(utilization)
    )
    assert float(found) == pytest.approx(cost, abs=5e-4)


def test_the_cost_threshold_is_where_profit_turns():
    """At exactly 6.1224 CNY per uncached MTok more hits neither win nor lose (both by formula)."""
    threshold = cost_at_which_hits_pay(GLM, Decimal("0.02"))
    pool = Pool(
        seconds=MONTH,
        compute=compute(),
        servers=1,
        cost_per_server=threshold * Fraction("2.592") * 32_000,
        input_tokens_per_second=83_670,
    )
    step = value_of_cache_step(pool, GLM, gib=1, hit_ratios=(Fraction(1, 2), Fraction(3, 4)))
    assert step.traffic_fixed_per_gib == 0


def test_value_of_a_gib():
    """By hand: r 0.8 → 0.9 by 100 GiB: (1,827,579.66 − 1,228,800) / 100 with compute fixed;
    with traffic fixed 83,670.6·0.098/32,000 servers are freed and 130,124.52 of revenue lost."""
    pool = Pool(
        seconds=MONTH,
        compute=compute(),
        servers=1,
        cost_per_server=SYNTH_COST,
        input_tokens_per_second=Decimal("83670.6"),
    )
    ratios = (Decimal("0.8"), Decimal("0.9"))
    step = value_of_cache_step(pool, GLM, gib=100, hit_ratios=ratios)
    assert float(step.compute_fixed_per_gib) == pytest.approx(5_987.7966, abs=5e-5)
    freed = 83_670.6 * 0.098 / 32_000 * float(SYNTH_COST)
    assert float(step.traffic_fixed_per_gib) == pytest.approx((freed - 130_124.517) / 100, abs=1e-4)
    assert step.hit_ratio_gain == Fraction(1, 10)


def test_a_step_to_all_hits_has_no_compute_bound():
    """κ = 0 and r = 1: what compute-fixed revenue would be is unknown, not infinite."""
    pool = Pool(
        seconds=1, compute=compute("0"), servers=1, cost_per_server=0, input_tokens_per_second=1
    )
    step = value_of_cache_step(pool, GLM, gib=1, hit_ratios=(0, 1))
    assert step.compute_fixed_per_gib is None


def test_servers_for_fixed_traffic():
    """N = T(1 − r + κr) / (C·U): 83,670.6 · 0.118 / (32,000 · 0.4) = 0.7713."""
    found = servers_for_traffic(
        Decimal("83670.6"), compute(), hit_ratio=Decimal("0.9"), utilization=Decimal("0.4")
    )
    assert float(found) == pytest.approx(0.77134, abs=5e-6)


def test_kv_bandwidth_bounds_throughput():
    """§5.4: reading r·T·B_kv = 3.85 GB/s at the anchor; 50 GB/s allow 1,085,747 tokens/s."""
    assert Fraction("0.9") * Fraction("83670.6") * 51_168 == pytest.approx(3.85e9, rel=1e-3)
    found = throughput_by_kv_bandwidth(50 * 10**9, 51_168, Decimal("0.9"))
    assert float(found) == pytest.approx(50e9 / (0.9 * 51_168))
    assert throughput_by_kv_bandwidth(1, 1, 0) is None


@pytest.mark.parametrize(
    "make",
    [
        lambda: Compute(uncached_tokens_per_second=0, kappa=0),
        lambda: Compute(uncached_tokens_per_second=1, kappa=-1),
        lambda: compute().time_factor(2),
    ],
)
def test_impossible_compute_is_refused(make):
    """A server without compute, a negative κ, a ratio above 1."""
    with pytest.raises(ValueError, match="must"):
        make()


def test_every_capacity_vector(shared):
    """facts/vectors.json: capacity_r, all 25 rows."""
    vectors = json.loads((shared / "facts/vectors.json").read_text(), parse_float=Decimal)
    for row in vectors["capacity_r"]:
        server = Compute(uncached_tokens_per_second=row["C"], kappa=row["kappa"])
        found = full_load_revenue(MONTH, server, hit_ratio=row["r"], prices=GLM)
        assert float(found) == pytest.approx(float(row["R"]), rel=1e-14)
