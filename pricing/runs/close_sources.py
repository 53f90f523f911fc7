"""Hours in which gateway records and engine legs both billed a tenant: its close waits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb

from metering.windows import Window
from pricing.close_checks import Blocker
from pricing.reports.both_sources import read_both_sources
from pricing.reports.rows import read_rows


def both_sources_blockers(
    cursor: duckdb.DuckDBPyConnection, tenants: Sequence[tuple[str, Window]]
) -> Iterator[Blocker]:
    """One blocker a tenant and currency, and one for what came late to closed months.

    Tenants of one window are read at once. What came late is that of close_scope (registered).
    """
    for window in sorted({window for _, window in tenants}, key=lambda each: each.start_at):
        asked = {tenant_id for tenant_id, own in tenants if own == window}
        for row in read_both_sources(cursor, window, every_tenant=True, tenant_id=None):
            if row["tenant_id"] in asked:
                yield _blocker(row)
    for late in read_rows(cursor, "late_spans"):
        rows = read_both_sources(
            cursor,
            Window(late["start_at"], late["end_at"]),
            after_seq=late["after_seq"],
            every_tenant=False,
            tenant_id=late["tenant_id"],
        )
        yield from map(_blocker, rows)


def _blocker(row: Mapping[str, Any]) -> Blocker:
    return Blocker(
        kind="both_sources",
        tenant_id=row["tenant_id"],
        count=row["hours"],
        currency=row["currency"],
        amount_max=row["amount"],
    )
