"""How re-rates of closed months look on the wire."""

from collections.abc import Iterable
from datetime import date
from typing import Any

from pydantic import BaseModel, Field

from pricing.api.invoice_shapes import Month, Reason
from pricing.api.shapes import Amount, Currency, Id, Shape, Shown, Time
from pricing.runs.rerate import RerateReport


class RerateAsked(Shape):
    """A closed month to rate anew.

    policies: decide anew, by the policies in force at the month's end, what they decide. trial: say
    what would change, and change nothing.
    """

    month: Month
    reason: Reason
    tenants: list[Id] | None = Field(None, max_length=10_000)
    policies: bool = False
    trial: bool = False


class RerateShown(Shown):
    """A re-rate on record. tenants null: all whose month was closed."""

    rerate_id: str
    month: date
    tenants: list[str] | None
    reason: str
    catalogue_id: str = Field(description="the default book, and every book with its revision")
    requested_at: Time
    requested_by: str


class TenantChange(Shown):
    """What it changes for one tenant; exact. difference: what later invoices charge."""

    tenant_id: Id
    currency: Currency | None = Field(description="null: requests that have no price")
    requests: int
    amount_before: Amount
    amount_after: Amount
    difference: Amount


class Rerated(BaseModel):
    """A re-rate and what it changed, by tenant, in money. rerate_id null: it was a trial."""

    rerate_id: str | None
    month: Month
    tenants: list[str]
    items: list[TenantChange]


class RerateWhole(RerateShown):
    """A re-rate on record, and what it changed until the month was rated anew once more."""

    items: list[TenantChange]


def rerated(report: RerateReport) -> Rerated:
    """A re-rate's report."""
    return Rerated(
        rerate_id=report.rerate.rerate_id if report.rerate else None,
        month=f"{report.month:%Y-%m}",
        tenants=list(report.tenants),
        items=changes_shown(report.changes),
    )


def changes_shown(changes: Iterable[Any]) -> list[TenantChange]:
    """Rows of a report."""
    return [TenantChange.model_validate(each) for each in changes]
