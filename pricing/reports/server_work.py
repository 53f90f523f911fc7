"""What servers did in a window, from the roll-ups: which shapes, how fast."""

from collections.abc import Mapping
from datetime import time

import duckdb
import numpy as np

from metering.windows import Window
from pricing.errors import RequestInvalid
from pricing.estimates.kappa_regression import Observations
from pricing.reports.rows import read_rows
from pricing.slo import Weight

MEASURES = ("ttft", "tpot", "e2e", "queue")


def prefill_shapes(
    cursor: duckdb.DuckDBPyConnection, window: Window, *, model_id: str
) -> Observations:
    """Rows for estimate_kappa: one per day, server and shape class (sql/prefill_shapes.sql)."""
    rows = read_rows(cursor, "prefill_shapes", whole_days(window), model_id=model_id)
    columns = {
        name: np.array([row[name] for row in rows], dtype=np.float64)
        for name in ("requests", "uncached_tokens", "cached_tokens", "prefill_seconds")
    }
    return Observations(**columns)


def latency_histogram(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    *,
    measure: str,
    model_id: str | None = None,
    pool: str | None = None,
    node_id: str | None = None,
) -> Mapping[int, Weight]:
    """Counts of `measure` by bucket for pricing.slo (sql/latency_histogram.sql)."""
    if measure not in MEASURES:
        raise RequestInvalid(f"measure must be one of {', '.join(MEASURES)}, got {measure!r}.")
    rows = read_rows(
        cursor,
        "latency_histogram",
        window,
        measure=measure,
        model_id=model_id,
        pool=pool,
        node_id=node_id,
    )
    return {row["bucket"]: Weight(row["requests"], row["output_tokens"]) for row in rows}


def whole_days(window: Window) -> Window:
    """The window, if it is cut at UTC midnights: the roll-up knows no smaller part of a day."""
    if any(at.time() != time(0) for at in (window.start_at, window.end_at)):
        raise RequestInvalid(
            f"the window must start and end at midnight UTC, got {window.start_at} to "
            f"{window.end_at}."
        )
    return window
