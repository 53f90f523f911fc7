"""Usage and money of a window by hour, day or month of a zone (sql/usage_report.sql)."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any, Final
from zoneinfo import ZoneInfo

import duckdb

from metering.windows import Window, days, hours, month_of, month_window, next_month
from pricing.errors import RequestInvalid
from pricing.reports.in_runs import AnswerTooLarge, in_runs
from pricing.reports.rows import read_rows
from pricing.runs.statements import run
from pricing.scope import Scope

ROWS_MAX: Final = 50_000
INTERVALS_MAX: Final = 10_000
Rows = list[dict[str, Any]]
UTC_ZONE: Final = ZoneInfo("UTC")
HOUR: Final = timedelta(hours=1)
QUARTER: Final = timedelta(minutes=15)


class Interval(StrEnum):
    """How a window is cut."""

    NONE = "none"
    HOUR = "hour"
    DAY = "day"
    MONTH = "month"


class Group(StrEnum):
    """What may be told apart; the names are the columns."""

    TENANT = "tenant_id"
    PROJECT = "project_id"
    COST_CENTRE = "cost_centre_id"
    MODEL = "model_id"
    OPERATION = "operation"
    REASON = "reason"
    ENTRY = "entry"
    CONTEXT_TIER = "context_tier"
    BAND = "band"


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageQuery:
    """What is asked. bucket: how long the roll-up's buckets are in this scope, 1 h or 15 min.

    Filters that are None let everything through; the scope is no filter and never None.
    """

    window: Window
    interval: Interval = Interval.NONE
    zone: ZoneInfo = UTC_ZONE
    groups: frozenset[Group] = frozenset()
    bucket: timedelta = HOUR
    project_id: str | None = None
    cost_centre_id: str | None = None
    model_id: str | None = None
    disposition: str | None = None


def usage_in_runs(
    query: UsageQuery, read: Callable[[UsageQuery], Rows]
) -> Iterator[Sequence[dict[str, Any]]]:
    """Rows of the query, however many: a run of intervals at a time. read: rows of a part of it."""
    spans = intervals(query)
    check_edges(query.window, spans, query.bucket)

    def part(run: Sequence[Window]) -> Rows:
        return read(replace(query, window=Window(run[0].start_at, run[-1].end_at)))

    return in_runs(spans, part)


def usage_report(cursor: duckdb.DuckDBPyConnection, scope: Scope, query: UsageQuery) -> Rows:
    """Rows of the query inside `scope`; each with start_at and end_at of its interval, UTC.

    Raises RequestInvalid where an edge would cut a bucket in two, and for too large an answer.
    """
    window, spans = query.window, intervals(query)
    check_edges(window, spans, query.bucket)
    run(cursor, "priced")
    run(cursor, "charged")
    found = read_rows(
        cursor,
        "usage_report",
        window,
        edges=[span.start_at.replace(tzinfo=None) for span in spans],
        every_tenant=scope.every_tenant,
        tenant_id=scope.tenant_id,
        project_id=query.project_id,
        cost_centre_id=query.cost_centre_id,
        model_id=query.model_id,
        disposition=query.disposition,
        rows_max=ROWS_MAX + 1,
        groups=sorted(query.groups),
    )
    if len(found) > ROWS_MAX:
        raise AnswerTooLarge(
            f"The answer has more than {ROWS_MAX:,} rows.",
            remedy="Ask for CSV or Arrow, for a shorter window or for fewer groups.",
        )
    ends = {span.start_at: span.end_at for span in spans}
    return [row | {"end_at": ends[row["start_at"]]} for row in found]


def intervals(query: UsageQuery) -> list[Window]:
    """The intervals of the query. Raises RequestInvalid for too many of them."""
    spans = list(_spans(query))
    if not 0 < len(spans) <= INTERVALS_MAX:
        raise RequestInvalid(
            f"The window has {len(spans):,} intervals; 1 to {INTERVALS_MAX:,} can be asked for.",
            remedy="Ask for a shorter window or a coarser interval.",
        )
    return spans


def _spans(query: UsageQuery) -> Iterator[Window]:
    """The intervals that cover the window; the first and the last end where it does."""
    window = query.window
    match query.interval:
        case Interval.NONE:
            whole: Iterator[Window] = iter([window])
        case Interval.HOUR:
            whole = hours(window)
        case Interval.DAY:
            whole = (span for _, span in days(window, query.zone))
        case Interval.MONTH:
            whole = _months(window, query.zone)
    for span in whole:
        start, end = max(span.start_at, window.start_at), min(span.end_at, window.end_at)
        if start < end:
            yield Window(start, end)


def _months(window: Window, zone: ZoneInfo) -> Iterator[Window]:
    month = month_of(window.start_at, zone)
    while (span := month_window(month, zone)).start_at < window.end_at:
        yield span
        month = next_month(month)


def check_edges(window: Window, spans: list[Window], bucket: timedelta) -> None:
    """Raises RequestInvalid where an edge would cut a bucket of usage in two."""
    for at in {span.start_at for span in spans} | {window.end_at}:
        if (at - datetime.min.replace(tzinfo=UTC)) % bucket:
            raise RequestInvalid(
                f"{at.isoformat()} lies inside a bucket: usage is kept by "
                f"{bucket // timedelta(minutes=1)} minutes here.",
                remedy="Use whole UTC hours; quarter hours for one tenant whose zone needs them.",
            )
