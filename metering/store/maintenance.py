"""What keeps the store small and quick: checkpoint, folding of delta rows, forgetting samples.

Each takes the locks of the writers whose tables it touches, so it runs between two commits; none
changes a sum.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import duckdb

from metering.store.batches import naive
from metering.store.connect import Store, transaction
from metering.store.sql_text import read_sql
from metering.windows import Window

RAW_SAMPLES_KEPT: Final = timedelta(days=14)  # docs/operating.md, Watching it
BUSY: Final = timedelta(hours=2)  # the newest buckets still grow: folding them would be done again


@dataclass(frozen=True, slots=True)
class Rollup:
    """How delta rows of a table are folded: rows with the same keys are added.

    keys: the first of them is the time of the bucket. latest: columns whose greatest value stays.
    whole_where: rows for which this is false stay as they are. Every other column is a sum.
    """

    keys: tuple[str, ...]
    latest: tuple[str, ...] = ()
    whole_where: str = "true"


_DISPOSITION = ("disposition", "reason", "price_key", "flags")
ROLLUPS: Final[Mapping[str, Rollup]] = {
    "usage_hourly": Rollup(
        keys=(
            *("bucket_at", "tenant_id", "project_id", "cost_centre_id", "model_id", "operation"),
            *(*_DISPOSITION, "adjusts_period"),
        ),
        latest=("settle_seq",),
        # two adjustments may belong to two closes: the settle_seq of each decides which
        whole_where="adjusts_period IS NULL",
    ),
    "node_hourly": Rollup(("hour_start_at", "node_id", "stage", "pool", "model_id", *_DISPOSITION)),
    "latency_hourly": Rollup(
        (
            *("hour_start_at", "model_id", "pool", "node_id", "measure"),
            *("bucket", "above_seconds", "up_to_seconds"),
        )
    ),
    "node_tenant_daily": Rollup(("day", "node_id", "stage", "tenant_id", "project_id", "model_id")),
    "node_shape_daily": Rollup(("day", "node_id", "model_id", "input_class", "cached_class")),
}


def tidy(store: Store, now: datetime, *, reach: timedelta) -> dict[str, int]:
    """Fold, forget, checkpoint; how many rows each roll-up lost.

    now: aware UTC. reach: how far back buckets are folded, from BUSY before the hour of `now`.
    """
    end_at = now.replace(minute=0, second=0, microsecond=0) - BUSY
    fewer = fold_rollups(store, Window(end_at - reach, end_at))
    fold_watermarks(store)
    forget_samples(store, now)
    checkpoint(store)
    return fewer


def checkpoint(store: Store) -> None:
    """Write the log into the file, so that the next start has nothing to replay."""
    with store.alone(), store.cursor() as cursor:
        cursor.execute("CHECKPOINT")


def fold_rollups(store: Store, window: Window) -> dict[str, int]:
    """Add up delta rows of the buckets in `window`; how many rows each table lost.

    Not while a period is being closed: the close reads usage_hourly as of one settle_seq, and a
    folded row carries the latest of those it sums.
    """
    fewer = {}
    for table, rollup in ROLLUPS.items():
        with store.settle_lock, store.cursor() as cursor:
            fewer[table] = _fold(cursor, table, rollup, window)
    return fewer


def fold_watermarks(store: Store) -> None:
    """Keep only the last word of each node."""
    with store.write_lock, store.cursor() as cursor, transaction(cursor):
        for query in ("fold_watermarks", "fold_watermarks_delete", "fold_watermarks_insert"):
            cursor.execute(read_sql("metering.store", query))


def forget_samples(store: Store, now: datetime) -> int:
    """Remove raw node samples older than 14 days that are folded into hours; how many."""
    before_at = naive(now - RAW_SAMPLES_KEPT)
    with store.write_lock, store.cursor() as cursor:
        deleted = cursor.execute(
            read_sql("metering.store", "forget_samples"), {"before_at": before_at}
        ).fetchall()
    return int(deleted[0][0])


def _fold(cursor: duckdb.DuckDBPyConnection, table: str, rollup: Rollup, window: Window) -> int:
    """Replace the window's rows by their sums in one transaction; how many rows fewer."""
    bounds = {"start_at": naive(window.start_at), "end_at": naive(window.end_at)}
    with transaction(cursor):
        cursor.execute(_sql("fold_sum", table, rollup), bounds)
        (before,) = cursor.execute(_sql("fold_count", table, rollup), bounds).fetchall()[0]
        (after,) = cursor.execute("SELECT count(*) FROM folded").fetchall()[0]
        if after < before:
            cursor.execute(_sql("fold_delete", table, rollup), bounds)
            cursor.execute(_sql("fold_insert", table, rollup))
    return int(before - after)


def _sql(query: str, table: str, rollup: Rollup) -> str:
    """The query with the names of one roll-up, all of them from ROLLUPS."""
    maxima = [f"max({column}) AS {column}" for column in rollup.latest]
    return (
        read_sql("metering.store", query)
        .replace("rollup_table", table)
        .replace("bucket_column", rollup.keys[0])
        .replace("whole_where", rollup.whole_where)
        .replace("folded_columns", ", ".join([*rollup.keys, *maxima]))
        .replace("kept_columns", ", ".join([*rollup.keys, *rollup.latest]))
    )
