"""Windows and filters: what the URL says, on whole hours of the billing zone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from dashboard.filters import filters_of, view_of
from dashboard.periods import HOUR, PRESETS, period_before, period_of, usable_zone

SHANGHAI = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 3, 15, 4, 20, tzinfo=UTC)  # 12:20 of the 15th in Shanghai


def at(text):
    """A time of Shanghai as UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=SHANGHAI).astimezone(UTC)


def test_a_month_begins_at_midnight_of_the_zone():
    """March of Shanghai begins on 28 February, 16:00 UTC."""
    period = period_of("month", now=NOW, zone=SHANGHAI)
    assert period.start_at == datetime(2026, 2, 28, 16, tzinfo=UTC)
    assert period.end_at == at("2026-04-01")
    assert period.elapsed_until == NOW


def test_the_month_before_ends_at_the_same_hour():
    """14 days and 13 begun hours of March stand against as much of February."""
    period = period_of("month", now=NOW, zone=SHANGHAI)
    before = period_before(period, "month", SHANGHAI)
    assert (before.start_at, before.end_at) == (at("2026-02-01"), at("2026-02-15T13:00"))


def test_a_longer_month_is_compared_with_all_of_a_shorter_one():
    """On 31 March the 28 days of February are all there is."""
    period = period_of("month", now=at("2026-03-31T12:00"), zone=SHANGHAI)
    assert period_before(period, "month", SHANGHAI).end_at == at("2026-03-01")


def test_last_month_is_over_and_compared_whole():
    """February against January."""
    period = period_of("last_month", now=NOW, zone=SHANGHAI)
    before = period_before(period, "last_month", SHANGHAI)
    assert not period.running
    assert (before.start_at, before.end_at) == (at("2026-01-01"), at("2026-02-01"))


def test_today_is_compared_with_yesterday_by_this_hour():
    """12:20 begins the 13th hour."""
    period = period_of("today", now=NOW, zone=SHANGHAI)
    before = period_before(period, "today", SHANGHAI)
    assert (before.start_at, before.end_at) == (at("2026-03-14"), at("2026-03-14T13:00"))


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "custom"])
@pytest.mark.parametrize("zone", ["Asia/Shanghai", "Europe/Berlin", "America/New_York", "UTC"])
def test_edges_are_whole_hours_and_do_not_overlap(preset, zone):
    """The API keeps usage by the hour and refuses other edges (also around a clock change)."""
    for day in (15, 28, 29, 30, 31):
        now = datetime(2026, 3, day, 4, 20, tzinfo=UTC)
        period = period_of(preset, now=now, zone=ZoneInfo(zone))
        before = period_before(period, preset, ZoneInfo(zone))
        edges = (period.start_at, period.end_at, before.start_at, before.end_at)
        assert not any((edge - NOW.replace(minute=0)) % HOUR for edge in edges)
        assert before.start_at < before.end_at <= period.start_at


def test_zones_off_the_hour_are_shown_in_utc():
    """India is 5½ hours from UTC: the house's usage cannot be cut there."""
    assert usable_zone("Asia/Kolkata").key == "UTC"
    assert usable_zone("Nowhere/Town").key == "UTC"
    assert usable_zone("../etc/passwd").key == "UTC"
    assert usable_zone("Asia/Shanghai").key == "Asia/Shanghai"


@pytest.mark.parametrize(
    ("params", "right"),
    [
        ({"window": "month", "compare": "before"}, {}),  # the defaults are not repeated
        ({"window": "nonsense"}, {}),
        ({"window": "custom", "from": "2026-03-02", "to": "2026-03-01"}, {}),
        ({"window": "custom", "from": "0001-01-01", "to": "0001-01-02"}, {}),
        ({"window": "custom", "from": "2020-01-01", "to": "2026-01-01"}, {}),  # over 3 years
        ({"window": "30d", "from": "2026-03-01"}, {"window": "30d"}),
        ({"tenant": "t-alder", "request": "x"}, {"tenant": "t-alder"}),
    ],
)
def test_the_url_is_cleaned(params, right):
    """Nonsense falls back; what is no filter is left to its page."""
    assert view_of(params) == right


def test_a_custom_window_holds_both_days():
    """1 to 2 March are 48 hours."""
    view = {"window": "custom", "from": "2026-03-01", "to": "2026-03-02", "compare": "none"}
    filters = filters_of(view, now=NOW, zone=SHANGHAI)
    assert filters.period.end_at - filters.period.start_at == timedelta(days=2)
    assert filters.before is None
