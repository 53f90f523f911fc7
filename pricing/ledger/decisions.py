"""What a person decided about a finding: accepted with a reason, or to be seen again."""

import secrets
from dataclasses import asdict, dataclass
from datetime import datetime

from sqlalchemy import Connection, select

from pricing.ledger.connect import Change
from pricing.ledger.rows import fetch_all
from pricing.ledger.tables import finding_decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision; the last one of a finding counts, the earlier ones stay."""

    decision_id: str
    finding_id: str
    tenant_id: str | None
    decision: str  # accepted, reopened
    reason: str
    decided_at: datetime
    decided_by: str


def decide(
    change: Change, finding_id: str, *, decision: str, reason: str, tenant_id: str | None
) -> Decision:
    """Add a decision."""
    new = Decision(
        decision_id="dec_" + secrets.token_hex(8),
        finding_id=finding_id,
        tenant_id=tenant_id,
        decision=decision,
        reason=reason,
        decided_at=change.at,
        decided_by=change.actor,
    )
    change.insert(finding_decision, asdict(new))
    return new


def last_decisions(connection: Connection) -> dict[str, Decision]:
    """The decision that counts, by finding."""
    order = (finding_decision.c.decided_at, finding_decision.c.decision_id)
    rows = fetch_all(connection, select(finding_decision).order_by(*order), Decision)
    return {row.finding_id: row for row in rows}
