"""Hours in which gateway records and engine legs both billed a tenant: its close waits (§3)."""

from collections.abc import Iterator, Sequence

import duckdb

from metering.windows import Window
from pricing.close_checks import Blocker
from pricing.reports.both_sources import read_both_sources


def both_sources_blockers(
    cursor: duckdb.DuckDBPyConnection, tenants: Sequence[tuple[str, Window]]
) -> Iterator[Blocker]:
    """One blocker a tenant and currency; tenants of one window are read at once."""
    for window in sorted({window for _, window in tenants}, key=lambda each: each.start_at):
        asked = {tenant_id for tenant_id, own in tenants if own == window}
        for row in read_both_sources(cursor, window, every_tenant=True, tenant_id=None):
            if row["tenant_id"] in asked:
                yield Blocker(
                    kind="both_sources",
                    tenant_id=row["tenant_id"],
                    count=row["hours"],
                    currency=row["currency"],
                    amount_max=row["amount"],
                )
