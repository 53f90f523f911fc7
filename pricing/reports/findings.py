"""What a person should look at: money at risk, odd requests, records set aside, silent nodes."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import duckdb

from metering.windows import Window
from pricing.flags import FLAGS
from pricing.policy import SET_ASIDE
from pricing.reports.both_sources import read_both_sources
from pricing.reports.rows import read_rows
from pricing.scope import Scope

GROUPS_MAX: Final = 1_000  # kinds of quarantined records that are told apart
SILENT_AFTER: Final = timedelta(minutes=10)
FORGOTTEN_AFTER: Final = timedelta(days=7)  # a node unheard for this long was taken away
REMEDIES: Final = {
    "no_price": "Publish a price book with an entry for the model at that time.",
    "ambiguous_name": "Several names of the book match: make one of them longer or exact.",
    "unattributed": "Give the gateway or the engine a tenant label, or register the key id.",
    "silent_node": "Look at the sidecar of the node: tokentill sidecar status.",
    "rejected": "Correct the sender; the record and the field are in the quarantine.",
    "conflict": "Decide which of the two records is right, in the quarantine.",
    "both_sources": "Billed by gateway and engine in one hour: declare the model by every name, "
    "let the gateway name its pool, and credit what was billed twice.",
    "gateway_check": "Gateway and engines tell different tokens: look at the gateway's log "
    "delivery and at clients that pass it by.",
    "reattributed": "The first owner stands; correct the sender, or adjust the bill.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One finding. Its id is the same in every window, so that a decision about it stays.

    requests: requests, records or nodes. amount_min, amount_max: what is at risk, in currency.
    """

    kind: str
    reason: str
    requests: int
    tenant_id: str | None = None
    model_id: str | None = None
    node_id: str | None = None
    field: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    currency: str | None = None
    amount_min: Decimal | None = None
    amount_max: Decimal | None = None
    first_at: datetime | None = None
    last_at: datetime | None = None

    @property
    def finding_id(self) -> str:
        """16 hex digits of what the finding is about."""
        about = (self.kind, self.reason, self.tenant_id, self.model_id, self.node_id, self.field)
        return hashlib.sha256(repr(about).encode()).hexdigest()[:16]

    @property
    def remedy(self) -> str:
        """What to do about it."""
        explained = "docs/policies.md explains it."
        return REMEDIES.get(self.reason) or REMEDIES.get(self.kind) or explained


def findings(
    cursor: duckdb.DuckDBPyConnection, scope: Scope, *, window: Window, now: datetime
) -> list[Found]:
    """Findings of the window inside `scope`, the most money at risk first.

    A tenant sees those about its usage; the house sees those about records and nodes as well.
    """
    within = {"every_tenant": scope.every_tenant, "tenant_id": scope.tenant_id}
    found = [
        *_not_billed(cursor, window, within),
        *_flagged(cursor, window, within),
        *_both_sources(cursor, window, within),
        *(_of_the_house(cursor, window, now) if scope.every_tenant else ()),
    ]
    return sorted(found, key=_order)


def _order(found: Found) -> tuple[Decimal, int, str]:
    return -(found.amount_max or Decimal(0)), -found.requests, found.finding_id


def _not_billed(
    cursor: duckdb.DuckDBPyConnection, window: Window, within: dict[str, Any]
) -> Iterator[Found]:
    for row in read_rows(cursor, "findings_not_billed", window, **within):
        yield Found(kind=row.pop("disposition"), **row)


def _flagged(
    cursor: duckdb.DuckDBPyConnection, window: Window, within: dict[str, Any]
) -> Iterator[Found]:
    for row in read_rows(cursor, "findings_flags", window, flag_count=len(FLAGS), **within):
        yield Found(kind="flag", reason=FLAGS[row.pop("bit")], **row)


def _both_sources(
    cursor: duckdb.DuckDBPyConnection, window: Window, within: dict[str, Any]
) -> Iterator[Found]:
    for row in read_both_sources(cursor, window, **within):
        yield Found(
            kind="both_sources",
            reason="both_sources",
            requests=row["requests"],
            tenant_id=row["tenant_id"],
            currency=row["currency"],
            amount_min=Decimal(0),
            amount_max=row["amount"],
        )


def _gateway_checks(cursor: duckdb.DuckDBPyConnection, window: Window) -> Iterator[Found]:
    for row in read_rows(cursor, "findings_gateway_check", window, set_aside=SET_ASIDE):
        yield Found(
            kind="gateway_check",
            reason="gateway_check",
            requests=row["requests"],
            tenant_id=row["tenant_id"],
            model_id=row["model_id"],
            input_tokens=row["input_difference"],
            output_tokens=row["output_difference"],
        )


def _of_the_house(
    cursor: duckdb.DuckDBPyConnection, window: Window, now: datetime
) -> Iterator[Found]:
    for row in read_rows(cursor, "findings_unattributed", window):
        yield Found(kind="unattributed", reason="unattributed", **row)
    yield from _gateway_checks(cursor, window)
    for row in read_rows(cursor, "findings_quarantine", window, rows_max=GROUPS_MAX):
        yield Found(requests=row.pop("records"), **row)
    horizon: dict[str, Any] = {
        "silent_at": (now - SILENT_AFTER).replace(tzinfo=None),
        "forgotten_at": (now - FORGOTTEN_AFTER).replace(tzinfo=None),
    }
    for row in read_rows(cursor, "findings_silent", **horizon):
        yield Found(
            kind="silent_node",
            reason="silent_node",
            requests=1,
            node_id=row["node_id"],
            first_at=row["watermark_at"],
            last_at=row["seen_at"],
        )
