"""Windows that a person asks for, in a billing zone; half-open, on whole UTC hours."""

from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final
from zoneinfo import ZoneInfo

HOUR: Final = timedelta(hours=1)
PRESETS: Final = ("today", "month", "last_month", "30d", "custom")
HOURLY_UNTIL: Final = timedelta(days=8)  # longer windows are drawn by day


@dataclass(frozen=True, slots=True)
class Period:
    """[start_at, end_at) in UTC. elapsed_until: end_at, or now while the window still runs."""

    start_at: datetime
    end_at: datetime
    elapsed_until: datetime

    @property
    def running(self) -> bool:
        """Whether tokens may still arrive in it."""
        return self.elapsed_until < self.end_at

    @property
    def seconds_elapsed(self) -> float:
        """How much of it has passed, at least a second."""
        return max((self.elapsed_until - self.start_at).total_seconds(), 1.0)

    @property
    def interval(self) -> str:
        """Hour or day: how a chart of it is cut."""
        return "hour" if self.elapsed_until - self.start_at <= HOURLY_UNTIL else "day"


def usable_zone(name: str | None) -> ZoneInfo:
    """The zone called `name` if its days begin on whole UTC hours, else UTC."""
    try:
        zone = ZoneInfo(name or "UTC")
        offset = datetime(2026, 1, 1, tzinfo=zone).utcoffset() or timedelta()
    except (KeyError, ValueError, OSError):
        return ZoneInfo("UTC")
    return zone if offset % HOUR == timedelta() else ZoneInfo("UTC")


def day_start(day: date, zone: ZoneInfo) -> datetime:
    """Midnight of `day` in `zone`, as UTC."""
    return datetime.combine(day, time(), zone).astimezone(UTC)


def period_of(
    preset: str, *, now: datetime, zone: ZoneInfo, chosen: tuple[date, date] | None = None
) -> Period:
    """The window called `preset` at `now`; chosen: first and last day of a custom one."""
    today = now.astimezone(zone).date()
    first = today.replace(day=1)
    if preset == "custom" and chosen:
        return _period(chosen[0], chosen[1] + timedelta(days=1), now=now, zone=zone)
    if preset == "today":
        return _period(today, today + timedelta(days=1), now=now, zone=zone)
    if preset == "30d":
        return _period(today - timedelta(days=29), today + timedelta(days=1), now=now, zone=zone)
    if preset == "last_month":
        before = (first - timedelta(days=1)).replace(day=1)
        return _period(before, first, now=now, zone=zone)
    return _period(first, _next_month(first), now=now, zone=zone)


def period_before(period: Period, preset: str, zone: ZoneInfo) -> Period:
    """What `period` is compared with: the same days of the month before, or as long before it."""
    end = _ceil_hour(period.elapsed_until)
    if preset in ("month", "last_month"):
        first = period.start_at.astimezone(zone).date()
        before = day_start((first - timedelta(days=1)).replace(day=1), zone)
        whole = not period.running
        until = period.start_at if whole else min(before + (end - period.start_at), period.start_at)
        return Period(before, until, until)
    start = period.start_at - (end - period.start_at)
    if preset in ("today", "30d", "custom"):
        days = max(1, -(-(end - period.start_at) // timedelta(days=1)))
        start = day_start(period.start_at.astimezone(zone).date() - timedelta(days=days), zone)
    until = min(start + (end - period.start_at), period.start_at)
    return Period(start, until, until)


def _period(first: date, after: date, *, now: datetime, zone: ZoneInfo) -> Period:
    start, end = day_start(first, zone), day_start(after, zone)
    return Period(start, end, max(min(now, end), start))


def _next_month(first: date) -> date:
    return (first + timedelta(days=32)).replace(day=1)


def _ceil_hour(at: datetime) -> datetime:
    floor = at.replace(minute=0, second=0, microsecond=0)
    return floor if floor == at else floor + HOUR
