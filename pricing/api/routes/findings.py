"""/v1/findings and /v1/quarantine: what a person should look at, and what was decided."""

from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from metering.store.quarantine import Correction, resubmit
from metering.windows import Window
from pricing.api.call import Call, may
from pricing.api.listing import listed
from pricing.api.paging import Paged
from pricing.api.representation import LIST_CONTENT, many, one
from pricing.api.shapes import Amount, Id, Listing, Shape, Shown, Text, Time
from pricing.api.windows import WindowQuery
from pricing.ledger.decisions import Decision, decide, last_decisions
from pricing.ledger.rows import Page
from pricing.reports.findings import Found, findings
from pricing.reports.quarantine import (
    QuarantineDecision,
    decide_quarantined,
    get_quarantined,
    list_quarantine,
)

router = APIRouter(tags=["findings"])
Reading = Annotated[Call, may("findings:read")]
Writing = Annotated[Call, may("findings:write")]
Looking = Annotated[Call, may("quarantine:read")]
Deciding = Annotated[Call, may("quarantine:write")]


class FindingShown(Shown):
    """Something to look at."""

    finding_id: str = Field(examples=["3f1c9a526f2d4d6c"])
    kind: str = Field(examples=["unpriced"])
    reason: str = Field(examples=["no_price"])
    tenant_id: str | None
    model_id: str | None
    node_id: str | None
    field: str | None
    requests: int = Field(description="requests, records or nodes")
    input_tokens: int | None
    output_tokens: int | None
    currency: str | None
    amount_min: Amount | None = Field(description="the least that is at risk")
    amount_max: Amount | None = Field(description="the most that is at risk")
    first_at: Time | None
    last_at: Time | None
    remedy: str
    decision: str | None = None
    decision_reason: str | None = None
    decided_by: str | None = None
    decided_at: Time | None = None


class FindingsAsked(WindowQuery):
    """Which findings."""

    tenant_id: Id | None = None


class NewDecision(Shape):
    """What a person decides about a finding."""

    decision: Literal["accepted", "reopened"]
    reason: Text = Field(examples=["Load test of 2026-10-02, not to be billed"])
    tenant_id: Id | None = Field(None, description="whose finding it is, if it is one tenant's")


class DecisionShown(Shown):
    """A decision about a finding; the last one counts, the earlier ones stay."""

    decision_id: str
    finding_id: str
    tenant_id: str | None
    decision: str
    reason: str
    decided_at: Time
    decided_by: str


class QuarantineRow(Shown):
    """A record that was set aside."""

    quarantine_id: str
    kind: Literal["rejected", "conflict", "reattributed"]
    received_at: Time
    sender: str
    event_id: str | None
    tenant_id: str | None
    node_id: str | None
    model_id: str | None
    field: str | None
    reason: str
    record: str = Field(description="as it came, at most 64 KiB")
    finished_at: Time | None
    decision: str | None
    decision_reason: str | None
    decided_by: str | None
    decided_at: Time | None


class QuarantineAsked(BaseModel):
    """Which records."""

    kind: Literal["rejected", "conflict", "reattributed"] | None = None
    open_only: bool = Field(default=True, description="leave out what was decided already")


class NewQuarantineDecision(Shape):
    """What becomes of a record: never billed, or the one stored first stands."""

    decision: Literal["discarded", "kept_first"]
    reason: Text = Field(examples=["Duplicate of a test run"])


class CorrectedRecord(Shape):
    """What a person makes of a rejected record."""

    record: str = Field(
        min_length=2,
        max_length=65_536,
        description="JSON with the fields of a usage leg",
        examples=['{"stage": "unified", "model_id": "glm-5.2", "status": "ok"}'],
    )
    reason: Text = Field(examples=["The gateway sent local time without a zone"])


@router.get(
    "/v1/findings",
    summary="List findings",
    response_model=Listing[FindingShown],
    responses=LIST_CONTENT,
)
def get_findings(call: Reading, asked: Annotated[FindingsAsked, Query()]) -> Response:
    """Money at risk first. The house also sees records set aside and silent nodes."""
    scope = call.scope(asked.tenant_id)
    window: Window = asked.window()
    found = call.usage(lambda cursor: findings(cursor, scope, window=window, now=call.at))
    with call.ledger() as connection:
        decided = last_decisions(connection)
    rows = [_shown(each, decided.get(each.finding_id)) for each in found]
    return many(call.request, FindingShown, rows)


