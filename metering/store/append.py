"""Usage into the store, exactly once: judged, deduplicated and stored in one transaction.

One function serves the HTTP collector, `tokentill import` and `tokentill rate`. What happens to a
row, and why, is contract.md §2; docs/decisions/0002-exactly-once.md tells the reasons.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from functools import partial

import duckdb
import pyarrow as pa

from metering.store.batches import (
    Answer,
    LegBatch,
    Listed,
    incoming_table,
    naive,
    refused_table,
)
from metering.store.connect import transaction
from metering.store.sql_text import read_sql

CLOCK_AHEAD = timedelta(hours=48)
CLOCK_BACK = timedelta(days=400)
LISTED_MAX = 1_000  # records of one batch that an answer lists
RANGES_MAX = 32  # time ranges of one lookup; more days are joined into fewer ranges
RANGE_MARGIN = timedelta(minutes=1)  # a newer parser may have rounded the finish another way

_sql = partial(read_sql, "metering.store")


def append_legs(
    cursor: duckdb.DuckDBPyConnection,
    batches: Sequence[LegBatch],
    now: datetime,
    *,
    check_clock: datetime | None = None,
) -> list[Answer]:
    """Store `batches` in one transaction; an answer for each, in order, valid once this returns.

    now: UTC, the time of arrival. check_clock: UTC; a time more than 48 h after or 400 days
    before it is rejected; None: times are not held against a clock (import, rate).
    The caller holds `Store.write_lock`. On any error nothing of any batch is stored.
    """
    with transaction(cursor):
        outcomes = Counter[tuple[int, str]]()
        listed: list[tuple[int, Listed]] = []
        if any(batch.table.num_rows for batch in batches):
            cursor.register("incoming", incoming_table(batches))
            try:
                _judge(cursor, check_clock)
                outcomes = _store(cursor, now)
                listed = _set_aside(cursor, outcomes, now)
            finally:
                cursor.unregister("incoming")
        _keep_refused(cursor, batches, now)
        _move_watermarks(cursor, batches, now)
    return [
        _answer(batch, outcomes, i, [found for number, found in listed if number == i])
        for i, batch in enumerate(batches)
    ]


def _judge(cursor: duckdb.DuckDBPyConnection, check_clock: datetime | None) -> None:
    """Leave the temporary table `judged`: the outcome of each row of `incoming`."""
    bounds = {
        "earliest_at": naive(check_clock - CLOCK_BACK) if check_clock else None,
        "latest_at": naive(check_clock + CLOCK_AHEAD) if check_clock else None,
    }
    cursor.execute(_sql("append_verdict"), bounds)
    cursor.execute(_sql("append_known_none"))
    days = cursor.execute(_sql("append_days")).fetchall()
    for first_at, last_at in lookup_ranges(days):
        cursor.execute(_sql("append_known"), {"first_at": first_at, "last_at": last_at})
    _claim_foreign_ids(cursor)
    cursor.execute(_sql("append_judged"))


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


def _claim_foreign_ids(cursor: duckdb.DuckDBPyConnection) -> None:
    """Take the ids that senders chose; those taken before become `known`."""
    (foreign,) = cursor.execute(_sql("append_foreign_wanted")).fetchall()[0]
    if not foreign:
        return
    claimed: pa.Table = cursor.execute(_sql("append_foreign")).to_arrow_table()
    if claimed.num_rows == foreign:
        return
    cursor.register("claimed", claimed)
    cursor.execute(_sql("append_foreign_known"))
    cursor.unregister("claimed")


def _store(cursor: duckdb.DuckDBPyConnection, now: datetime) -> Counter[tuple[int, str]]:
    """Accepted rows into `leg`; how many rows of each batch had each outcome."""
    rows = cursor.execute(_sql("append_counts")).fetchall()
    outcomes = Counter({(batch, outcome): records for batch, outcome, records in rows})
    if any(outcome == "accepted" for _batch, outcome in outcomes):
        (last_seq,) = cursor.execute(_sql("append_last_seq")).fetchall()[0]
        cursor.execute(_sql("append_leg"), {"after_seq": last_seq, "ingested_at": naive(now)})
    return outcomes


def _set_aside(
    cursor: duckdb.DuckDBPyConnection, outcomes: Counter[tuple[int, str]], now: datetime
) -> list[tuple[int, Listed]]:
    """Rejected, conflicting and reattributed rows into `quarantine`; what their senders hear."""
    if all(outcome in {"accepted", "duplicate"} for _batch, outcome in outcomes):
        return []
    cursor.execute(_sql("append_findings"))
    cursor.execute(_sql("append_quarantine"), {"received_at": naive(now)})
    rows = cursor.execute(_sql("append_listed"), {"listed_max": LISTED_MAX}).fetchall()
    return [(batch, Listed(*record)) for batch, *record in rows]


def _keep_refused(
    cursor: duckdb.DuckDBPyConnection, batches: Sequence[LegBatch], now: datetime
) -> None:
    if any(batch.refused for batch in batches):
        cursor.register("refused", refused_table(batches))
        cursor.execute(_sql("append_refused"), {"received_at": naive(now)})
        cursor.unregister("refused")


def _move_watermarks(
    cursor: duckdb.DuckDBPyConnection, batches: Sequence[LegBatch], now: datetime
) -> None:
    """One row for each node and stage that said how far it has sent."""
    latest: dict[tuple[str, str | None, str | None], datetime] = {}
    for batch in batches:
        if batch.node is not None and batch.watermark_at is not None:
            key = (batch.node, batch.stage, batch.pool)
            latest[key] = max(batch.watermark_at, latest.get(key, batch.watermark_at))
    for (node, stage, pool), watermark_at in latest.items():
        row = {
            "node_id": node,
            "stage": stage,
            "pool": pool,
            "watermark_at": naive(watermark_at),
            "seen_at": naive(now),
        }
        cursor.execute(_sql("append_watermark"), row)


def _answer(
    batch: LegBatch,
    outcomes: Counter[tuple[int, str]],
    number: int,
    listed: Sequence[Listed],
) -> Answer:
    refused = [Listed(one.index, "rejected", one.field, one.reason) for one in batch.refused]
    records = sorted([*listed, *refused], key=lambda one: -1 if one.index is None else one.index)
    return Answer(
        accepted=outcomes[number, "accepted"],
        duplicate=outcomes[number, "duplicate"],
        conflict=outcomes[number, "conflict"],
        reattributed=outcomes[number, "reattributed"],
        rejected=outcomes[number, "rejected"] + len(refused),
        records=tuple(records[:LISTED_MAX]),
    )
