"""Re-rates of closed months that were asked for: which, why, when and by whom."""

import secrets
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime

from sqlalchemy import Connection

from pricing.ledger.connect import Change
from pricing.ledger.invoice_tables import rerate
from pricing.ledger.rows import Page, all_of, fetch_all, fetch_one, fetch_page
from pricing.scope import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerate:
    """One re-rate. month: its first day; tenants: None for all. catalogue_id: the books used."""

    rerate_id: str
    month: date
    tenants: list[str] | None
    reason: str
    catalogue_id: str
    requested_at: datetime
    requested_by: str


def add_rerate(
    change: Change,
    month: date,
    *,
    tenants: Collection[str] | None,
    reason: str,
    catalogue_id: str,
) -> Rerate:
    """Put on record that a closed month is rated anew, before anything is written."""
    new = Rerate(
        rerate_id="rr_" + secrets.token_hex(8),
        month=month,
        tenants=None if tenants is None else sorted(tenants),
        reason=reason,
        catalogue_id=catalogue_id,
        requested_at=change.at,
        requested_by=change.actor,
    )
    change.insert(rerate, asdict(new))
    return new


def get_rerate(connection: Connection, rerate_id: str) -> Rerate:
    """One re-rate. Raises NotFound."""
    query = all_of(rerate, Scope.house()).where(rerate.c.rerate_id == rerate_id)
    return fetch_one(connection, query, Rerate, what=f"re-rate {rerate_id!r}")


def list_rerates(connection: Connection, page: Page) -> list[Rerate]:
    """Re-rates, the last first."""
    by = [rerate.c.requested_at, rerate.c.rerate_id]
    query = all_of(rerate, Scope.house())
    return fetch_page(connection, query, Rerate, by=by, page=page, descending=True)


def next_rerate_at(connection: Connection, found: Rerate) -> datetime | None:
    """When the same month was rated anew once more, if it was."""
    later = [
        each.requested_at
        for each in _of_months(connection, [found.month])
        if each.requested_at > found.requested_at
    ]
    return min(later, default=None)


def rerate_reasons(
    connection: Connection, tenant_id: str, months: Collection[date]
) -> dict[date, str]:
    """Served month → why it was last re-rated for the tenant."""
    found = sorted(_of_months(connection, months), key=lambda each: each.requested_at)
    return {
        each.month: each.reason
        for each in found
        if each.tenants is None or tenant_id in each.tenants
    }


def _of_months(connection: Connection, months: Collection[date]) -> Sequence[Rerate]:
    query = all_of(rerate, Scope.house()).where(rerate.c.month.in_(months))
    return fetch_all(connection, query, Rerate)
