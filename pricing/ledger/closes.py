"""How a tenant's close was begun: its marks, and what was accepted by name."""

from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final

from sqlalchemy import Connection, func, select

from metering.windows import Window
from pricing.close_checks import Acceptance
from pricing.errors import Conflict
from pricing.ledger.connect import Change
from pricing.ledger.invoice_tables import period_close
from pricing.ledger.periods import begin_close
from pricing.ledger.tables import accounting_period, job_run

DAILY_RECONCILIATION: Final = "daily_reconciliation"  # the job whose outcomes a close reads


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The marks of a close: settle_seq of the usage store.

    The month's own rows count up to settle_mark. Adjustments of earlier months count above
    adjusted_after_mark and up to settle_mark: the intervals of a tenant's closes follow each other
    without gap or overlap, in whatever order its months are closed.
    """

    tenant_id: str
    month: date
    settle_mark: int
    adjusted_after_mark: int


def begin(
    change: Change, tenant_id: str, *, month: date, settle_mark: int, accepted: Acceptance
) -> Begun:
    """Begin the close, or take up one that was begun. Raises Conflict for a closed month.

    accepted: kept with the period, for the audit.
    """
    period = begin_close(change, tenant_id, month=month, settle_mark=settle_mark)
    known = find_begun(change.connection, tenant_id, month=month)
    if known is not None:
        return known
    after = last_mark(change.connection, tenant_id, month)
    if period.settle_mark is None or period.settle_mark < after:
        raise Conflict(
            f"The usage store stands at {settle_mark}, but {tenant_id!r} was closed at {after}.",
            remedy="The usage store is older than the ledger: restore both from one backup.",
        )
    change.insert(
        period_close,
        {
            "tenant_id": tenant_id,
            "month": month,
            "adjusted_after_mark": after,
            "begun_by": change.actor,
            "accepted": sorted(accepted.names),
            "accepted_reason": accepted.reason or None,
        },
    )
    return Begun(
        tenant_id=tenant_id,
        month=month,
        settle_mark=period.settle_mark,
        adjusted_after_mark=after,
    )


def find_begun(connection: Connection, tenant_id: str, *, month: date) -> Begun | None:
    """How the month's close was begun, if it was."""
    period, own = accounting_period, period_close
    query = (
        select(own.c.tenant_id, own.c.month, period.c.settle_mark, own.c.adjusted_after_mark)
        .join(
            period,
            (period.c.tenant_id == own.c.tenant_id) & (period.c.month == own.c.month),
        )
        .where(own.c.tenant_id == tenant_id, own.c.month == month)
    )
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else Begun(**row)


def unreported_days(connection: Connection, window: Window) -> dict[str, int]:
    """Node → UTC days of `window` on which its engine counted tokens that no record reports.

    From the outcomes of the job daily_reconciliation; counters themselves are kept for two weeks.
    """
    last = window.end_at - timedelta(microseconds=1)
    query = select(job_run.c.outcome).where(
        job_run.c.job == DAILY_RECONCILIATION,
        job_run.c.period >= f"{window.start_at:%Y-%m-%d}",
        job_run.c.period <= f"{last:%Y-%m-%d}",
    )
    found: Counter[str] = Counter()
    for outcome in connection.execute(query).scalars():
        found.update((outcome or {}).get("unreported", {}).keys())
    return dict(found)


def last_mark(connection: Connection, tenant_id: str, month: date) -> int:
    """The settle_seq up to which closes of the tenant's other months took adjustments."""
    table = accounting_period
    query = select(func.max(table.c.settle_mark)).where(
        table.c.tenant_id == tenant_id, table.c.month != month
    )
    return connection.execute(query).scalar_one() or 0
