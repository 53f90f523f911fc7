"""Investment cases: SYNTH-1 to the digit (facts/economics.md §4.2), tornado and heat map."""

import json
from dataclasses import replace

import pytest

from pricing.cash_flow import monthly_rate, npv
from pricing.estimates.internal_rate import internal_rates
from pricing.roi import (
    cash_flows,
    flow_dates,
    full_load_revenue,
    month_seconds,
    outlook,
    steady_month,
)
from pricing.sensitivity import case_npv, heat_map, hit_ratio_bars, tornado, with_hit_ratio


@pytest.mark.parametrize(
    ("name", "value", "month", "year", "payback", "discounted", "index"),
    [
        ("A", 6_202_856.02, 0.0675439202, 1.190933, 14.525256, 15.500100, 3.301616),
        ("B", 699_884.77, 0.0200653945, 0.269218, 26.055499, 31.200721, 1.259698),
        ("C", -2_298_160.16, -0.0770786714, -0.618077, None, None, 0.147250),
        ("D", -3_427_732.80, -0.2051361321, -0.936392, None, None, -0.271886),
    ],
)
def test_the_four_cases(synth, name, value, month, year, payback, discounted, index):  # noqa: PLR0917 - the columns of a table
    """Table of §4.2: NPV, monthly IRR, effective yearly IRR, paybacks, profitability index."""
    case = synth[name]
    worth = outlook(case)
    rates = internal_rates(cash_flows(case), flow_dates(case), rate_per_month=0.01)
    assert worth.npv == pytest.approx(value, abs=0.005)
    assert rates.irr_month == pytest.approx(month, abs=5e-11)
    assert rates.irr_year == pytest.approx(year, abs=5e-7)
    assert worth.payback_months == pytest.approx(payback, abs=5e-7)
    assert worth.discounted_payback_months == pytest.approx(discounted, abs=5e-7)
    assert worth.profitability_index == pytest.approx(index, abs=5e-7)


def test_flows_of_case_b(synth):
    """Months 1, 6, 12, 24, 36, 60 and the sum, §4.2."""
    flows = cash_flows(synth["B"])
    assert [flows[t] for t in (1, 6, 12, 24, 36, 60)] == pytest.approx(
        [8_220.37, 156_153.94, 126_197.83, 80_165.48, 47_942.84, 134_597.89], abs=0.005
    )
    assert sum(flows) == pytest.approx(1_328_385.58, abs=0.005)


def test_xirr_of_case_b(synth):
    """First-of-month dates from 2026-09-01: 0.2692452 against 0.2692179 from the monthly IRR."""
    case = synth["B"]
    rates = internal_rates(cash_flows(case), flow_dates(case), rate_per_month=0.01)
    assert rates.xirr == pytest.approx(0.2692452, abs=5e-8)
    assert rates.irr_year == pytest.approx(0.2692179, abs=5e-8)


def test_break_evens_of_case_b(synth):
    """NPV = 0 at U 0.339304, price factor 0.848259, blended price 2.205474; and it is 0 there."""
    case = synth["B"]
    worth = outlook(case)
    assert worth.break_even_utilization == pytest.approx(0.339304, abs=5e-7)
    assert worth.break_even_price_factor == pytest.approx(0.848259, abs=5e-7)
    assert worth.break_even_input_price == pytest.approx(2.205474, abs=5e-7)
    at_zero = replace(case, utilization=worth.break_even_utilization)
    assert case_npv(at_zero) == pytest.approx(0, abs=1e-6)


def test_steady_month_of_case_a(synth):
    """Cost 70,076.67 and 82,301.5455; U* 12.4277 / 13.1734 / 15.4715 %; b* 1.005648."""
    month = steady_month(synth["A"])
    assert month.accounting_cost == pytest.approx(70_076.67, abs=0.005)
    assert month.economic_cost == pytest.approx(82_301.5455, abs=5e-5)
    assert month.break_even_utilization_gross == pytest.approx(0.124277, abs=5e-7)
    assert month.break_even_utilization == pytest.approx(0.131734, abs=5e-7)
    assert month.break_even_utilization_economic == pytest.approx(0.154715, abs=5e-7)
    assert month.break_even_input_price == pytest.approx(1.005648, abs=5e-7)


