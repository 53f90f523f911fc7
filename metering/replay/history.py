"""History: a workload spread over past days, busy by day, quiet at night and at weekends."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import accumulate
from typing import Final

from metering.errors import ConfigInvalid
from metering.replay.request import Source, TraceRequest

HISTORY_DAYS_MAX: Final = 390  # the collector refuses what is older than 400 days
SECONDS_PER_HOUR: Final = 3600
HOURS_PER_DAY: Final = 24
SATURDAY: Final = 5
WEEKEND_LOAD: Final = 0.55
NIGHT_LOAD: Final = (0.45, 0.34, 0.26, 0.21, 0.19, 0.21, 0.28, 0.42)  # 1 at the peak
DAY_LOAD: Final = (0.65, 0.85, 0.95, 0.97, 0.82, 0.86, 0.97, 1.00)
EVENING_LOAD: Final = (0.99, 0.93, 0.80, 0.74, 0.78, 0.79, 0.72, 0.58)
OUTAGE_HOURS: Final = 6  # how long a cluster stands still in an outage
HOURLY_LOAD: Final = (*NIGHT_LOAD, *DAY_LOAD, *EVENING_LOAD)  # by local hour


class DailyCurve:
    """Where a share of the whole load falls in time, over the `days` days that end at `ends_at`.

    outage_hours_ago: so long before the end nothing is served for OUTAGE_HOURS.
    """

    def __init__(
        self,
        days: int,
        ends_at: datetime,
        zone: tzinfo | None,
        *,
        outage_hours_ago: int | None = None,
    ) -> None:
        if not 1 <= days <= HISTORY_DAYS_MAX:
            raise ConfigInvalid(
                f"history: expected 1..{HISTORY_DAYS_MAX} days, found {days}. Pass --history-days "
                "within that."
            )
        start = ends_at.astimezone(UTC) - timedelta(days=days)
        hours = range(days * HOURS_PER_DAY)
        loads = [_load((start + timedelta(hours=hour)).astimezone(zone)) for hour in hours]
        if outage_hours_ago is not None:
            if not OUTAGE_HOURS < outage_hours_ago < len(loads):
                raise ConfigInvalid(
                    f"outage: expected more than {OUTAGE_HOURS} and less than {len(loads)} hours "
                    f"ago, found {outage_hours_ago}. Pass --outage-hours-ago within that."
                )
            first = len(loads) - outage_hours_ago
            loads[first : first + OUTAGE_HOURS] = [0.0] * OUTAGE_HOURS
        self._until = list(accumulate(loads, initial=0.0))

    def seconds_at(self, share: float) -> float:
        """Seconds after the history's beginning by which `share` (0–1) of the load has come."""
        load = share * self._until[-1]
        hour = min(bisect_right(self._until, load), len(self._until) - 1) - 1
        within = (load - self._until[hour]) / (self._until[hour + 1] - self._until[hour])
        return (hour + within) * SECONDS_PER_HOUR


def spread(source: Source, curve: DailyCurve) -> Source:
    """`source` stretched along `curve`; the order of its requests stays."""
    end_seconds = max((request.arrival_seconds for request in source()), default=0.0) or 1.0

    def stretched() -> Iterator[TraceRequest]:
        for request in source():
            share = request.arrival_seconds / end_seconds
            yield replace(request, arrival_seconds=curve.seconds_at(share))

    return stretched


def _load(local: datetime) -> float:
    return HOURLY_LOAD[local.hour] * (WEEKEND_LOAD if local.weekday() >= SATURDAY else 1.0)
