"""What becomes of each incoming row: the part of an append that legs and samples share."""

from collections import Counter
from collections.abc import Iterable
from datetime import date, datetime, timedelta
from functools import partial
from typing import NamedTuple

import duckdb

from metering.store.batches import naive
from metering.store.sql_text import read_sql

CLOCK_AHEAD = timedelta(hours=48)
CLOCK_BACK = timedelta(days=400)
RANGES_MAX = 32  # time ranges of one lookup; more days are joined into fewer ranges
RANGE_MARGIN = timedelta(minutes=1)  # a newer parser may have rounded the finish another way

sql = partial(read_sql, "metering.store")


class Questions(NamedTuple):
    """The two queries in which legs and samples differ, by name."""

    verdict: str
    known: str


LEG = Questions("leg_verdict", "leg_known")
SAMPLE = Questions("sample_verdict", "sample_known")


def find_known(
    cursor: duckdb.DuckDBPyConnection, ask: Questions, check_clock: datetime | None
) -> None:
    """Leave the tables `verdict` (faults and ids of `incoming`) and `known` (what is stored).

    check_clock: UTC; a time more than 48 h after or 400 days before it is a fault; None: times are
    not held against a clock.
    """
    bounds = {
        "earliest_at": naive(check_clock - CLOCK_BACK) if check_clock else None,
        "latest_at": naive(check_clock + CLOCK_AHEAD) if check_clock else None,
    }
    cursor.execute(sql(ask.verdict), bounds)
    cursor.execute(sql("append_known_none"))
    days = cursor.execute(sql("append_days")).fetchall()
    for first_at, last_at in lookup_ranges(days):
        cursor.execute(sql(ask.known), {"first_at": first_at, "last_at": last_at})


def lookup_ranges(
    days: Iterable[tuple[date, datetime, datetime]],
) -> list[tuple[datetime, datetime]]:
    """At most RANGES_MAX time ranges, disjoint and in order, that cover the days' own ranges.

    One row with a wrong time costs one more range, not a scan of all that lies between.
    """
    ranges: list[tuple[datetime, datetime]] = []
    for _day, first_at, last_at in days:
        start_at, end_at = first_at - RANGE_MARGIN, last_at + RANGE_MARGIN
        if ranges and start_at <= ranges[-1][1]:
            ranges[-1] = (ranges[-1][0], end_at)
        else:
            ranges.append((start_at, end_at))
    stride = -(-len(ranges) // RANGES_MAX) or 1
    chunks = [ranges[i : i + stride] for i in range(0, len(ranges), stride)]
    return [(chunk[0][0], chunk[-1][1]) for chunk in chunks]


def judge(cursor: duckdb.DuckDBPyConnection) -> Counter[tuple[int, str]]:
    """Leave the table `judged`; how many rows of each batch (by its number) had each outcome."""
    cursor.execute(sql("append_judged"))
    rows = cursor.execute(sql("append_counts")).fetchall()
    return Counter({(batch, outcome): records for batch, outcome, records in rows})
