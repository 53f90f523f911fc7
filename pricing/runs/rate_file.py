"""`tokentill rate`: a usage file priced offline by the same ingest, settlement and prices.

An in-memory store takes the lines, settles them and gives every half up at once; nothing reads a
clock, so the same file and book always give the same answer.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any, Final

import duckdb
import pyarrow as pa

from metering.sources.usage_ndjson import Line, is_foreign, read_usage
from metering.store.append import append_legs
from metering.store.batches import LegBatch
from metering.store.connect import open_store
from metering.wire import to_batch
from pricing.directory import Directory
from pricing.policy import Policy
from pricing.price_book import Book, Catalogue
from pricing.reports.rows import read_rows
from pricing.runs.price_cells import PriceCells
from pricing.runs.settle import Rules, settle_due, settle_new

ROWS_PER_BATCH: Final = 50_000
NO_CLOCK: Final = datetime(1970, 1, 1, tzinfo=UTC)  # arrival of every line
ALL_TIME: Final = timedelta(days=365_000)  # every orphan time has passed


@dataclass(frozen=True, slots=True, kw_only=True)
class RatedFile:
    """What a usage file costs: rows of sql/rate_*.sql, amounts exact in `currency`."""

    currency: str
    billed: Sequence[Mapping[str, Any]]
    not_billed: Sequence[Mapping[str, Any]]
    by_node: Mapping[str, Decimal]
    by_tenant: Mapping[str, Decimal]
    price_keys: Mapping[int, Mapping[str, Any]]
    set_aside: Sequence[Mapping[str, Any]]
    rejected: Sequence[Mapping[str, Any]]


def rate_file(
    lines: Iterable[bytes], book: Book, *, policy: Policy, name_of_file: str, totals: bool = False
) -> RatedFile:
    """Price the lines of a usage file. totals: leave the billed requests out of the answer."""
    catalogue = Catalogue([book], book.name)
    tenants = frozenset(contract.tenant for contract in book.contracts)
    rules = Rules(
        prices=PriceCells(catalogue),
        policy=policy,
        directory=Directory(contract_tenants=tenants),
    )
    store = open_store(None)
    try:
        cursor = store.cursor()
        rejected = list(_append(cursor, read_usage(lines, name_of_file)))
        while settle_new(cursor, rules, now=NO_CLOCK).legs:
            pass
        settle_due(cursor, rules, now=NO_CLOCK + ALL_TIME)
        return _read(cursor, book.currency, rejected, totals=totals)
    finally:
        store.close()


def _append(
    cursor: duckdb.DuckDBPyConnection, lines: Iterator[Line]
) -> Iterator[Mapping[str, Any]]:
    """Store the readable lines; yield those that are not, with their line number and reason."""
    while chunk := list(islice(lines, ROWS_PER_BATCH)):
        rows = [(line.number, line.row) for line in chunk if line.row is not None]
        for line in chunk:
            if line.refusal is not None:
                yield _refused(line.number, line.refusal.field, line.refusal.reason)
        batches, numbers = _by_tenant(rows)
        for answer, places in zip(append_legs(cursor, batches, NO_CLOCK), numbers, strict=True):
            for record in answer.records:
                if record.outcome == "rejected" and record.index is not None:
                    yield _refused(places[record.index], record.field, record.reason)


def _by_tenant(
    rows: Sequence[tuple[int, dict[str, Any]]],
) -> tuple[list[LegBatch], list[list[int]]]:
    """One batch a tenant, because ids that a sender chose are unique within the tenant only."""
    groups: dict[str, list[tuple[int, dict[str, Any]]]] = {}
    for number, row in rows:
        groups.setdefault(row.get("tenant_id") or "", []).append((number, row))
    batches = [
        LegBatch(
            table=pa.Table.from_batches([to_batch(row for _, row in members)]),
            sender=tenant,
            foreign=pa.array([is_foreign(row) for _, row in members], pa.bool_()),
        )
        for tenant, members in groups.items()
    ]
    return batches, [[number for number, _ in members] for members in groups.values()]


def _refused(number: int, field: str, reason: str) -> Mapping[str, Any]:
    return {"line_number": number, "field": field, "reason": reason}


def _read(
    cursor: duckdb.DuckDBPyConnection,
    currency: str,
    rejected: Sequence[Mapping[str, Any]],
    *,
    totals: bool,
) -> RatedFile:
    others = ["unpriced", "held", "undelivered", "cost"]
    billed = [] if totals else read_rows(cursor, "rate_requests", dispositions=["billed"])
    return RatedFile(
        currency=currency,
        billed=billed,
        not_billed=read_rows(cursor, "rate_requests", dispositions=others),
        by_node=_amounts(cursor, "rate_by_node", "node_id"),
        by_tenant=_amounts(cursor, "rate_by_tenant", "tenant_id"),
        price_keys={row["price_key"]: row for row in read_rows(cursor, "rate_price_keys")},
        set_aside=read_rows(cursor, "rate_set_aside"),
        rejected=sorted(rejected, key=lambda item: item["line_number"]),
    )


def _amounts(cursor: duckdb.DuckDBPyConnection, name: str, key: str) -> dict[str, Decimal]:
    rows = read_rows(cursor, name)
    return {row[key] if row[key] is not None else UNATTRIBUTED: row["amount"] for row in rows}


UNATTRIBUTED: Final = "unattributed"
