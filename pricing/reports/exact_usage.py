"""Usage, and what servers earned, cut at any instant, though roll-ups are kept by the hour.

Where a window begins or ends inside an hour, the requests of that hour stand for its buckets: they
may hold usage from both sides, such as that of a tenant of Asia/Kolkata before it was registered.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import duckdb
import pyarrow as pa

from metering.windows import Window
from pricing.runs.statements import run

HOUR: Final = timedelta(hours=1)
MICROSECOND: Final = timedelta(microseconds=1)


def register_exact_usage(
    cursor: duckdb.DuckDBPyConnection, windows: Iterable[Window], *, corrections_after: int
) -> None:
    """The views exact_usage and exact_usage_money for these windows.

    corrections_after: the settle_seq above which corrections can be asked for.
    """
    hours = _cut_hours(windows)
    cursor.register("exact_edge", pa.table({"hour_at": pa.array(hours, pa.timestamp("us"))}))
    run(cursor, "exact_rows")
    run(cursor, "exact_requests", {"after_seq": corrections_after})
    for hour in hours:
        run(cursor, "exact_requests_hour", {"start_at": hour, "end_at": hour + HOUR})
    run(cursor, "exact_usage")
    run(cursor, "priced")
    run(cursor, "exact_usage_money")


def register_window_usage(cursor: duckdb.DuckDBPyConnection, window: Window) -> None:
    """The view exact_usage for one window, whatever corrects closed months in it: its tokens."""
    if _cut_hours([window]):
        register_exact_usage(cursor, [window], corrections_after=-1)
    else:
        run(cursor, "exact_usage_rollups")


def register_window_earned(cursor: duckdb.DuckDBPyConnection, window: Window) -> None:
    """The view exact_earned_money for one window: its money by server, to the instant."""
    start_at, end_at = (at.replace(tzinfo=None) for at in (window.start_at, window.end_at))
    from_at, until_at = _hour_of(start_at + HOUR - MICROSECOND), _hour_of(end_at)
    if (from_at, until_at) == (start_at, end_at):
        run(cursor, "exact_earned_rollups")
        return
    hours = {"from_at": from_at, "until_at": until_at}
    columns = {name: pa.array([at], pa.timestamp("us")) for name, at in hours.items()}
    cursor.register("exact_hours", pa.table(columns))
    run(cursor, "earned_lines")
    run(cursor, "exact_earned", {"start_at": start_at, "end_at": end_at, **hours})
    run(cursor, "priced")
    run(cursor, "exact_earned_money")


def _hour_of(at: datetime) -> datetime:
    return at.replace(minute=0, second=0, microsecond=0)


def _cut_hours(windows: Iterable[Window]) -> list[datetime]:
    edges = {at.replace(tzinfo=None) for each in windows for at in (each.start_at, each.end_at)}
    return sorted({_hour_of(at) for at in edges} - edges)
