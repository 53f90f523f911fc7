"""What servers did in a window, from the roll-ups: which shapes, how fast."""

from datetime import time

import duckdb
import numpy as np

from metering.windows import Window
from pricing.errors import RequestInvalid
from pricing.estimates.kappa_regression import Observations
from pricing.reports.rows import read_rows


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


def whole_days(window: Window) -> Window:
    """The window, if it is cut at UTC midnights: the roll-up knows no smaller part of a day."""
    if any(at.time() != time(0) for at in (window.start_at, window.end_at)):
        raise RequestInvalid(
            f"the window must start and end at midnight UTC, got {window.start_at} to "
            f"{window.end_at}."
        )
    return window
