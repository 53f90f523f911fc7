"""/v1/requests: requests one by one, and the whole story of one."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.listing import listed
from pricing.api.paging import Paged
from pricing.api.representation import LIST_CONTENT, one
from pricing.api.routes.usage import Disposition
from pricing.api.shapes import Amount, Id, Listing, Shown, Text, Time
from pricing.api.windows import WindowQuery
from pricing.flags import FLAGS, flag_names
from pricing.ledger.rows import Page
from pricing.money import token_charge
from pricing.policy import deciding_policy
from pricing.reports.requests import (
    RequestQuery,
    list_requests,
    priced_lines,
    request_story,
    standing,
)

router = APIRouter(tags=["requests"])
Reading = Annotated[Call, may("requests:read")]
Flag = Literal[FLAGS]  # type: ignore[valid-type] # the names live in pricing/flags.py


class RequestRow(Shown):
    """A request as it stands now."""

    request_id: str = Field(examples=["0b7c9a52-6f2d-4d6c-9c43-0f5e8f1a2b3c"])
    billing_at: Time
    finished_at: Time
    tenant_id: str | None = Field(description="null: unattributed")
    project_id: str | None
    cost_centre_id: str | None
    model_id: str
    operation: str | None
    service_tier: str | None
    pool: str | None
    disposition: Disposition
    reason: str | None
    flags: list[str]
    entry: str | None
    currency: str | None
    uncached_tokens: int
    cached_tokens: int
    cache_write_tokens: int
    unsplit_tokens: int
    output_tokens: int
    reasoning_tokens: int
    amount: Amount | None = Field(description="owed where billed, else the least at stake")
    amount_max: Amount | None


class Line(BaseModel):
    """One line of the bill: tokens × unit price / 1,000,000 = amount, exact."""

    line: str = Field(examples=["cached_input"])
    tokens: int = Field(examples=[2048])
    unit_price: Amount | None = Field(description="per million tokens")
    amount: Amount | None
    node_id: str | None = Field(description="the node that earns it; null for a tenant's key")


class Leg(Shown):
    """What one engine recorded of the request, or of a retry under the same key."""

    event_id: str
    own: bool = Field(description="false: another leg of the same key, such as a retry")
    stage: str
    status: str
    node_id: str | None
    pool: str | None
    engine: str | None
    engine_version: str | None
    model_id: str
    started_at: Time
    finished_at: Time
    input_tokens: int | None
    cached_input_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    queue_seconds: float | None
    prefill_seconds: float | None
    ttft_seconds: float | None
    decode_seconds: float | None
    e2e_seconds: float | None
    kv_transfer_seconds: float | None
    source: str | None
    source_position: str | None


class Revision(Shown):
    """One row of the request's history; sign −1 takes back the revision of that number."""

    settled_at: Time
    part: int
    revision: int
    sign: int
    cause: str = Field(examples=["settled"])
    disposition: Disposition
    reason: str | None
    amount: Amount | None


class Story(BaseModel):
    """One request: what was billed, at which price and why, and from which legs."""

    request_id: str
    billing_at: Time
    tenant_id: str | None
    project_id: str | None
    cost_centre_id: str | None
    api_key_id: str | None
    model_id: str
    operation: str | None
    disposition: Disposition
    reason: str | None
    flags: list[str]
    policy: str | None = Field(
        examples=['tenant.decode_only = "trust_decode"'],
        description="the policy that decided, as in its file; null: there was nothing to decide",
    )
    currency: str | None
    amount: Amount | None
    lines: list[Line]
    price: dict[str, str] = Field(
        examples=[{"book": "list-cny", "entry": "glm-5.2@2026-08-19T16:00:00Z"}],
        description="the rules of the price book that decided; empty without a price",
    )
    legs: list[Leg]
    history: list[Revision]


class RequestsAsked(WindowQuery):
    """Which requests."""

    tenant_id: Id | None = None
    project_id: Text | None = None
    model_id: Text | None = None
    disposition: Disposition | None = None
    flag: Flag | None = Field(None, description="docs/policies.md explains each", examples=[None])


@router.get(
    "/v1/requests",
    summary="List requests",
    response_model=Listing[RequestRow],
    responses=LIST_CONTENT,
)
def get_requests(
    call: Reading, paging: Paged, *, asked: Annotated[RequestsAsked, Query()]
) -> Response:
    """Requests by billing instant; those that come while you page move no other."""
    scope = call.scope(asked.tenant_id)
    query = RequestQuery(
        window=asked.window(),
        project_id=asked.project_id,
        model_id=asked.model_id,
        disposition=asked.disposition,
        flag=asked.flag,
    )

    def rows(page: Page) -> list[dict[str, Any]]:
        found = call.usage(lambda cursor: list_requests(cursor, scope, query=query, page=page))
        return [row | {"flags": flag_names(row["flags"])} for row in found]

    return listed(call.request, RequestRow, paging, rows, billing_at=datetime, request_id=UUID)


@router.get("/v1/requests/{request_id}", summary="Read a request's story", response_model=Story)
def get_story(call: Reading, request_id: UUID) -> Response:
    """What was billed, at which price and why, from which legs, and how it came to be so."""
    scope = call.scope()
    revisions, legs = call.usage(lambda cursor: request_story(cursor, scope, str(request_id)))
    if not scope.every_tenant:  # which machine did it is the house's own business
        hidden = dict.fromkeys(("node_id", "pool", "source", "source_position"))
        legs = [leg | hidden for leg in legs]
        revisions = [row | {"input_node_id": None, "output_node_id": None} for row in revisions]
    return one(call.request, _story(revisions, legs))


def _story(revisions: list[dict[str, Any]], legs: list[dict[str, Any]]) -> Story:
    now = standing(revisions) or revisions[-1:]
    head = now[0]
    lines = [
        Line(**line, amount=_charge(line["tokens"], line["unit_price"]))
        for row in now
        for line in priced_lines(row)
    ]
    rules = ("book", "book_revision", "entry", "context_tier", "band", "contract")
    price = {name: head[name] for name in rules if head[name] is not None}
    flags = 0
    for row in now:
        flags |= row["flags"]
    amounts = [row["amount"] for row in now]
    known = {name: head[name] for name in Story.model_fields if name in head}
    return Story(
        **known
        | {
            "flags": flag_names(flags),
            "policy": deciding_policy(head["disposition"], head["reason"], flag_names(flags)),
            "amount": None if None in amounts else sum(amounts, Decimal(0)),
            "lines": lines,
            "price": price,
            "legs": [Leg.model_validate(leg) for leg in legs],
            "history": [Revision.model_validate(row) for row in revisions],
        }
    )


def _charge(tokens: int, unit_price: Decimal | None) -> Decimal | None:
    return None if unit_price is None else token_charge(tokens, unit_price)
