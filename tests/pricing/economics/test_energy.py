"""Electricity: power × PUE × tariff by hour, on real local days."""

from datetime import UTC, date, datetime, time, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metering.windows import Window, day_window, month_window
from pricing.energy import (
    PowerDraw,
    Tariff,
    TariffBand,
    mean_price_per_kwh,
    measured_cost,
    nameplate_cost,
)

SHANGHAI = ZoneInfo("Asia/Shanghai")
BERLIN = ZoneInfo("Europe/Berlin")
FLAT = Tariff(price_per_kwh=Fraction("0.65"), zone=SHANGHAI)
NIGHT = Tariff(
    price_per_kwh=1, zone=SHANGHAI, bands=(TariffBand(time(22), time(6), Fraction("0.4")),)
)


def draw(tariff: Tariff, *, kw: int = 8) -> PowerDraw:
    """SYNTH-1's server: 8 kW, 75 % load, PUE 1.25."""
    return PowerDraw(rated_kw=kw, load_factor=Fraction("0.75"), pue=Fraction("1.25"), tariff=tariff)


def test_synth_1_month():
    """8 · 0.75 · 1.25 · 0.65 · 720 h = 3,510.00 CNY (economics.md §4.2)."""
    september = month_window(date(2026, 9, 1), SHANGHAI)
    assert nameplate_cost(draw(FLAT), september) == 3510


def test_night_band_crosses_midnight():
    """8 of 24 hours at 0.4, the rest at 1: mean 0.8; 23:00–01:00 is all night."""
    assert mean_price_per_kwh(NIGHT, day_window(date(2026, 9, 1), SHANGHAI)) == Fraction("0.8")
    late = datetime(2026, 9, 1, 15, tzinfo=UTC)  # 23:00 in Shanghai
    assert mean_price_per_kwh(NIGHT, Window(late, late + timedelta(hours=2))) == Fraction("0.4")


def test_clock_change_moves_the_band():
    """Berlin, 29 March 2026: 23 hours, the night band 22–06 loses one of its eight."""
    tariff = Tariff(price_per_kwh=1, zone=BERLIN, bands=(TariffBand(time(22), time(6), 0),))
    spring = day_window(date(2026, 3, 29), BERLIN)
    assert mean_price_per_kwh(tariff, spring) == Fraction(16, 23)


def test_half_hour_band_in_a_utc_hour():
    """A band from 00:30 local halves its first UTC hour."""
    tariff = Tariff(
        price_per_kwh=1, zone=SHANGHAI, bands=(TariffBand(time(0, 30), time(8, 30), 0),)
    )
    start = datetime(2026, 9, 1, 16, tzinfo=UTC)  # 00:00 on 2 September
    assert mean_price_per_kwh(tariff, Window(start, start + timedelta(hours=1))) == Fraction(1, 2)


def test_measured_hours_replace_the_nameplate():
    """One hour measured at 3.6 MJ = 1 kWh, one without a sample: 1.25 + 7.5 kWh at 0.65."""
    start = datetime(2026, 9, 1, tzinfo=UTC)
    window = Window(start, start + timedelta(hours=2))
    cost = measured_cost(draw(FLAT), {start: 3_600_000}, window)
    assert cost == Fraction("0.65") * (Fraction("1.25") + Fraction("7.5"))


def test_a_cut_hour_counts_its_covered_share():
    """Half of a measured hour is half of its energy."""
    start = datetime(2026, 9, 1, tzinfo=UTC)
    half = Window(start, start + timedelta(minutes=30))
    whole = Window(start, start + timedelta(hours=1))
    joules = {start: 3_600_000}
    assert measured_cost(draw(FLAT), joules, half) * 2 == measured_cost(draw(FLAT), joules, whole)


def test_an_empty_window_costs_nothing():
    """No time, no energy; its mean price is the base price."""
    at = datetime(2026, 9, 1, 0, 30, tzinfo=UTC)
    assert measured_cost(draw(NIGHT), {}, Window(at, at)) == 0
    assert mean_price_per_kwh(NIGHT, Window(at, at)) == 1


@given(st.integers(0, 24 * 60 * 10), st.integers(1, 24 * 60 * 10), st.integers(1, 24 * 60 * 10))
def test_cost_adds_up_over_windows(offset, first, second):
    """Property: nameplate cost of adjoining windows is that of both together."""
    start = datetime(2026, 3, 25, tzinfo=UTC) + timedelta(minutes=offset)
    middle = start + timedelta(minutes=first)
    end = middle + timedelta(minutes=second)
    tariff = Tariff(price_per_kwh=1, zone=BERLIN, bands=NIGHT.bands)
    parts = [nameplate_cost(draw(tariff), Window(*w)) for w in ((start, middle), (middle, end))]
    assert sum(parts) == nameplate_cost(draw(tariff), Window(start, end))


def test_overlapping_bands_are_refused():
    """22–06 and 05–07 would give 05:30 two prices."""
    with pytest.raises(ValueError, match="overlap"):
        Tariff(
            price_per_kwh=1,
            zone=SHANGHAI,
            bands=(TariffBand(time(22), time(6), 1), TariffBand(time(5), time(7), 2)),
        )


@pytest.mark.parametrize(
    ("change", "message"),
    [({"pue": 0}, "pue"), ({"load_factor": 2}, "load_factor"), ({"rated_kw": -1}, "rated_kw")],
)
def test_impossible_power_is_refused(change, message):
    """A PUE below 1 or a load above the nameplate cannot be."""
    with pytest.raises(ValueError, match=message):
        PowerDraw(**({"rated_kw": 1, "load_factor": 1, "pue": 1, "tariff": FLAT} | change))


def test_bands_start_on_whole_minutes():
    """Seconds in a band edge are a typing mistake."""
    with pytest.raises(ValueError, match="whole minute"):
        Tariff(price_per_kwh=1, zone=SHANGHAI, bands=(TariffBand(time(1, 0, 1), time(2), 1),))
