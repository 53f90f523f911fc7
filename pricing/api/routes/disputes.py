"""/v1/disputes: lines that a tenant does not accept, and what was decided about them."""

from typing import Annotated
from uuid import uuid4

from fastapi import APIRouter
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.invoice_shapes import DisputeAsked, DisputeDecision, DisputeShown
from pricing.api.listing import ledger_list
from pricing.api.paging import Paged
from pricing.api.representation import LIST_CONTENT, one
from pricing.api.shapes import Id, Listing
from pricing.ledger.disputes import Asked, decide_dispute, list_disputes, open_dispute

router = APIRouter(tags=["invoices"])
Writing = Annotated[Call, may("invoices:write")]


@router.get(
    "/v1/disputes",
    summary="List disputes",
    response_model=Listing[DisputeShown],
    responses=LIST_CONTENT,
)
def get_disputes(call: Annotated[Call, may("invoices:read")], paging: Paged) -> Response:
    """Disputes by id; a tenant's key sees its own."""
    scope = call.scope()
    return ledger_list(
        call, DisputeShown, paging, lambda at, page: list_disputes(at, scope, page), dispute_id=str
    )


@router.post("/v1/disputes", summary="Open a dispute", response_model=DisputeShown, status_code=201)
def post_dispute(call: Writing, new: DisputeAsked) -> Response:
    """At most the line's own amount, in whole minor units."""
    asked = Asked(**new.model_dump())
    return call.created(
        lambda change: DisputeShown.model_validate(
            open_dispute(change, call.scope(), asked, dispute_id=uuid4())
        ),
        new,
    )


@router.post(
    "/v1/disputes/{dispute_id}/decisions", summary="Decide a dispute", response_model=DisputeShown
)
def post_decision(call: Writing, dispute_id: Id, asked: DisputeDecision) -> Response:
    """Credited: a line of the tenant's next invoice points at the disputed one."""
    with call.change() as change:
        found = decide_dispute(change, dispute_id, credited=asked.credited, reason=asked.reason)
    return one(call.request, DisputeShown.model_validate(found))
