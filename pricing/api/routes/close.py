"""/v1/close: close a month; whoever cannot be closed is named with what to do."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from starlette.responses import Response

from metering.windows import parse_month
from pricing.api.call import Call, may
from pricing.api.invoice_shapes import (
    CloseAsked,
    CloseShown,
    Month,
    PreviewShown,
    closed,
    previewed,
)
from pricing.api.representation import one
from pricing.close_checks import Acceptance
from pricing.errors import RequestInvalid
from pricing.runs.close import CloseOrder, close_month, preview_month

router = APIRouter(tags=["invoices"])


class PreviewAsked(BaseModel):
    """Which month, and how much of it."""

    month: Month
    not_invoiced: Annotated[
        bool, Field(description="false: leave out what no document bills: most of the work")
    ] = True


@router.get("/v1/close", summary="Preview a close", response_model=PreviewShown)
def get_close(
    call: Annotated[Call, may("invoices:write")], asked: Annotated[PreviewAsked, Query()]
) -> Response:
    """What a close would find now, tenant by tenant, with its blockers; nothing is changed."""
    order = CloseOrder(month=parse_month(asked.month), actor=call.principal.key_id)
    report = call.usage(
        lambda cursor: preview_month(
            cursor, call.services.ledger, order, now=call.at, with_sums=asked.not_invoiced
        )
    )
    return one(call.request, previewed(report, with_sums=asked.not_invoiced))


@router.post("/v1/close", summary="Close a month", response_model=CloseShown)
def post_close(call: Annotated[Call, may("invoices:write")], asked: CloseAsked) -> Response:
    """Makes a draft for each tenant and currency. A second run makes nothing and says so."""
    try:
        accepted = Acceptance(names=frozenset(asked.accept), reason=asked.reason)
    except ValueError as error:
        raise RequestInvalid(f"accept: {error}.", remedy="Send a reason with it.") from error
    order = CloseOrder(
        month=parse_month(asked.month),
        accepted=accepted,
        tenants=None if asked.tenants is None else frozenset(asked.tenants),
        actor=call.principal.key_id,
    )
    report = call.services.write_usage(
        lambda cursor: close_month(cursor, call.services.ledger, order, now=call.at)
    )
    call.services.changed("periods")
    return one(call.request, closed(report))
