"""/v1/close: close a month; whoever cannot be closed is named with what to do."""

from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from metering.windows import parse_month
from pricing.api.call import Call, may
from pricing.api.invoice_shapes import CloseAsked, CloseShown, closed
from pricing.api.representation import one
from pricing.close_checks import Acceptance
from pricing.errors import RequestInvalid
from pricing.runs.close import CloseOrder, close_month

router = APIRouter(tags=["invoices"])


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
