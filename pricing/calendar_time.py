"""Time that servers were there: seconds in service, months of the real calendar, anniversaries.

All times are UTC and half-open; months are cut in a zone, so leap years and clock changes are what
they are. Lengths are exact fractions of microseconds (docs/formulas.md §1.3).
"""

from calendar import monthrange
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from zoneinfo import ZoneInfo

from metering.windows import MONTHS_PER_YEAR, Window, month_window, next_month

MICROSECONDS_PER_SECOND = 1_000_000
SECONDS_PER_HOUR = 3_600


@dataclass(frozen=True, slots=True)
class ServicePeriod:
    """One stretch in which a server was provisioned, UTC; end_at None: still in service."""

    start_at: datetime
    end_at: datetime | None = None

    def within(self, window: Window) -> Window | None:
        """The part of this period that lies in `window`, UTC; None if there is none."""
        start = max(self.start_at, window.start_at)
        end = window.end_at if self.end_at is None else min(self.end_at, window.end_at)
        return Window(start, end) if start < end else None


def length_seconds(window: Window) -> Fraction:
    """Length of `window` in seconds, exact."""
    return Fraction(window.microseconds(), MICROSECONDS_PER_SECOND)


def length_hours(window: Window) -> Fraction:
    """Length of `window` in hours, exact: 23, 24 or 25 for a local day where clocks change."""
    return length_seconds(window) / SECONDS_PER_HOUR


def served(periods: Iterable[ServicePeriod], window: Window) -> list[Window]:
    """The stretches of `window` in which one server with these periods was there, in order, UTC.

    Raises ValueError where two periods of the server overlap: it would earn and cost twice.
    """
    parts = [part for period in periods if (part := period.within(window))]
    parts.sort(key=lambda part: part.start_at)
    for before, after in pairwise(parts):
        if after.start_at < before.end_at:
            raise ValueError(
                f"service periods overlap from {after.start_at} to {before.end_at}: "
                f"end the first before the second starts"
            )
    return parts


def seconds_in_service(periods: Iterable[ServicePeriod], window: Window) -> Fraction:
    """Seconds of `window` in which one server was there, exact."""
    return sum((length_seconds(part) for part in served(periods, window)), Fraction(0))


def server_seconds(servers: Iterable[Iterable[ServicePeriod]], window: Window) -> Fraction:
    """Server-seconds provisioned in `window`: ∫ servers dt, whatever came and went."""
    return sum((seconds_in_service(periods, window) for periods in servers), Fraction(0))


def month_shares(window: Window, zone: ZoneInfo) -> Iterator[tuple[date, Fraction]]:
    """Local months of `zone` that `window` touches, with the share (0–1) of each that it covers.

    A charge of 100 a month costs Σ share · 100 in the window; whole months give whole charges.
    """
    month = window.start_at.astimezone(zone).date().replace(day=1)
    while (whole := month_window(month, zone)).start_at < window.end_at:
        part = ServicePeriod(window.start_at, window.end_at).within(whole)
        if part:
            yield month, length_seconds(part) / length_seconds(whole)
        month = next_month(month)


def months_after(start: date, months: int) -> date:
    """The date `months` months later; the last day where that month is too short."""
    years, index = divmod(start.month - 1 + months, MONTHS_PER_YEAR)
    year, month = start.year + years, index + 1
    return date(year, month, min(start.day, monthrange(year, month)[1]))


def months_between(start: date, end: date) -> int:
    """Calendar months from the month of `start` to that of `end`, whatever the days."""
    return (end.year - start.year) * MONTHS_PER_YEAR + end.month - start.month


@lru_cache(maxsize=4096)
def asset_month(start: date, index: int, zone: ZoneInfo) -> Window:
    """The UTC window of the month of age `index` (0-based) of an asset in service from `start`."""
    first, last = (
        datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
        for day in (months_after(start, index), months_after(start, index + 1))
    )
    return Window(first, last)
