"""NPV, payback and internal rates against published series (facts/economics.md §4.3)."""

import json
from datetime import date

import pytest
import pyxirr
from hypothesis import given
from hypothesis import strategies as st

from pricing.cash_flow import (
    discounted_payback,
    monthly_rate,
    npv,
    payback,
    profitability_index,
    sign_changes,
    yearly_rate,
)
from pricing.estimates.internal_rate import count_roots, internal_rates

PROJECT = [-40_000, 5_000, 8_000, 12_000, 30_000]
DATES = [date(2026, month, 1) for month in range(1, 6)]
flows = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


def test_npv_leaves_flow_0_undiscounted():
    """3,065.2226682 at 8 %, as numpy-financial and pyxirr say."""
    assert npv(0.08, PROJECT) == pytest.approx(3065.2226682, abs=1e-6)


def test_npv_of_a_spreadsheet_discounts_the_first_value():
    """Excel's NPV() of the same values: 2,838.1691372."""
    assert npv(0.08, [0, *PROJECT]) == pytest.approx(2838.1691372, abs=1e-6)


@given(st.floats(-0.5, 2), flows)
def test_npv_equals_the_library(rate, values):
    """pyxirr.npv is an independent implementation."""
    assert npv(rate, values) == pytest.approx(pyxirr.npv(rate, values), rel=1e-9, abs=1e-3)


def test_payback_is_linear_inside_the_period():
    """By hand: −100, 40, 40, 40: after 2 periods 20 are open, half of the third."""
    assert payback([-100, 40, 40, 40]) == 2.5
    assert discounted_payback(0.0, [-100, 40, 40, 40]) == 2.5


def test_payback_that_never_or_at_once_happens():
    """None: never; 0: nothing was invested."""
    assert payback([-100, 10]) is None
    assert payback([0, 5]) == 0
    assert payback([]) is None


def test_profitability_index_needs_an_investment():
    """1 + NPV / investment: (100 + 10) / 100; without investment there is no index."""
    assert profitability_index(0.0, [-100, 110]) == pytest.approx(1.1)
    assert profitability_index(0.0, [0, 110]) is None
    assert profitability_index(0.0, []) is None


def test_rates_of_year_and_month_are_inverse():
    """1.1^(1/12) − 1 = 0.007974140428903764 (economics.md §4.2)."""
    assert monthly_rate(0.1) == pytest.approx(0.007974140428903764, rel=1e-13)
    assert yearly_rate(monthly_rate(0.1)) == pytest.approx(0.1)


def test_sign_changes_skip_zeros():
    """−, 0, +, − has two."""
    assert sign_changes([-1, 0, 2, -3]) == 2
    assert sign_changes([0, 0]) == 0


def test_conventional_series_has_its_rate():
    """IRR(−100, 39, 59, 55, 20) = 28.09484212 % per period."""
    rates = internal_rates([-100, 39, 59, 55, 20], DATES, rate_per_month=0.01)
    assert rates.irr_month == pytest.approx(0.28094842115996066, rel=1e-12)
    assert rates.finding is None


def test_xirr_of_the_spreadsheet_example():
    """−10,000 on 2008-01-01 …: XIRR 0.3733625335, Microsoft's documented example."""
    dates = [
        date(2008, 1, 1), date(2008, 3, 1), date(2008, 10, 30), date(2009, 2, 15),
        date(2009, 4, 1),
    ]  # fmt: skip
    rates = internal_rates([-10_000, 2_750, 4_250, 3_250, 2_750], dates, rate_per_month=0.01)
    assert rates.xirr == pytest.approx(0.3733625335095556, abs=1e-9)


def test_no_sign_change_has_no_rate():
    """Only costs: no rate, and the finding says why."""
    rates = internal_rates([-1, -2, -3], DATES[:3], rate_per_month=0.01)
    assert rates.irr_month is rates.xirr is None
    assert rates.finding == "no internal rate: the flows never change sign"


def test_several_rates_are_withheld_and_flagged():
    """−1,600, 10,000, −10,000: 25 % and 400 % both solve it; neither is shown."""
    series = [-1_600, 10_000, -10_000]
    assert [npv(rate, series) for rate in (0.25, 4.0)] == pytest.approx([0, 0], abs=1e-9)
    rates = internal_rates(series, DATES[:3], rate_per_month=0.1)
    assert rates.irr_month is None
    assert "2 rates solve them" in rates.finding


def test_one_rate_of_an_unconventional_series_is_flagged():
    """Two sign changes but one root: given, with the remark."""
    series = [-100, 300, -1]
    assert count_roots(series) == 1
    rates = internal_rates(series, DATES[:3], rate_per_month=0.1)
    assert npv(rates.irr_month, series) == pytest.approx(0, abs=1e-6)
    assert "one rate solves them" in rates.finding


def test_modified_rate():
    """MIRR(−100, 39, 59, 55, 20; 10 %, 12 %) = 0.2043767375; ours finances at one rate."""
    assert pyxirr.mirr([-100, 39, 59, 55, 20], 0.1, 0.12) == pytest.approx(0.2043767375)
    rates = internal_rates([-100, 39, 59, 55, 20], DATES, rate_per_month=0.1)
    expected = yearly_rate(pyxirr.mirr([-100, 39, 59, 55, 20], 0.1, 0.1))
    assert rates.mirr_year == pytest.approx(expected)


def test_finance_vectors(shared):
    """facts/vectors.json: finance.xirr, xnpv9, irr, pmt."""
    row = json.loads((shared / "facts/vectors.json").read_text())["finance"]
    dates = [
        date(2008, 1, 1), date(2008, 3, 1), date(2008, 10, 30), date(2009, 2, 15),
        date(2009, 4, 1),
    ]  # fmt: skip
    series = [-10_000, 2_750, 4_250, 3_250, 2_750]
    assert internal_rates(series, dates, rate_per_month=0.01).xirr == pytest.approx(row["xirr"])
    by_year = sum(
        flow / 1.09 ** ((day - dates[0]).days / 365)
        for flow, day in zip(series, dates, strict=True)
    )
    assert by_year == pytest.approx(row["xnpv9"], abs=1e-9)
    found = internal_rates([-100, 39, 59, 55, 20], DATES, rate_per_month=0.1)
    assert found.irr_month == pytest.approx(row["irr"], rel=1e-12)
