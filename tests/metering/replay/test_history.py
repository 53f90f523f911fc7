"""History: a day's shape, weekends, the end at now."""

from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise

import pytest

from metering.errors import ConfigInvalid
from metering.replay.history import HOURLY_LOAD, DailyCurve, spread
from tests.metering.replay.parts import steady

MONDAY = datetime(2026, 8, 17, tzinfo=UTC)
HOUR = 3600.0


def arrivals(count: int, curve: DailyCurve) -> list[float]:
    return [request.arrival_seconds for request in spread(steady(count), curve)()]


def test_the_whole_load_fills_the_whole_time():
    """By hand: nothing has come at 0, all of it after two days."""
    curve = DailyCurve(2, MONDAY + timedelta(days=2), UTC)
    assert (curve.seconds_at(0.0), curve.seconds_at(1.0)) == (0.0, pytest.approx(48 * HOUR))


def test_an_hour_has_its_part_of_the_day():
    """By hand: of a day's 15.76 peak hours the first has 0.45, so 0.45/15.76 of the load is over
    at 01:00."""
    curve = DailyCurve(1, MONDAY + timedelta(days=1), UTC)
    assert sum(HOURLY_LOAD) == pytest.approx(15.76)
    assert curve.seconds_at(0.45 / 15.76) == pytest.approx(HOUR)


def test_order_stays_and_the_day_is_busier_than_the_night():
    """By hand: 13:00–17:00 has 3.82 peak hours of load, 01:00–05:00 has 1.00."""
    times = arrivals(3000, DailyCurve(1, MONDAY + timedelta(days=1), UTC))
    assert times == sorted(times)
    night = sum(HOUR <= t < 5 * HOUR for t in times)
    day = sum(13 * HOUR <= t < 17 * HOUR for t in times)
    assert day / night == pytest.approx(3.82, rel=0.02)


def test_a_weekend_is_quiet():
    """By hand: 2 of 7 days at 0.55: 1.1 of 6.1 days' load."""
    times = arrivals(6100, DailyCurve(7, MONDAY + timedelta(days=7), UTC))
    assert sum(t >= 5 * 24 * HOUR for t in times) == pytest.approx(1100, abs=2)


def test_hours_are_those_of_the_zone():
    """Shanghai's peak at 15:00 is 07:00 UTC."""
    shanghai = timezone(timedelta(hours=8))
    times = arrivals(3000, DailyCurve(1, MONDAY + timedelta(days=1), shanghai))
    by_hour = [sum(h * HOUR <= t < (h + 1) * HOUR for t in times) for h in range(24)]
    assert by_hour.index(max(by_hour)) == 7


def test_requests_of_one_moment_can_be_spread():
    """A trace without duration falls on the beginning, in its order."""
    times = [r.arrival_seconds for r in spread(steady(3, 0.0), DailyCurve(1, MONDAY, UTC))()]
    assert all(a <= b for a, b in pairwise(times))


@pytest.mark.parametrize("days", [0, 391])
def test_days_are_bounded(days: int):
    """The collector refuses what is older than 400 days."""
    with pytest.raises(ConfigInvalid, match="--history-days"):
        DailyCurve(days, MONDAY, UTC)


def test_an_outage_is_a_gap_of_six_hours():
    """Nothing comes from 20 to 14 hours before the end; the load of the rest stays whole."""
    curve = DailyCurve(2, MONDAY + timedelta(days=2), UTC, outage_hours_ago=20)
    times = arrivals(4800, curve)
    assert len(times) == 4800
    assert not [t for t in times if 28 * HOUR < t < 34 * HOUR]
    assert [t for t in times if 27 * HOUR < t < 28 * HOUR]


@pytest.mark.parametrize("hours_ago", [6, 48])
def test_an_outage_lies_within_the_history(hours_ago: int):
    """It must be over before the end and begin after the beginning."""
    with pytest.raises(ConfigInvalid, match="--outage-hours-ago"):
        DailyCurve(2, MONDAY, UTC, outage_hours_ago=hours_ago)
