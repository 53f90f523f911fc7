"""A month as two tables: what each tenant owes, and what each server earned."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa

from pricing.exports.tables import MONEY
from pricing.formula import exact_decimal
from pricing.revenue import ServerRevenue

TEXT, COUNT = pa.string(), pa.int64()
CHARGEBACK: Final = pa.schema(
    [
        ("period", TEXT),
        ("tenant_id", TEXT),
        ("project_id", TEXT),
        ("cost_centre_id", TEXT),
        ("model_id", TEXT),
        ("disposition", TEXT),
        ("reason", TEXT),
        ("currency", TEXT),
        ("requests", COUNT),
        ("uncached_tokens", COUNT),
        ("cached_tokens", COUNT),
        ("cache_write_tokens", COUNT),
        ("unsplit_tokens", COUNT),
        ("output_tokens", COUNT),
        ("reasoning_tokens", COUNT),
        ("input_amount", MONEY),
        ("cached_amount", MONEY),
        ("cache_write_amount", MONEY),
        ("output_amount", MONEY),
        ("reasoning_amount", MONEY),
        ("amount", MONEY),
        ("amount_max", MONEY),
    ]
)
SERVERS: Final = pa.schema(
    [
        ("period", TEXT),
        ("node_id", TEXT),
        ("stage", TEXT),
        ("pool", TEXT),
        ("currency", TEXT),
        ("requests", COUNT),
        ("input_tokens", COUNT),
        ("cached_input_tokens", COUNT),
        ("output_tokens", COUNT),
        ("prices", TEXT),
        ("amount", MONEY),
        ("formula", MONEY),
        ("difference", MONEY),
    ]
)


def chargeback_table(period: str, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows of sql/chargeback.sql; a missing tenant stays empty and is named `unattributed`."""
    listed = [
        {**row, "period": period, "tenant_id": row["tenant_id"] or "unattributed"} for row in rows
    ]
    return pa.Table.from_pylist(listed, schema=CHARGEBACK)


def servers_table(period: str, servers: Iterable[ServerRevenue]) -> pa.Table:
    """Each server's ledger sum, the formula and their difference."""
    rows = [
        {
            **{f.name: getattr(server, f.name) for f in SERVERS if hasattr(server, f.name)},
            "period": period,
            "formula": exact_decimal(server.formula),
            "difference": exact_decimal(server.difference),
        }
        for server in servers
    ]
    return pa.Table.from_pylist(rows, schema=SERVERS)
