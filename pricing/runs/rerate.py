"""Re-rating a closed month: what it should have cost, as corrections on later invoices (V6, V8).

Only when it is asked for, with a reason. The documents of the month stay; each request whose money
changes is taken back and written anew as an adjustment, which the tenant's next close bills. One
transaction a day of billing instants; what costs the same is left alone, so that a second run, also
after a kill, adds nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa

from metering.store.connect import transaction
from pricing.directory import ClosedPeriod
from pricing.errors import Conflict
from pricing.ledger.connect import Ledger
from pricing.ledger.invoices import check_reason
from pricing.ledger.policies import policy_in_force
from pricing.ledger.rerates import Rerate, add_rerate
from pricing.money import exact_arithmetic, exact_sum
from pricing.policy import Policy
from pricing.reports.rows import read_rows
from pricing.runs.reprice import append_rated, rate_current
from pricing.runs.settle import Rules, read_progress, settle_values
from pricing.runs.statements import run

Progress = Callable[[int, int], None]  # days done, days to do


@dataclass(frozen=True, slots=True, kw_only=True)
class RerateOrder:
    """What is asked. month: its first day. tenants: only these; None: all whose month is closed.

    with_policies: decide anew what policies decide, by those in force at the month's end.
    is_trial: say what would change, and change nothing.
    """

    month: date
    reason: str
    tenants: frozenset[str] | None = None
    actor: str = "tokentill rerate"
    with_policies: bool = False
    is_trial: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RerateChange:
    """One tenant's requests that were written anew, and their exact amounts, in `currency`.

    currency None: those of them that have no price, before or after.
    """

    tenant_id: str
    currency: str | None
    requests: int
    amount_before: Decimal
    amount_after: Decimal

    @property
    def difference(self) -> Decimal:
        """What later invoices charge; below 0: give back."""
        with exact_arithmetic():
            return self.amount_after - self.amount_before


@dataclass(frozen=True, slots=True, kw_only=True)
class RerateReport:
    """What a re-rate did, or as a trial would do. rerate: its record; None for a trial."""

    month: date
    rerate: Rerate | None
    tenants: Sequence[str]
    changes: Sequence[RerateChange]


class _TrialOver(Exception):
    """No error: it takes back what a trial has written."""


def rerate_month(
    cursor: duckdb.DuckDBPyConnection,
    ledger: Ledger,
    rules: Rules,
    order: RerateOrder,
    *,
    now: datetime,
    progress: Progress = lambda _done, _all: None,
) -> RerateReport:
    """Rate the closed month by `rules`; raises Conflict where it is closed for nobody asked.

    Runs where nothing else changes the settler's tables.
    """
    scope = [
        each
        for each in rules.directory.closed
        if each.month == order.month and (order.tenants is None or each.tenant_id in order.tenants)
    ]
    if not scope:
        raise Conflict(
            f"{order.month:%Y-%m} is closed for none of these tenants.",
            remedy="Open months are rated anew by themselves when a book is published.",
        )
    if order.with_policies:
        rules = replace(rules, policy=_policy_then(ledger, scope))
    record = None if order.is_trial else _on_record(ledger, rules, order, now)
    _register_scope(cursor, scope)
    days = [row["day"] for row in read_rows(cursor, "rerate_days")]
    rows: list[dict[str, Any]] = []
    for done, day in enumerate(days, start=1):
        rows += _rerate_day(cursor, rules, day, order=order, now=now)
        progress(done, len(days))
    return RerateReport(
        month=order.month,
        rerate=record,
        tenants=sorted(each.tenant_id for each in scope),
        changes=_added_up(rows),
    )


def _policy_then(ledger: Ledger, scope: Sequence[ClosedPeriod]) -> Policy:
    """The policies at the end of the month; a correction of them is dated before it."""
    last = max(each.end_at for each in scope) - timedelta(microseconds=1)
    with ledger.read() as connection:
        return policy_in_force(connection, last)


def _on_record(ledger: Ledger, rules: Rules, order: RerateOrder, now: datetime) -> Rerate:
    with ledger.write(actor=order.actor, at=now) as change:
        return add_rerate(
            change,
            order.month,
            tenants=order.tenants,
            reason=check_reason(order.reason),
            catalogue_id=rules.prices.catalogue_id,
        )


def _rerate_day(
    cursor: duckdb.DuckDBPyConnection,
    rules: Rules,
    day: date,
    *,
    order: RerateOrder,
    now: datetime,
) -> list[dict[str, Any]]:
    """One UTC day in one transaction; the sums of what changed, by tenant and currency."""
    _, settle_seq = read_progress(cursor)
    start = datetime.combine(day, time())
    values = settle_values(rules, now, settle_seq + 1) | {
        "start_at": start,
        "end_at": start + timedelta(days=1),
        "cause": "rerated",
        "with_policies": order.with_policies,
    }
    # current_request says which closed month its rows correct: nothing else may leave them out
    open_rules = replace(rules, directory=replace(rules.directory, closed=()))
    rows: list[dict[str, Any]] = []
    with suppress(_TrialOver), transaction(cursor):
        run(cursor, "rerate_current", values)
        rate_current(cursor, open_rules, values, with_policies=order.with_policies)
        run(cursor, "rerate_keep_same")
        run(cursor, "settle_reversals", values)
        rows = read_rows(cursor, "rerate_change")
        if order.is_trial:
            raise _TrialOver
        append_rated(cursor, values)
    return rows


def _register_scope(cursor: duckdb.DuckDBPyConnection, scope: Sequence[ClosedPeriod]) -> None:
    at = pa.timestamp("us")
    columns = {
        "tenant_id": pa.array([each.tenant_id for each in scope], pa.string()),
        "month": pa.array([each.month for each in scope], pa.date32()),
        "start_at": pa.array([_naive(each.start_at) for each in scope], at),
        "end_at": pa.array([_naive(each.end_at) for each in scope], at),
    }
    cursor.register("rerate_scope", pa.table(columns))


def _added_up(rows: Sequence[Mapping[str, Any]]) -> list[RerateChange]:
    """The days of a tenant and currency together; what changed nothing is left out."""
    found: dict[tuple[str, str | None], list[Mapping[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["tenant_id"], row["currency"]), []).append(row)
    return [
        RerateChange(
            tenant_id=tenant_id,
            currency=currency,
            requests=sum(row["requests"] for row in own),
            amount_before=exact_sum(row["amount_before"] for row in own),
            amount_after=exact_sum(row["amount_after"] for row in own),
        )
        for (tenant_id, currency), own in sorted(
            found.items(), key=lambda item: (item[0][0], item[0][1] or "")
        )
    ]


def _naive(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(tzinfo=None)
