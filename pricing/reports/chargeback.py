"""Chargeback of a window by tenant, project, cost centre and model (sql/chargeback.sql)."""

from typing import Any

import duckdb

from metering.windows import Window
from pricing.reports.exact_usage import register_window_usage
from pricing.reports.rows import read_rows


def chargeback_report(
    cursor: duckdb.DuckDBPyConnection, window: Window, *, tenant_id: str | None
) -> list[dict[str, Any]]:
    """Rows with tokens and exact amounts by line; tenant_id None: all tenants of the house."""
    register_window_usage(cursor, window)
    return read_rows(cursor, "chargeback", window, tenant_id=tenant_id)