@pytest.mark.parametrize(
    ("utilization", "margin", "profit", "economic", "payback"),
    [
        (0.1, -0.3173, -16_881.11, -29_105.99, 103.845),
        (0.2, 0.3413, 36_314.45, 24_089.57, 34.050),
        (0.4, 0.6707, 142_705.56, 130_480.68, 14.525),
        (1.0, 0.8683, 461_878.91, 449_654.03, 5.340),
    ],
)
def test_steady_month_by_utilisation(synth, utilization, margin, profit, economic, payback):
    """Table of §4.2 by utilisation."""
    month = steady_month(replace(synth["A"], utilization=utilization))
    assert month.gross_margin == pytest.approx(margin, abs=5e-5)
    assert month.profit == pytest.approx(profit, abs=0.005)
    assert month.economic_profit == pytest.approx(economic, abs=0.006)
    assert month.simple_payback_months == pytest.approx(payback, abs=5e-4)


def test_break_even_cached_price_and_hit_ratio(synth):
    """At p_h* (0.2285) and at r* the economic profit is 0."""
    case = replace(synth["A"], utilization=0.2)  # b* = 2.0113, just above p_h = 2
    month = steady_month(case)
    at_price = replace(case, price_cached=month.break_even_cached_price)
    at_ratio = replace(case, hit_ratio=month.break_even_hit_ratio)
    assert steady_month(at_price).economic_profit == pytest.approx(0, abs=1e-6)
    assert steady_month(at_ratio).economic_profit == pytest.approx(0, abs=1e-6)


def test_unknown_break_evens_are_none(synth):
    """No revenue kept, no hits, no discount: no such price or ratio."""
    nothing = steady_month(replace(synth["A"], revenue_kept=0, hit_ratio=0))
    assert nothing.break_even_input_price is nothing.break_even_cached_price is None
    assert nothing.gross_margin is nothing.break_even_utilization is None
    assert steady_month(replace(synth["A"], price_cached=8)).break_even_hit_ratio is None
    assert outlook(replace(synth["A"], utilization=0)).break_even_price_factor is None


def test_output_revenue_counts(synth):
    """5,000 output tokens/s at 28 for 30 days: 362,880 more (economics.md §1.4)."""
    case = replace(synth["A"], output_tokens_per_second=5_000, price_output=28)
    more = full_load_revenue(case, 2_592_000) - full_load_revenue(synth["A"], 2_592_000)
    assert more == pytest.approx(362_880)


