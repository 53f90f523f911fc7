"""Answers that gateway and engines may both have billed (docs/policies.md, billing_source)."""

from typing import Any

import duckdb

from metering.windows import Window
from pricing.reports.rows import read_rows


def read_both_sources(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    *,
    after_seq: int | None = None,
    **scope: Any,
) -> list[dict[str, Any]]:
    """Rows of both_sources.sql; requests are read only where a gateway bills at all.

    after_seq: only what came to closed months after this settle_seq; None: all. scope:
    every_tenant and tenant_id, as of pricing/scope.py.
    """
    (found,) = read_rows(cursor, "gateway_billed", window)
    if not found["is_found"]:
        return []
    return read_rows(cursor, "both_sources", window, after_seq=after_seq, **scope)
