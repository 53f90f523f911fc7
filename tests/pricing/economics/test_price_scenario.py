"""Elastic demand and time of day: facts/economics.md §7.2 and §7.3."""

from decimal import Decimal
from fractions import Fraction

import pytest

from pricing.formula import TokenPrices, blended_input_price
from pricing.price_scenario import (
    best_blended_price,
    cached_price_for,
    demand_factor,
    peak_multiplier,
    peak_shift,
)


@pytest.mark.parametrize(("elasticity", "price"), [("1.5", "0.90"), ("2", "0.60"), ("3", "0.45")])
def test_profit_maximal_price(elasticity, price):
    """§7.2: b* = c·ε/(ε−1) at a cost of 0.30."""
    assert best_blended_price(Decimal("0.30"), Decimal(elasticity)) == Fraction(price)


def test_inelastic_demand_has_no_best_price():
    """ε ≤ 1: raise the price until capacity or a rule stops it."""
    assert best_blended_price(1, 1) is None


def test_best_price_beats_its_neighbours():
    """Independent: profit (b − c)·b^−2 at 0.6 is above that at 0.55 and 0.65."""
    profit = {b: (b - 0.3) * demand_factor(b, 2) for b in (0.55, 0.6, 0.65)}
    assert max(profit, key=profit.get) == 0.6


def test_cached_price_from_a_blended_one():
    """p_h = (b − (1 − r)·p_m) / r: 2.6 at r 0.9 and 8 is 2."""
    assert cached_price_for(Decimal("2.6"), price_input=8, hit_ratio=Decimal("0.9")) == 2
    assert cached_price_for(1, price_input=8, hit_ratio=0) is None


@pytest.mark.parametrize(("ratio", "price"), [("0.9", "2.6"), ("0.4", "5.6")])
def test_customers_pay_by_their_own_hit_ratio(ratio, price):
    """§7.2: agents at r 0.9 pay 2.6, chat at 0.4 pays 5.6."""
    prices = TokenPrices(input_price=8, cached_price=2)
    assert blended_input_price(Decimal(ratio), prices) == Fraction(price)


def test_peak_hours_multiply_the_price():
    """§7.3: ×2 in 7 of 24 hours: uniform 1.2917; 45 % of tokens: 1.45, V4-pro miss 4.35."""
    assert float(peak_multiplier(Fraction(7, 24), 2)) == pytest.approx(1.2917, abs=5e-5)
    assert peak_multiplier(Fraction("0.45"), 2) * 3 == Fraction("4.35")


def test_shifting_a_fifth_of_the_peak():
    """§7.3: s 0.45 → 0.36: revenue −6.2 %, peak rate 0.064286 N/h → 0.051429 N/h, −20 %."""
    revenue, rate = peak_shift(Fraction("0.45"), 2, peak_hours=7, shifted_share=Fraction("0.2"))
    assert float(revenue) == pytest.approx(0.062, abs=5e-4)
    assert rate == Fraction("0.2")
    assert float(Fraction("0.45") / 7) == pytest.approx(0.064286, abs=5e-7)
