"""Answers that a gateway record and engine legs may both have billed (contract.md §3)."""

from typing import Any

import duckdb

from metering.windows import Window
from pricing.reports.rows import read_rows


def read_both_sources(
    cursor: duckdb.DuckDBPyConnection, window: Window, **scope: Any
) -> list[dict[str, Any]]:
    """Rows of both_sources.sql; requests are read only where a gateway bills at all.

    scope: every_tenant and tenant_id, as of pricing/scope.py.
    """
    (found,) = read_rows(cursor, "gateway_billed", window)
    return read_rows(cursor, "both_sources", window, **scope) if found["is_found"] else []
