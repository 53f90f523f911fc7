"""What a close reads of the usage store: sums, what is not billed, and what to wait for."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from metering.windows import Window
from pricing.close_checks import Blocker
from pricing.directory import Directory
from pricing.invoices import Digest, PricedSum
from pricing.ledger.servers import Server
from pricing.price_key import PRICE_FIELDS, PriceKey
from pricing.rating import LINE_PRICES, Lines
from pricing.reports.exact_usage import register_exact_usage
from pricing.reports.rows import read_rows
from pricing.runs.close_sources import both_sources_blockers
from pricing.runs.settle import register_directory
from pricing.runs.statements import run

BLOCKING = frozenset({"unpriced", "held"})
NAMES = ("currency", "book", "book_revision", "entry", "context_tier", "band", "service_tier")
PRICE_COLUMNS = (*NAMES, "region", "contract", *PRICE_FIELDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantScope:
    """Which rows of the usage store a tenant's close takes: UTC window and settle_seq marks."""

    tenant_id: str
    window: Window
    after_seq: int
    mark: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NotBilled:
    """Usage that no document bills, by reason. Amounts exact, in currency; None: no price known.

    corrects_month: of a closed month that it was listed in, or is now; requests below 0: no longer.
    """

    tenant_id: str | None
    disposition: str
    reason: str
    currency: str | None
    requests: int
    tokens: int
    amount_min: Decimal | None
    amount_max: Decimal | None
    corrects_month: date | None = None


def register_scopes(cursor: duckdb.DuckDBPyConnection, scopes: Sequence[TenantScope]) -> None:
    """The scopes as the table close_scope that the queries join, and the usage that they read."""
    time = pa.timestamp("us")
    columns = {
        "tenant_id": pa.array([each.tenant_id for each in scopes], pa.string()),
        "start_at": pa.array([_naive(each.window.start_at) for each in scopes], time),
        "end_at": pa.array([_naive(each.window.end_at) for each in scopes], time),
        "after_seq": pa.array([each.after_seq for each in scopes], pa.int64()),
        "mark": pa.array([each.mark for each in scopes], pa.int64()),
    }
    cursor.register("close_scope", pa.table(columns))
    after_seq = min((each.after_seq for each in scopes), default=0)
    windows = [each.window for each in scopes]
    register_exact_usage(cursor, windows, corrections_after=after_seq)


def read_sums(
    cursor: duckdb.DuckDBPyConnection, scopes: Sequence[TenantScope]
) -> dict[str, list[PricedSum]]:
    """Billed sums of each tenant."""
    if not scopes:
        return {}
    register_scopes(cursor, scopes)
    rows = read_rows(cursor, "close_sums")
    prices = read_prices(cursor, {row["price_key"] for row in rows})
    found: dict[str, list[PricedSum]] = {scope.tenant_id: [] for scope in scopes}
    for row in rows:
        found[row["tenant_id"]].append(
            PricedSum(
                model_id=row["model_id"],
                price_id=row["price_key"],
                price=prices[row["price_key"]],
                tokens=Lines(**{name: row[name] for name, _, _ in LINE_PRICES}),
                corrects_month=row["corrects_month"],
                is_rerate=row["is_rerate"],
                project_id=row["project_id"],
                cost_centre_id=row["cost_centre_id"],
                digest=digest_of(row),
            )
        )
    return found


def read_prices(cursor: duckdb.DuckDBPyConnection, ids: Iterable[int]) -> dict[int, PriceKey]:
    """The price keys of `ids`."""
    rows = read_rows(cursor, "close_prices", ids=list(ids))
    return {
        row["price_key"]: PriceKey(**{name: row[name] for name in PRICE_COLUMNS}) for row in rows
    }


def digest_of(row: dict[str, Any]) -> Digest:
    """The fingerprint of a row's requests."""
    words = tuple(int(row[f"digest_{number}"] or 0) for number in range(1, 5))
    return Digest(requests=row["requests"] or 0, words=(words[0], words[1], words[2], words[3]))


