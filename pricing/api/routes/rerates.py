"""/v1/rerates: closed months at other prices, corrected on later invoices."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from metering.windows import parse_month
from pricing.api.call import Call, may
from pricing.api.listing import ledger_list
from pricing.api.paging import Paged
from pricing.api.representation import LIST_CONTENT, one
from pricing.api.rerate_shapes import (
    RerateAsked,
    Rerated,
    RerateShown,
    RerateWhole,
    changes_shown,
    rerated,
)
from pricing.api.shapes import Id, Listing
from pricing.ledger.rerates import get_rerate, list_rerates, next_rerate_at
from pricing.reports.price_effects import rerate_effects
from pricing.runs.rerate import RerateOrder

router = APIRouter(tags=["invoices"])
Reading = Annotated[Call, may("books:read")]


@router.post("/v1/rerates", summary="Rate a closed month anew", response_model=Rerated)
def post_rerate(call: Annotated[Call, may("invoices:write")], asked: RerateAsked) -> Response:
    """By the books now in force. Documents stay; each tenant's next invoice has the difference.

    A second run adds nothing. policies: a corrected policy counts if it is dated before the
    month's end. trial: the answer is the same, and nothing is changed.
    """
    order = RerateOrder(
        month=parse_month(asked.month),
        reason=asked.reason,
        tenants=None if asked.tenants is None else frozenset(asked.tenants),
        actor=call.principal.key_id,
        with_policies=asked.policies,
        is_trial=asked.trial,
    )
    return one(call.request, rerated(call.services.rerate(order)))


@router.get(
    "/v1/rerates",
    summary="List re-rates of closed months",
    response_model=Listing[RerateShown],
    responses=LIST_CONTENT,
)
def get_rerates(call: Reading, paging: Paged) -> Response:
    """Which months were rated anew, why and by whom, the last first."""
    return ledger_list(
        call, RerateShown, paging, list_rerates, requested_at=datetime, rerate_id=str
    )


@router.get("/v1/rerates/{rerate_id}", summary="Read a re-rate", response_model=RerateWhole)
def get_one_rerate(call: Reading, rerate_id: Id) -> Response:
    """What it changed by tenant, in money, read from the rows that it wrote."""
    with call.ledger() as connection:
        found = get_rerate(connection, rerate_id)
        until = next_rerate_at(connection, found)
    effects = call.usage(
        lambda cursor: rerate_effects(cursor, found.month, since=found.requested_at, until=until)
    )
    shown = RerateShown.model_validate(found).model_dump()
    return one(call.request, RerateWhole(**shown, items=changes_shown(effects)))
