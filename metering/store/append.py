"""Usage into the store, exactly once: judged, deduplicated and stored in one transaction.

One function serves the HTTP collector, `tokentill import` and `tokentill rate`. What happens to a
row, and why, is docs/wire.md; docs/decisions/0002-exactly-once.md tells the reasons.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import duckdb
import pyarrow as pa

from metering.store.batches import (
    Answer,
    Batch,
    LegBatch,
    Listed,
    SampleBatch,
    incoming_table,
    naive,
    refused_table,
)
from metering.store.connect import transaction
from metering.store.judge import LEG, SAMPLE, find_known, judge, sql

LISTED_MAX = 1_000  # records of one batch that an answer lists


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
        return append_within(cursor, batches, now, check_clock=check_clock)


def append_within(
    cursor: duckdb.DuckDBPyConnection,
    batches: Sequence[LegBatch],
    now: datetime,
    *,
    check_clock: datetime | None = None,
) -> list[Answer]:
    """`append_legs` within the caller's transaction; the answers hold once that is committed."""
    outcomes, listed = Counter[tuple[int, str]](), list[tuple[int, Listed]]()
    if any(batch.table.num_rows for batch in batches):
        with _registered(cursor, "incoming", incoming_table(batches)):
            find_known(cursor, LEG, check_clock)
            _claim_foreign_ids(cursor)
            outcomes = judge(cursor)
            _store_legs(cursor, outcomes, now)
            listed = _set_aside(cursor, outcomes, now)
    _keep_refused(cursor, batches, now)
    _move_watermarks(cursor, batches, now)
    return _answers(batches, outcomes, listed)


def append_samples(
    cursor: duckdb.DuckDBPyConnection,
    batches: Sequence[SampleBatch],
    now: datetime,
    *,
    check_clock: datetime | None = None,
) -> list[Answer]:
    """Store node samples in one transaction; a scrape that is stored already is a duplicate.

    Times as in `append_legs`. A rejected sample is answered, not kept: no money hangs on it.
    """
    with transaction(cursor):
        outcomes, listed = Counter[tuple[int, str]](), list[tuple[int, Listed]]()
        if any(batch.table.num_rows for batch in batches):
            with _registered(cursor, "incoming", incoming_table(batches)):
                find_known(cursor, SAMPLE, check_clock)
                outcomes = judge(cursor)
                cursor.execute(sql("sample_store"), {"ingested_at": naive(now)})
                listed = _listed(cursor, "sample_listed")
        _move_watermarks(cursor, batches, now)
    return _answers(batches, outcomes, listed)


def _claim_foreign_ids(cursor: duckdb.DuckDBPyConnection) -> None:
    """Take the ids that senders chose; those taken before become `known`."""
    (wanted,) = cursor.execute(sql("append_foreign_wanted")).fetchall()[0]
    if not wanted:
        return
    claimed: pa.Table = cursor.execute(sql("append_foreign")).to_arrow_table()
    if claimed.num_rows < wanted:
        with _registered(cursor, "claimed", claimed):
            cursor.execute(sql("append_foreign_known"))


def _store_legs(
    cursor: duckdb.DuckDBPyConnection, outcomes: Counter[tuple[int, str]], now: datetime
) -> None:
    if any(outcome == "accepted" for _batch, outcome in outcomes):
        (last_seq,) = cursor.execute(sql("append_last_seq")).fetchall()[0]
        cursor.execute(sql("leg_store"), {"after_seq": last_seq, "ingested_at": naive(now)})


def _set_aside(
    cursor: duckdb.DuckDBPyConnection, outcomes: Counter[tuple[int, str]], now: datetime
) -> list[tuple[int, Listed]]:
    """Rejected, conflicting and reattributed rows into `quarantine`; what their senders hear."""
    if all(outcome in {"accepted", "duplicate"} for _batch, outcome in outcomes):
        return []
    cursor.execute(sql("append_findings"))
    cursor.execute(sql("append_quarantine"), {"received_at": naive(now)})
    return _listed(cursor, "leg_listed")


def _listed(cursor: duckdb.DuckDBPyConnection, query: str) -> list[tuple[int, Listed]]:
    rows = cursor.execute(sql(query), {"listed_max": LISTED_MAX}).fetchall()
    return [(batch, Listed(*record)) for batch, *record in rows]


def _keep_refused(
    cursor: duckdb.DuckDBPyConnection, batches: Sequence[LegBatch], now: datetime
) -> None:
    if any(batch.refused for batch in batches):
        with _registered(cursor, "refused", refused_table(batches)):
            cursor.execute(sql("append_refused"), {"received_at": naive(now)})


def _move_watermarks(
    cursor: duckdb.DuckDBPyConnection, batches: Sequence[Batch], now: datetime
) -> None:
    """One row for each node and stage that said how far it has sent; nobody has sent the future."""
    latest: dict[tuple[str, str | None, str | None], datetime] = {}
    for batch in batches:
        if batch.node is not None and batch.watermark_at is not None:
            key = (batch.node, batch.stage, batch.pool)
            said_at = min(batch.watermark_at, now)
            latest[key] = max(said_at, latest.get(key, said_at))
    for (node, stage, pool), watermark_at in latest.items():
        row = {
            "node_id": node,
            "stage": stage,
            "pool": pool,
            "watermark_at": naive(watermark_at),
            "seen_at": naive(now),
        }
        cursor.execute(sql("append_watermark"), row)


def _answers(
    batches: Sequence[Batch],
    outcomes: Counter[tuple[int, str]],
    listed: Sequence[tuple[int, Listed]],
) -> list[Answer]:
    answers = []
    for number, batch in enumerate(batches):
        refused = [Listed(one.index, "rejected", one.field, one.reason) for one in batch.refused]
        records = [record for of_batch, record in listed if of_batch == number] + refused
        answers.append(
            Answer(
                accepted=outcomes[number, "accepted"],
                duplicate=outcomes[number, "duplicate"],
                conflict=outcomes[number, "conflict"],
                reattributed=outcomes[number, "reattributed"],
                rejected=outcomes[number, "rejected"] + len(refused),
                records=tuple(sorted(records, key=_place)[:LISTED_MAX]),
            )
        )
    return answers


def _place(record: Listed) -> int:
    return -1 if record.index is None else record.index


@contextmanager
def _registered(cursor: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> Iterator[None]:
    cursor.register(name, table)
    try:
        yield
    finally:
        cursor.unregister(name)
