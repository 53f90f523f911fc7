"""Disputes: a tenant asks money back on one line; what is credited becomes a later line."""

from dataclasses import asdict, dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, select

from pricing.errors import Conflict, RequestInvalid
from pricing.invoices import InvoiceLine, dispute_line
from pricing.ledger.connect import Change
from pricing.ledger.invoice_tables import DisputeState, InvoiceState, dispute, invoice
from pricing.ledger.invoices import get_invoice, lines_of
from pricing.ledger.rows import Page, all_of, fetch_one, fetch_page
from pricing.money import to_invoice_amount
from pricing.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispute:
    """One line of a final invoice that the tenant does not accept.

    amount: what is asked back; credited_amount: what is given back; both in the invoice's currency
    and in whole minor units. credited_on: the later invoice whose line gives it back.
    """

    dispute_id: str
    tenant_id: str
    number: str
    position: int
    amount: Decimal
    reason: str
    state: str = DisputeState.OPEN
    opened_at: datetime
    opened_by: str
    decided_at: datetime | None = None
    decided_by: str | None = None
    decision_reason: str | None = None
    credited_amount: Decimal | None = None
    credited_on: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What a tenant asks."""

    number: str
    position: int
    amount: Decimal
    reason: str


def open_dispute(change: Change, scope: Scope, asked: Asked, *, dispute_id: UUID) -> Dispute:
    """Open a dispute on a line of a final invoice that `scope` may see."""
    found = get_invoice(change.connection, scope, asked.number)
    if found.state != InvoiceState.FINAL:
        raise Conflict(f"{asked.number} is {found.state}; only a final invoice is disputed.")
    lines = lines_of(change.connection, asked.number)
    if not 1 <= asked.position <= len(lines):
        raise RequestInvalid(f"{asked.number} has lines 1 to {len(lines)}.")
    _check_amount(asked.amount, lines[asked.position - 1].rounded_amount, found.currency)
    new = Dispute(
        **asdict(asked),
        dispute_id=str(dispute_id),
        tenant_id=found.tenant_id,
        opened_at=change.at,
        opened_by=change.actor,
    )
    change.insert(dispute, asdict(new))
    return new


def decide_dispute(
    change: Change, dispute_id: str, *, credited: Decimal | None, reason: str
) -> Dispute:
    """Credit an open dispute with an amount, or reject it (None); decided once."""
    old = get_dispute(change.connection, Scope.house(), dispute_id)
    if old.state != DisputeState.OPEN:
        raise Conflict(f"Dispute {dispute_id} is {old.state} already.")
    if credited is not None:
        found = get_invoice(change.connection, Scope.house(), old.number)
        line = lines_of(change.connection, old.number)[old.position - 1]
        others = _credited_on_line(change.connection, old.number, old.position)
        _check_amount(credited, line.rounded_amount - others, found.currency)
    state = DisputeState.REJECTED if credited is None else DisputeState.CREDITED
    ending: dict[str, Any] = {
        "state": state,
        "decided_at": change.at,
        "decided_by": change.actor,
        "decision_reason": reason,
        "credited_amount": credited,
    }
    return Dispute(**change.update(dispute, {"dispute_id": dispute_id}, ending))


def get_dispute(connection: Connection, scope: Scope, dispute_id: str) -> Dispute:
    """One dispute. Raises NotFound, also for one outside `scope`."""
    query = all_of(dispute, scope).where(dispute.c.dispute_id == dispute_id)
    return fetch_one(connection, query, Dispute, what=f"dispute {dispute_id!r}")


def list_disputes(connection: Connection, scope: Scope, page: Page) -> list[Dispute]:
    """Disputes by id."""
    by = [dispute.c.dispute_id]
    return fetch_page(connection, all_of(dispute, scope), Dispute, by=by, page=page)


def lines_to_give(
    connection: Connection, tenant_id: str, currency: str
) -> list[tuple[str, InvoiceLine]]:
    """(dispute, line) of what was credited to a tenant and is on no invoice yet."""
    query = (
        all_of(dispute, Scope.of(tenant_id))
        .join(invoice, invoice.c.number == dispute.c.number)
        .where(
            dispute.c.state == DisputeState.CREDITED,
            dispute.c.credited_on.is_(None),
            invoice.c.currency == currency,
            # what was cancelled as a whole is not given back twice
            invoice.c.state == InvoiceState.FINAL,
        )
        .order_by(dispute.c.decided_at, dispute.c.dispute_id)
    )
    found = [Dispute(**row) for row in connection.execute(query).mappings()]
    return [(each.dispute_id, _line(connection, each)) for each in found]


def currencies_to_give(connection: Connection, tenant_id: str) -> set[str]:
    """Currencies in which something was credited to a tenant and is on no invoice yet."""
    query = (
        select(invoice.c.currency)
        .join(dispute, invoice.c.number == dispute.c.number)
        .where(
            dispute.c.tenant_id == tenant_id,
            dispute.c.state == DisputeState.CREDITED,
            dispute.c.credited_on.is_(None),
            invoice.c.state == InvoiceState.FINAL,
        )
    )
    return set(connection.execute(query).scalars())


def given_on(change: Change, dispute_id: str, number: str) -> None:
    """Note the invoice that gives a credited dispute back."""
    change.update(dispute, {"dispute_id": dispute_id}, {"credited_on": number})


def move_given(change: Change, old: str, new: str | None) -> None:
    """What a void draft gave back is given by the one in its place, or waits again."""
    query = select(dispute.c.dispute_id).where(dispute.c.credited_on == old)
    for dispute_id in change.connection.execute(query).scalars().all():
        change.update(dispute, {"dispute_id": dispute_id}, {"credited_on": new})


def _line(connection: Connection, found: Dispute) -> InvoiceLine:
    corrected = lines_of(connection, found.number)[found.position - 1]
    return dispute_line(
        found.credited_amount or Decimal(0),
        corrected,
        number=found.number,
        position=found.position,
        reason=found.decision_reason or found.reason,
    )


def _credited_on_line(connection: Connection, number: str, position: int) -> Decimal:
    query = all_of(dispute, Scope.house()).where(
        dispute.c.number == number, dispute.c.position == position
    )
    found = [Dispute(**row) for row in connection.execute(query).mappings()]
    return sum((each.credited_amount or Decimal(0) for each in found), Decimal(0))


def _check_amount(amount: Decimal, highest: Decimal, currency: str) -> None:
    if amount <= 0 or amount > highest or amount != to_invoice_amount(amount, currency):
        raise RequestInvalid(
            f"The amount is {amount}: expected more than 0 and at most {highest} {currency}, in "
            "whole minor units."
        )