def test_calendar_months(synth):
    """From September 2026 real months have 30, 31 … days; month 6 is February with 28."""
    case = replace(synth["A"], calendar_months=True)
    assert [month_seconds(case, index) // 86_400 for index in (1, 2, 6, 18)] == [30, 31, 28, 29]
    assert cash_flows(case)[2] > cash_flows(case)[1]


TORNADO = {
    "utilization": (-222_590.59, 1_622_360.14, 1_844_950.73),
    "price_erosion_per_year": (1_442_538.81, 54_471.77, 1_388_067.04),
    "capital": (1_223_361.74, 176_407.81, 1_046_953.93),
    "ramp_months": (993_833.89, 173_123.26, 820_710.62),
    "opex": (958_906.22, 440_863.33, 518_042.88),
    "wacc": (809_005.99, 597_591.85, 211_414.14),
    "residual": (684_361.74, 715_407.81, 31_046.07),
}


def test_tornado_of_case_b(synth):
    """§4.2: low, high and swing of each driver at ±20 %, ramp 3 and 12; widest first."""
    bars = [bar for bar in tornado(synth["B"]) if bar.driver != "hit_ratio"]
    assert [bar.driver for bar in bars] == list(TORNADO)
    for bar in bars:
        assert (bar.low, bar.high, bar.swing) == pytest.approx(TORNADO[bar.driver], abs=0.01)


@pytest.mark.parametrize(
    ("ratio", "value"), [(0.72, 2_615_795.14), (0.81, 1_657_839.96), (0.99, -258_070.41)]
)
def test_hit_ratio_with_traffic_fixed(synth, ratio, value):
    """§4.2: with T fixed NPV falls as r rises."""
    assert case_npv(replace(synth["B"], hit_ratio=ratio)) == pytest.approx(value, abs=0.005)


def test_the_what_if_trap_points_both_ways(synth):
    """With κ 0.02 < p_h/p_m 0.25, hits lower NPV at fixed traffic and raise it at fixed compute."""
    traffic, compute = hit_ratio_bars(replace(synth["B"], kappa=0.02))
    assert (traffic.note, compute.note) == ("traffic fixed", "compute fixed")
    assert traffic.high < traffic.low
    assert compute.high > compute.low


def test_compute_fixed_at_the_break_even_kappa_changes_nothing(synth):
    """κ = p_h / p_m: revenue does not depend on r (economics.md §7.1)."""
    case = replace(synth["B"], kappa=0.25)
    assert case_npv(with_hit_ratio(case, 0.3)) == pytest.approx(case_npv(case))


def test_compute_fixed_needs_kappa_and_a_bound(synth):
    """Without κ the question has no answer; with κ 0 and r 1 throughput would be infinite."""
    with pytest.raises(ValueError, match="kappa is not known"):
        with_hit_ratio(synth["B"], 0.5)
    with pytest.raises(ValueError, match="no bound"):
        with_hit_ratio(replace(synth["B"], kappa=0), 1.0)


def test_heat_map(synth):
    """Each cell is the NPV of the case with both values; U 0.4 × r 0.9 is case B."""
    grid = heat_map(synth["B"], ("utilization", (0.2, 0.4)), ("hit_ratio", (0.72, 0.81, 0.9)))
    assert [len(row) for row in grid] == [3, 3]
    assert grid[1] == pytest.approx([2_615_795.14, 1_657_839.96, 699_884.77], abs=0.005)


def test_heat_map_refuses_what_is_no_number(synth):
    """A name cannot be varied."""
    with pytest.raises(ValueError, match="'name' is no number"):
        heat_map(synth["B"], ("name", (1,)), ("hit_ratio", (1,)))


@pytest.mark.parametrize(
    "change", [{"hit_ratio": 1.1}, {"investment": -1}, {"ramp_months": 0}, {"utilization": -0.1}]
)
def test_impossible_cases_are_refused(synth, change):
    """The message names the field."""
    with pytest.raises(ValueError, match=next(iter(change))):
        replace(synth["A"], **change)


def test_every_finance_vector(shared, synth):
    """facts/vectors.json: finance.synth."""
    row = json.loads((shared / "facts/vectors.json").read_text())["finance"]["synth"]
    a, b = synth["A"], synth["B"]
    assert (a.investment, a.residual, a.months) == (row["I0"], row["S"], row["n"])
    assert a.opex == pytest.approx(row["opex"])
    assert monthly_rate(a.wacc) == pytest.approx(row["m"], rel=1e-13)
    month = steady_month(a)
    assert month.accounting_cost - a.opex == pytest.approx(row["dep"])
    assert month.economic_cost - a.opex == pytest.approx(row["annuity"], abs=1e-7)
    for case, key in ((a, "A"), (b, "B")):
        worth = outlook(case)
        rates = internal_rates(cash_flows(case), flow_dates(case), rate_per_month=0.01)
        assert worth.npv == pytest.approx(row[f"{key}_npv"], abs=0.005)
        assert rates.irr_month == pytest.approx(row[f"{key}_irr"], rel=1e-10)
        assert worth.payback_months == pytest.approx(row[f"{key}_payback"])
        assert worth.discounted_payback_months == pytest.approx(row[f"{key}_disc"])
    assert outlook(b).break_even_utilization == pytest.approx(row["B_U_star"])
    assert npv(monthly_rate(0.1), cash_flows(b)) == outlook(b).npv
