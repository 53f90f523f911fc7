"""Revenue per server of a window, from the roll-ups (sql/revenue_servers.sql)."""

from collections.abc import Mapping
from dataclasses import fields, replace
from fractions import Fraction
from typing import Any

import duckdb

from metering.windows import Window
from pricing.formula import exact_decimal
from pricing.instances import ALONE, Instances, Member, instances_of
from pricing.ledger.servers import Server
from pricing.price_key import PRICE_FIELDS
from pricing.rating import Lines
from pricing.reports.exact_usage import register_window_earned
from pricing.reports.rows import read_rows
from pricing.revenue import EarnedLines, ServerRevenue, Service, over_servers, server_revenue

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
    instances: Instances = ALONE,
    *,
    passed: Window | None = None,
) -> list[ServerRevenue]:
    """Each server's ledger sum beside the formula; the window may begin and end at any instant.

    Servers without a service record count as in service for `passed`, the part of the window that
    is over; None: all of it. What an instance booked is shared by its servers.
    """
    register_window_earned(cursor, window)
    earned = [_earned(row) for row in read_rows(cursor, "revenue_servers", window)]
    whole = Service(seconds=_seconds(passed or window))
    booked = [replace(row, node_id=instances.name_of(row.node_id)) for row in earned]
    found = server_revenue(booked, services or {}, whole)
    return over_servers(found, instances, services or {}, default=whole)


def server_rows(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    servers: Mapping[str, Server],
    *,
    passed: Window,
) -> list[dict[str, Any]]:
    """The report with what the ledger knows of each server; money exact, rates as floats.

    passed: the part of the window that is over, which rates are of.
    """
    services: dict[str | None, Service] = {
        node_id: _service(server, passed) for node_id, server in servers.items()
    }
    instances = instances_of(
        Member(
            node_id=server.node_id,
            instance_id=server.instance_id,
            weight=server.instance_weight or 1,
            seconds=_in_service(server, passed),
        )
        for server in servers.values()
        if server.instance_id is not None
    )
    found = servers_report(cursor, window, services, instances, passed=passed)
    return [_row(row, servers) for row in found]


def unbilled_report(cursor: duckdb.DuckDBPyConnection, window: Window) -> list[dict[str, Any]]:
    """Work of each server that is not revenue, by disposition and reason."""
    register_window_earned(cursor, window)
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


def _service(server: Server, window: Window) -> Service:
    """The server's seconds in service within the window; all of it if it earned outside."""
    rated = server.rated_tokens_per_second
    return Service(
        seconds=_in_service(server, window) or _seconds(window),
        rated_tokens_per_second=Fraction(rated) if rated else None,
    )


def _in_service(server: Server, window: Window) -> Fraction:
    start = max(window.start_at, server.in_service_from)
    end = min(window.end_at, server.in_service_until or window.end_at)
    return _seconds(Window(start, end)) if start < end else Fraction(0)


def _seconds(window: Window) -> Fraction:
    return Fraction(window.microseconds(), MICROSECONDS_PER_SECOND)


def _row(row: ServerRevenue, servers: Mapping[str, Server]) -> dict[str, Any]:
    server = servers.get(row.node_id or "")
    shown: dict[str, Any] = {field.name: getattr(row, field.name) for field in fields(row)}
    for name, value in shown.items():
        if isinstance(value, Fraction):
            exact = name in ("formula", "difference")
            shown[name] = exact_decimal(value) if exact else float(value)
    return shown | {
        "name": server.name if server else None,
        "hardware": server.hardware if server else None,
        "registered": server is not None,
    }