def read_not_billed(
    cursor: duckdb.DuckDBPyConnection, scopes: Sequence[TenantScope]
) -> list[NotBilled]:
    """What the documents of these tenants leave out."""
    if not scopes:
        return []
    register_scopes(cursor, scopes)
    return [NotBilled(**row) for row in read_rows(cursor, "close_not_billed")]


def read_not_invoiced(
    cursor: duckdb.DuckDBPyConnection, tenants: Iterable[str], window: Window
) -> list[NotBilled]:
    """Usage that belongs to nobody who is registered, priced or not."""
    table = pa.table({"tenant_id": pa.array(list(tenants), pa.string())})
    cursor.register("registered_tenant", table)
    register_exact_usage(cursor, [window], corrections_after=0)
    (nobody,) = read_rows(cursor, "close_nobody", window)
    if not nobody["is_found"]:
        return []
    return [
        NotBilled(
            **row
            | {"reason": row["reason"] or ("unregistered" if row["tenant_id"] else "unattributed")}
        )
        for row in read_rows(cursor, "close_not_invoiced", window)
    ]


def read_blockers(
    cursor: duckdb.DuckDBPyConnection,
    scopes: Sequence[TenantScope],
    *,
    directory: Directory,
    servers: Sequence[Server],
) -> dict[str, list[Blocker]]:
    """Why each tenant has to wait; a tenant that need not has an empty list."""
    found: dict[str, list[Blocker]] = {scope.tenant_id: [] for scope in scopes}
    if not scopes:
        return found
    register_directory(cursor, directory)
    for blocker in _by_tenant(cursor, scopes):
        found[str(blocker.tenant_id)].append(blocker)
    nodes = read_rows(cursor, "close_nodes")
    ends = {server.node_id: server.in_service_until for server in servers}
    unsettled = {end: _unsettled(cursor, end) for end in {s.window.end_at for s in scopes}}
    for scope in scopes:
        found[scope.tenant_id] += unsettled[scope.window.end_at]
        found[scope.tenant_id] += _silent_nodes(nodes, scope.window, ends)
    return found


def _by_tenant(
    cursor: duckdb.DuckDBPyConnection, scopes: Sequence[TenantScope]
) -> Iterator[Blocker]:
    for each in read_not_billed(cursor, scopes):
        if each.disposition in BLOCKING and each.requests > 0:
            yield Blocker(
                kind=each.disposition,
                tenant_id=each.tenant_id,
                reason=each.reason,
                count=each.requests,
                currency=each.currency,
                amount_max=each.amount_max,
            )
    for row in read_rows(cursor, "close_pending"):
        yield Blocker(kind="pending", tenant_id=row["tenant_id"], count=row["legs"])
    for row in read_rows(cursor, "close_conflicts"):
        yield Blocker(kind="conflict", tenant_id=row["tenant_id"], count=row["records"])
    yield from both_sources_blockers(cursor, [(each.tenant_id, each.window) for each in scopes])


def _silent_nodes(
    nodes: Sequence[dict[str, Any]], window: Window, ends: dict[str, datetime | None]
) -> Iterator[Blocker]:
    """Nodes heard since the month began that may still hold usage of it."""
    for node in nodes:
        ended_at = ends.get(node["node_id"])
        is_retired = ended_at is not None and node["watermark_at"] >= ended_at
        if node["watermark_at"] < window.end_at and node["seen_at"] >= window.start_at:
            if is_retired:
                continue
            yield Blocker(kind="node", node_id=node["node_id"], count=1)


def _unsettled(cursor: duckdb.DuckDBPyConnection, end_at: datetime) -> list[Blocker]:
    row = run(cursor, "close_unsettled", {"end_at": _naive(end_at)}).fetchone()
    legs = row[0] if row else 0
    return [Blocker(kind="unsettled", node_id="settler", count=legs)] if legs > 0 else []


def _naive(at: datetime) -> datetime:
    return at.replace(tzinfo=None)  # windows are UTC
