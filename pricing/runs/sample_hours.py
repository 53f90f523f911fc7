"""Node samples folded into hours, each hour once (sql/fold_samples.sql, sql/fold_itl.sql)."""

from datetime import UTC, datetime, timedelta
from typing import Final

import duckdb

from metering.store.connect import transaction
from pricing.runs.statements import run

GRACE: Final = timedelta(minutes=10)  # a sample may arrive this long after its hour is over


def fold_samples(cursor: duckdb.DuckDBPyConnection, *, now: datetime) -> int:
    """Fold every whole hour that is over by GRACE; returns the number of hours."""
    row = run(cursor, "fold_samples_span").fetchone()
    start: datetime | None = row[0] if row else None
    settled = (now - GRACE).astimezone(UTC).replace(tzinfo=None)
    end = settled.replace(minute=0, second=0, microsecond=0)
    if start is None or start >= end:
        return 0
    values = {"start_at": start, "end_at": end, "now": now.astimezone(UTC).replace(tzinfo=None)}
    with transaction(cursor):
        run(cursor, "fold_samples", values)
        run(cursor, "fold_itl", values)
        run(cursor, "fold_samples_done", values)
    return (end - start) // timedelta(hours=1)
