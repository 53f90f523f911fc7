"""What a close of a month did, and what it left to do."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from enum import StrEnum

from pricing.close_checks import Blocker


class Outcome(StrEnum):
    """How the month of one tenant stands after a run."""

    READY = "ready"  # nothing blocks it; a preview says so
    CLOSED = "closed"
    ALREADY_CLOSED = "already_closed"
    BLOCKED = "blocked"
    NOT_ENDED = "not_ended"  # the month still runs in the tenant's zone


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeDocument:
    """A document of the run. net_amount in currency, before tax."""

    number: str
    kind: str
    currency: str
    net_amount: Decimal
    exact_amount: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantClose:
    """One tenant's outcome. blockers: what it waits for; accepted: what it no longer waits for."""

    tenant_id: str
    kind: str
    outcome: Outcome
    documents: Sequence[MadeDocument] = ()
    blockers: Sequence[Blocker] = ()
    accepted: Sequence[Blocker] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NotInvoiced:
    """Usage of the month that no document bills, by reason; amounts exact, in currency.

    amount_min, amount_max: None where no price is known.
    """

    reason: str
    tenant_id: str | None
    currency: str | None
    requests: int
    amount_min: Decimal | None
    amount_max: Decimal | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CloseReport:
    """A run of the close for one month."""

    month: date
    tenants: Sequence[TenantClose]
    not_invoiced: Sequence[NotInvoiced] = field(default_factory=tuple)

    def with_outcome(self, outcome: Outcome) -> list[TenantClose]:
        """The tenants whose run ended like this."""
        return [each for each in self.tenants if each.outcome == outcome]

    @property
    def is_done(self) -> bool:
        """Whether no tenant is left to close for this month."""
        left = (Outcome.READY, Outcome.BLOCKED, Outcome.NOT_ENDED)
        return not any(each.outcome in left for each in self.tenants)
