"""Depreciation and economic charge: SYNTH-1 of facts/economics.md §4.2, published figures."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metering.windows import Window, month_window
from pricing.calendar_time import asset_month
from pricing.capital import (
    Asset,
    Method,
    annuity,
    capital_charge,
    capital_recovery_factor,
    double_declining,
    monthly_charges,
    monthly_rate,
    straight_line,
    sum_of_years,
)

SHANGHAI = ZoneInfo("Asia/Shanghai")
SYNTH = Asset(purchase=2_695_000, residual=125_000, life_months=60, wacc=Decimal("0.1"))


def with_method(method: Method) -> Asset:
    """SYNTH-1's server under another method."""
    return Asset(
        purchase=2_695_000, residual=125_000, life_months=60, method=method, wacc=Decimal("0.1")
    )


def test_straight_line():
    """(2,695,000 − 125,000) / 60 = 42,833.33."""
    assert straight_line(SYNTH) == Fraction(2_570_000, 60)


def test_sum_of_years():
    """economics.md §4.2: 856,666.67 / 685,333.33 / 514,000 / 342,666.67 / 171,333.33."""
    years = [float(charge) for charge in sum_of_years(SYNTH)]
    assert years == pytest.approx([856_666.67, 685_333.33, 514_000, 342_666.67, 171_333.33])
    assert sum(sum_of_years(SYNTH)) == 2_570_000


def test_double_declining_changes_to_straight_line():
    """economics.md §4.2: 1,078,000 / 646,800 / 388,080 / 228,560 / 228,560."""
    assert double_declining(SYNTH) == [1_078_000, 646_800, 388_080, 228_560, 228_560]


def test_monthly_rate_and_recovery_factor():
    """m = 1.1^(1/12) − 1 and CRF over 60 months, economics.md §4.2."""
    rate = monthly_rate(Decimal("0.1"))
    assert float(rate) == pytest.approx(0.007974140428903764, rel=1e-14)
    assert float(capital_recovery_factor(rate, 60)) == pytest.approx(0.021035581566483382)
    assert capital_recovery_factor(Decimal(0), 4) == Decimal("0.25")


def test_annuity_is_dearer_than_straight_line_by_the_cost_of_capital():
    """55,058.21217947527 a month: 12,224.88 above the straight line."""
    assert float(annuity(SYNTH)) == pytest.approx(55058.21217947527, abs=1e-9)
    assert float(annuity(SYNTH)) - float(straight_line(SYNTH)) == pytest.approx(
        12_224.88, abs=0.005
    )


def test_token_factory_stack():
    """economics.md §2i: $34,698 at 13.3 % over 4 years: 11,738.06 a year, $1.33996 per hour."""
    yearly = 34_698 * capital_recovery_factor(Decimal("0.133"), 4)
    assert float(yearly) == pytest.approx(11_738.058420913281, abs=1e-8)
    assert float(yearly) / 8760 == pytest.approx(1.33996, abs=5e-6)


@pytest.mark.parametrize(("years", "per_hour"), [(3, 1.8471), (4, 1.5170), (5, 1.3190)])
def test_simple_interest_per_hour(years, per_hour):
    """economics.md §2i, simple interest on the whole price: 34,698·(1 + 0.133·years)/hours."""
    assert 34_698 * (1 + 0.133 * years) / (years * 8760) == pytest.approx(per_hour, abs=5e-5)


@given(
    method=st.sampled_from([Method.STRAIGHT_LINE, Method.SUM_OF_YEARS, Method.DOUBLE_DECLINING]),
    years=st.integers(1, 10),
    purchase=st.integers(0, 10**9),
    kept=st.integers(0, 100),
)
def test_every_schedule_ends_at_the_residual(method, years, purchase, kept):
    """Σ charges = purchase − residual, and no charge is negative."""
    residual = Fraction(purchase * kept, 100)
    asset = Asset(purchase=purchase, residual=residual, life_months=12 * years, method=method)
    charges = monthly_charges(asset)
    assert len(charges) == 12 * years
    assert sum(charges) == purchase - residual
    assert min(charges) >= 0


@pytest.mark.parametrize("method", list(Method))
def test_charges_of_calendar_months(method):
    """In service on the first of a month: each calendar month is charged its own schedule entry."""
    asset, start = with_method(method), date(2026, 9, 1)
    for index in (0, 1, 12, 59):
        window = asset_month(start, index, SHANGHAI)
        charge = capital_charge(asset, in_service=start, window=window, zone=SHANGHAI)
        assert charge == monthly_charges(asset)[index]


@given(st.integers(0, 24 * 40), st.integers(0, 24 * 40))
def test_charges_add_up_over_windows(first, second):
    """Property: the charge of two adjoining windows is the charge of both together."""
    start = datetime(2026, 2, 11, 7, tzinfo=UTC)
    middle, end = (start + timedelta(hours=h) for h in (first, first + second))

    def charge(window: Window) -> Fraction:
        return capital_charge(SYNTH, in_service=date(2026, 1, 31), window=window, zone=SHANGHAI)

    parts = charge(Window(start, middle)) + charge(Window(middle, end))
    assert parts == charge(Window(start, end))


def test_nothing_before_and_after_the_life():
    """A month before it came and a month after its 60th cost nothing."""
    for month in (date(2026, 8, 1), date(2031, 9, 1)):
        window = month_window(month, SHANGHAI)
        assert capital_charge(SYNTH, in_service=date(2026, 9, 1), window=window, zone=SHANGHAI) == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"life_months": 0}, "life_months"),
        ({"residual": 2}, "residual"),
        ({"method": Method.ANNUITY}, "needs wacc"),
        ({"method": Method.SUM_OF_YEARS}, "whole years"),
    ],
)
def test_impossible_assets_are_refused(change, message):
    """Each message says which value and what it needs."""
    with pytest.raises(ValueError, match=message):
        Asset(**({"purchase": 1, "life_months": 7} | change))


def test_an_annuity_without_a_rate_is_refused():
    """The economic charge of an asset kept at straight line needs a rate to be asked for."""
    with pytest.raises(ValueError, match="needs wacc"):
        annuity(Asset(purchase=1, life_months=12))
