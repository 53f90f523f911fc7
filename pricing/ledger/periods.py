"""Accounting periods: which months are open, closing or closed (docs/decisions/0006-close.md)."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import Connection, select

from pricing.errors import Conflict
from pricing.ledger.connect import Change
from pricing.ledger.rows import fetch_all
from pricing.ledger.tables import PeriodState, accounting_period


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """A tenant's month. A month without a row is open.

    month: its first day, in the tenant's billing zone. settle_mark: the settle_seq of the usage
    store up to which rows belong to the month itself; later ones are adjustments.
    """

    tenant_id: str
    month: date
    state: str = PeriodState.OPEN
    settle_mark: int | None = None
    closing_at: datetime | None = None
    closed_at: datetime | None = None


def begin_close(change: Change, tenant_id: str, *, month: date, settle_mark: int) -> Period:
    """From now on usage of the month becomes an adjustment of the next open one.

    A close that was begun and not finished keeps its first mark. Raises Conflict for a closed one.
    """
    old = find_period(change.connection, tenant_id, month=month)
    if old is not None and old.state == PeriodState.CLOSING:
        return old
    _refuse_closed(old, tenant_id, month)
    key: dict[str, Any] = {"tenant_id": tenant_id, "month": month}
    marks: dict[str, Any] = {
        "state": PeriodState.CLOSING,
        "settle_mark": settle_mark,
        "closing_at": change.at,
        "closed_at": None,
    }
    if old is None:
        change.insert(accounting_period, key | marks)
    else:
        change.update(accounting_period, key, marks)
    return Period(**key, **marks)


def end_close(change: Change, tenant_id: str, *, month: date) -> Period:
    """Close the month for good. Raises Conflict unless its close was begun."""
    old = find_period(change.connection, tenant_id, month=month)
    _refuse_closed(old, tenant_id, month)
    if old is None or old.state != PeriodState.CLOSING:
        raise Conflict(f"The close of {month:%Y-%m} of {tenant_id!r} was not begun.")
    key: dict[str, Any] = {"tenant_id": tenant_id, "month": month}
    ending = {"state": PeriodState.CLOSED, "closed_at": change.at}
    return Period(**change.update(accounting_period, key, ending))


def find_period(connection: Connection, tenant_id: str, *, month: date) -> Period | None:
    """The month's row, if its close was ever begun."""
    table = accounting_period
    query = select(table).where(table.c.tenant_id == tenant_id, table.c.month == month)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else Period(**row)


def marked_periods(connection: Connection) -> list[Period]:
    """Months that are closing or closed: for the settler, whose later rows adjust them."""
    query = select(accounting_period).where(accounting_period.c.state != PeriodState.OPEN)
    return fetch_all(connection, query, Period)


def _refuse_closed(period: Period | None, tenant_id: str, month: date) -> None:
    if period is not None and period.state == PeriodState.CLOSED:
        raise Conflict(
            f"{month:%Y-%m} of {tenant_id!r} is closed.",
            remedy="Correct it with an adjustment of the next open month or a credit note.",
        )
