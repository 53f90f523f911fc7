"""What keeps a tenant's month from closing, and what was accepted (docs/finance/month.md)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

REMEDIES: Final[Mapping[str, str]] = {
    "unpriced": "Publish a price for it, or accept it: it stays listed and is not billed.",
    "held": "Wait for the prefill legs, choose a decode_only policy, or accept it.",
    "pending": "Wait for the other half of the requests, or accept it: it becomes an adjustment.",
    "conflict": "Decide in the quarantine which of the two records is right, or accept the first.",
    "both_sources": "In these hours gateway records and engine legs both billed: find out which "
    "answers were billed twice (findings of kind both_sources), or accept it.",
    "node": "Bring the sidecar back and let it send, or accept that what it holds comes late.",
    "unreconciled": "The engine counted tokens that no record reports on some days: tokentill "
    "reconcile names the cause. Send what is missing, or accept it.",
    "unsettled": "Usage is still being settled: run the close again in a moment.",
}
NEVER_ACCEPTED: Final = frozenset({"unsettled"})  # it ends by itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocker:
    """One reason to wait. tenant_id None: it holds up every tenant.

    kind: a key of REMEDIES. count: requests, halves, records, hours, days or legs.
    amount_max: what is at stake at most, in currency, where that can be said.
    """

    kind: str
    tenant_id: str | None = None
    node_id: str | None = None
    reason: str | None = None
    count: int
    currency: str | None = None
    amount_max: Decimal | None = None

    @property
    def name(self) -> str:
        """How it is accepted: t-alder:unpriced, node:p01."""
        return f"{self.tenant_id}:{self.kind}" if self.tenant_id else f"{self.kind}:{self.node_id}"

    @property
    def remedy(self) -> str:
        """What to do about it."""
        return REMEDIES[self.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Acceptance:
    """What was accepted at a close, why and by whom (key id, or the command)."""

    names: frozenset[str] = frozenset()
    reason: str = ""

    def __post_init__(self) -> None:
        if self.names and not self.reason.strip():
            raise ValueError("expected a reason beside what is accepted; it is kept for the audit")

    def splits(self, blockers: Iterable[Blocker]) -> tuple[list[Blocker], list[Blocker]]:
        """(what still blocks, what is accepted)."""
        still: list[Blocker] = []
        accepted: list[Blocker] = []
        for each in blockers:
            may = each.name in self.names and each.kind not in NEVER_ACCEPTED
            (accepted if may else still).append(each)
        return still, accepted
