"""Chargeback of a window by tenant, project, cost centre and model (sql/chargeback.sql)."""

from collections.abc import Sequence
from typing import Any

import duckdb

from metering.windows import Window
from pricing.reports.exact_usage import register_window_usage
from pricing.reports.rows import read_rows
from pricing.runs.statements import run

Owner = str | None  # a tenant; None: unattributed


def chargeback_report(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    *,
    tenant_id: str | None,
    owners: Sequence[Owner] | None = None,
) -> list[dict[str, Any]]:
    """Rows with tokens and exact amounts by line; tenant_id None: all tenants of the house.

    owners: of these alone; None: of all that tenant_id lets through.
    """
    register_window_usage(cursor, window)
    run(cursor, "priced")
    run(cursor, "charged")
    named = None if owners is None else [owner for owner in owners if owner is not None]
    nobody = owners is None or None in owners
    return read_rows(
        cursor, "chargeback", window, tenant_id=tenant_id, owners=named, unattributed=nobody
    )


def owners_of(
    cursor: duckdb.DuckDBPyConnection, window: Window, *, tenant_id: str | None
) -> list[Owner]:
    """Who has usage in the window, in the order of chargeback_report's rows."""
    register_window_usage(cursor, window)
    found = read_rows(cursor, "chargeback_owners", window, tenant_id=tenant_id)
    return [row["tenant_id"] for row in found]