@router.post(
    "/v1/findings/{finding_id}/decisions",
    summary="Decide about a finding",
    response_model=DecisionShown,
    status_code=201,
)
def post_decision(
    call: Writing,
    finding_id: Annotated[str, Field(pattern="^[0-9a-f]{16}$", examples=["3f1c9a526f2d4d6c"])],
    *,
    new: NewDecision,
) -> Response:
    """Accept it, with the reason on record, or have it seen again."""
    return call.created(
        lambda change: DecisionShown.model_validate(decide(change, finding_id, **new.model_dump())),
        new,
    )


@router.get(
    "/v1/quarantine",
    summary="List records in quarantine",
    response_model=Listing[QuarantineRow],
    responses=LIST_CONTENT,
)
def get_quarantine(
    call: Looking, paging: Paged, *, asked: Annotated[QuarantineAsked, Query()]
) -> Response:
    """Records in the order of their arrival, as they came."""

    def rows(page: Page) -> list[dict[str, Any]]:
        return call.usage(
            lambda cursor: list_quarantine(cursor, page, kind=asked.kind, open_only=asked.open_only)
        )

    key = {"received_at": datetime, "quarantine_id": str}
    return listed(call.request, QuarantineRow, paging, rows, **key)


@router.get(
    "/v1/quarantine/{quarantine_id}",
    summary="Read a record in quarantine",
    response_model=QuarantineRow,
)
def get_one_quarantined(call: Looking, quarantine_id: Id) -> Response:
    """One record."""
    row = call.usage(lambda cursor: get_quarantined(cursor, quarantine_id))
    return one(call.request, QuarantineRow.model_validate(row))


@router.post(
    "/v1/quarantine/{quarantine_id}/decisions",
    summary="Decide about a record in quarantine",
    response_model=QuarantineRow,
)
def post_quarantine_decision(
    call: Deciding, quarantine_id: Id, *, new: NewQuarantineDecision
) -> Response:
    """Discard it, or keep the record that was stored first; the reason stays on record."""
    call.usage(lambda cursor: get_quarantined(cursor, quarantine_id))
    decision = QuarantineDecision(
        quarantine_id=quarantine_id,
        decision=new.decision,
        reason=new.reason,
        decided_by=call.principal.key_id,
        decided_at=call.at,
    )
    call.services.write_usage(lambda cursor: decide_quarantined(cursor, decision))
    row = call.usage(lambda cursor: get_quarantined(cursor, quarantine_id))
    return one(call.request, QuarantineRow.model_validate(row))


@router.post(
    "/v1/quarantine/{quarantine_id}/resubmit",
    summary="Correct a rejected record and store it",
    response_model=QuarantineRow,
)
def post_resubmit(call: Deciding, quarantine_id: Id, *, corrected: CorrectedRecord) -> Response:
    """The record is billed like any other from now on; what it was stays in the quarantine."""
    correction = Correction(
        quarantine_id=quarantine_id,
        record=corrected.record,
        reason=corrected.reason,
        decided_by=call.principal.key_id,
        decided_at=call.at,
    )
    call.usage(lambda cursor: get_quarantined(cursor, quarantine_id))
    call.services.write_usage(lambda cursor: resubmit(cursor, correction))
    call.services.changed("usage")
    row = call.usage(lambda cursor: get_quarantined(cursor, quarantine_id))
    return one(call.request, QuarantineRow.model_validate(row))


def _shown(found: Found, decision: Decision | None) -> dict[str, Any]:
    shown = {name: getattr(found, name) for name in FOUND_FIELDS}
    if decision is not None:
        shown |= {
            "decision": decision.decision,
            "decision_reason": decision.reason,
            "decided_by": decision.decided_by,
            "decided_at": decision.decided_at,
        }
    return shown


FOUND_FIELDS = tuple(name for name in FindingShown.model_fields if not name.startswith("deci"))
