"""Half-open UTC windows, and hours, days and months cut in a zone (docs/architecture.md, V9)."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

MONTHS_PER_YEAR = 12


@dataclass(frozen=True, slots=True)
class Window:
    """Half-open UTC interval [start_at, end_at)."""

    start_at: datetime
    end_at: datetime

    def __post_init__(self) -> None:
        for name in ("start_at", "end_at"):
            at = getattr(self, name)
            if at.utcoffset() != timedelta(0):
                raise ValueError(f"{name} must be an aware UTC time, got {at!r}")
        if self.end_at < self.start_at:
            raise ValueError(f"end_at {self.end_at} lies before start_at {self.start_at}")

    def seconds(self) -> float:
        """Length in seconds."""
        return (self.end_at - self.start_at).total_seconds()

    def microseconds(self) -> int:
        """Length in whole microseconds, exact."""
        return (self.end_at - self.start_at) // timedelta(microseconds=1)

    def contains(self, at: datetime) -> bool:
        """Whether the UTC time `at` lies inside: start inclusive, end exclusive."""
        return self.start_at <= at < self.end_at


def _local_midnight(day: date, zone: ZoneInfo) -> datetime:
    """UTC instant at which `day` begins in `zone`; a skipped midnight begins after the gap."""
    return datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)


def day_window(day: date, zone: ZoneInfo) -> Window:
    """The UTC window of a local calendar day: 23, 24 or 25 hours where clocks change."""
    return Window(_local_midnight(day, zone), _local_midnight(day + timedelta(days=1), zone))


def next_month(month: date) -> date:
    """First day of the month after that of `month`."""
    years, index = divmod(month.month, MONTHS_PER_YEAR)
    return date(month.year + years, index + 1, 1)


def month_window(month: date, zone: ZoneInfo) -> Window:
    """The UTC window of the local month that contains the date `month`."""
    first = month.replace(day=1)
    return Window(_local_midnight(first, zone), _local_midnight(next_month(first), zone))


def parse_month(text: str) -> date:
    """First day of a month written as YYYY-MM.

    Raises ValueError, with the expected form, for anything else.
    """
    try:
        parsed = datetime.strptime(text, "%Y-%m").replace(tzinfo=UTC).date()
    except ValueError as error:
        raise ValueError(
            f"expected a month as YYYY-MM, for example 2026-10; got {text!r}"
        ) from error
    return parsed


def month_of(at: datetime, zone: ZoneInfo) -> date:
    """First day of the local month in which the UTC time `at` lies."""
    return at.astimezone(zone).date().replace(day=1)


def hours(window: Window) -> Iterator[Window]:
    """Whole UTC hours that overlap `window`, in order."""
    start = window.start_at.replace(minute=0, second=0, microsecond=0)
    while start < window.end_at:
        yield Window(start, start + timedelta(hours=1))
        start += timedelta(hours=1)


def days(window: Window, zone: ZoneInfo) -> Iterator[tuple[date, Window]]:
    """Local days of `zone` that overlap `window`, with their UTC windows, in order."""
    day = window.start_at.astimezone(zone).date()
    while (span := day_window(day, zone)).start_at < window.end_at:
        yield day, span
        day += timedelta(days=1)


def parse_time(text: str) -> datetime:
    """An ISO 8601 time with zone as aware UTC.

    Raises ValueError for a time without zone or with more precision than a microsecond can hold.
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise ValueError(
            f"expected an ISO 8601 time such as 2026-06-01T00:00:00Z, got {text!r}"
        ) from error
    if at.utcoffset() is None:
        raise ValueError(f"a time needs a zone, for example {text}Z for UTC; got {text!r}")
    return at.astimezone(UTC)
