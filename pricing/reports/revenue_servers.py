"""Revenue per server of a window, from the roll-ups (sql/revenue_servers.sql)."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import duckdb

from metering.windows import Window
from pricing.price_key import PRICE_FIELDS
from pricing.rating import Lines
from pricing.reports.rows import read_rows
from pricing.revenue import EarnedLines, ServerRevenue, Service, server_revenue

MICROSECONDS_PER_SECOND = 1_000_000
LINE_NAMES = (
    "uncached",
    "cached",
    "cached_explicit",
    "cache_write",
    "cache_write_1h",
    "output",
    "reasoning",
)


def servers_report(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    services: Mapping[str | None, Service] | None = None,
) -> list[ServerRevenue]:
    """Each server's ledger sum beside the formula.

    Servers without a service record count as in service for the whole window.
    """
    earned = [_earned(row) for row in read_rows(cursor, "revenue_servers", window)]
    seconds = Fraction(window.microseconds(), MICROSECONDS_PER_SECOND)
    return server_revenue(earned, services or {}, Service(seconds=seconds))


def unbilled_report(cursor: duckdb.DuckDBPyConnection, window: Window) -> list[dict[str, Any]]:
    """Work of each server that is not revenue, by disposition and reason."""
    return read_rows(cursor, "revenue_unbilled", window)


def _earned(row: Mapping[str, Any]) -> EarnedLines:
    return EarnedLines(
        node_id=row["node_id"],
        stage=row["stage"],
        pool=row["pool"],
        currency=row["currency"],
        price_key=row["price_key"],
        requests=row["requests"],
        lines=Lines(**{name: row[name] for name in LINE_NAMES}),
        prices={name: row[name] for name in PRICE_FIELDS},
        amount=row["amount"],
    )
