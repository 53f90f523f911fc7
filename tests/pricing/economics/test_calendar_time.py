"""Seconds in service on the real calendar: leap years, clock changes, fleets that change."""

import csv
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from metering.windows import Window, day_window, month_window
from pricing.calendar_time import (
    ServicePeriod,
    asset_month,
    length_hours,
    month_shares,
    months_after,
    seconds_in_service,
    server_seconds,
)

SHANGHAI = ZoneInfo("Asia/Shanghai")
BERLIN = ZoneInfo("Europe/Berlin")


def utc(text: str) -> datetime:
    """A UTC time from ISO text."""
    return datetime.fromisoformat(text).astimezone(UTC)


def test_partial_month_in_shanghai():
    """economics.md §1.4: from 2026-08-20 09:30 to the month's end 1,002,600 s."""
    august = month_window(date(2026, 8, 1), SHANGHAI)
    assert seconds_in_service([ServicePeriod(utc("2026-08-20T09:30+08:00"))], august) == 1_002_600


def test_clock_changes_make_days_of_23_and_25_hours():
    """Berlin 2026: 29 March has 23 hours, 25 October 25; a leap February has 696."""
    assert length_hours(day_window(date(2026, 3, 29), BERLIN)) == 23
    assert length_hours(day_window(date(2026, 10, 25), BERLIN)) == 25
    assert length_hours(month_window(date(2028, 2, 1), SHANGHAI)) == 29 * 24


def test_a_server_that_pauses():
    """By hand: 10 h and 5 h in a day, out of service between them."""
    day = day_window(date(2026, 5, 1), SHANGHAI)
    start = day.start_at
    periods = [
        ServicePeriod(start - timedelta(hours=5), start + timedelta(hours=10)),
        ServicePeriod(start + timedelta(hours=19), None),
    ]
    assert seconds_in_service(periods, day) == 15 * 3600


def test_overlapping_periods_are_refused():
    """A server cannot be there twice; the message names the stretch."""
    day = day_window(date(2026, 5, 1), SHANGHAI)
    with pytest.raises(ValueError, match="service periods overlap"):
        seconds_in_service([ServicePeriod(day.start_at), ServicePeriod(day.start_at)], day)


def test_month_shares_of_a_window_across_months():
    """16 of 31 days of January and 14 of 28 of February 2026."""
    window = Window(utc("2026-01-16T00:00+08:00"), utc("2026-02-15T00:00+08:00"))
    shares = dict(month_shares(window, SHANGHAI))
    assert shares == {date(2026, 1, 1): Fraction(16, 31), date(2026, 2, 1): Fraction(1, 2)}


def test_a_whole_month_is_one_whatever_its_clock_changes():
    """March in Berlin has 743 hours and still is one month."""
    march = month_window(date(2026, 3, 1), BERLIN)
    assert list(month_shares(march, BERLIN)) == [(date(2026, 3, 1), 1)]


def test_an_empty_window_has_no_share():
    """No time, no charge."""
    at = utc("2026-03-15T00:00+08:00")
    assert list(month_shares(Window(at, at), SHANGHAI)) == []


def test_months_after_keeps_the_last_day():
    """31 January + 1 month = 28 February 2026, + 13 months = 28 February 2027."""
    assert months_after(date(2026, 1, 31), 1) == date(2026, 2, 28)
    assert months_after(date(2026, 1, 31), 25) == date(2028, 2, 29)
    assert months_after(date(2026, 12, 1), 1) == date(2027, 1, 1)


def test_months_of_age_leave_no_gap():
    """An asset in service from the 31st: 12 months end where the next year starts."""
    months = [asset_month(date(2026, 1, 31), index, SHANGHAI) for index in range(12)]
    assert all(a.end_at == b.start_at for a, b in pairwise(months))
    assert months[-1].end_at == utc("2027-01-31T00:00+08:00")


def test_deepseek_node_hours(shared):
    """Step curve read off the published figure: 5,442 node-hours, average 226.75 nodes."""
    path = shared / "data/economics/deepseek_2025-02-27_node_steps_from_figure.csv"
    day = Window(utc("2025-02-27T12:00+08:00"), utc("2025-02-28T12:00+08:00"))
    servers = [
        [ServicePeriod(utc(row["start_utc8"] + "+08:00"), utc(row["end_utc8"] + "+08:00"))]
        for row in csv.DictReader(path.read_text().splitlines())
        for _ in range(int(row["h800_nodes"]))
    ]
    node_hours = server_seconds(servers, day) / 3600
    assert (node_hours, node_hours / 24) == (5442, Fraction("226.75"))
    assert node_hours * 8 * 2 == 87_072  # USD, at $2 per GPU-hour
