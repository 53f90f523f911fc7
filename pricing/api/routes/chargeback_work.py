"""/v1/chargeback/work: tenant × server, the work as the engines metered it."""

from typing import Annotated, Final

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.figures import SECONDS, SHARES, TOKENS, about, figure
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Report, Shown, Text
from pricing.api.windows import WindowQuery, until_now
from pricing.errors import RequestInvalid
from pricing.reports.tenant_work import tenant_work

router = APIRouter(tags=["economics"])
Reading = Annotated[Call, may("economics:read")]
ROWS_MAX: Final = 50_000


class WorkAsked(WindowQuery):
    """Which whole UTC days, and whose rows."""

    node_id: Text | None = None
    tenant_id: Text | None = None


class WorkRow(Shown):
    """One server's work of one stage for one tenant. Rows may be added."""

    node_id: str | None = Field(description="null: the records name no server", examples=["p01"])
    stage: str = Field(examples=["prefill"])
    tenant_id: str | None = Field(description="null: the records name no tenant")
    legs: int = Field(description="records of engines, one per request and server")
    input_tokens: int = figure(TOKENS, SHARES, "as the engines counted")
    cached_input_tokens: int = figure(TOKENS, SHARES, "a part of the input")
    output_tokens: int = figure(TOKENS, SHARES, "as the engines counted")
    queue_seconds: float = figure(SECONDS, SHARES, "summed over requests side by side")
    prefill_seconds: float = figure(SECONDS, SHARES, "summed over requests side by side")
    decode_seconds: float = figure(SECONDS, SHARES, "summed over requests side by side")
    work_tokens: int = figure(TOKENS, SHARES, "input if prefill, output if decode, else both")
    delivered_tokens: int = figure(TOKENS, SHARES, "settled: the owner's share of cost")
    failed_tokens: int = figure(TOKENS, SHARES, "settled: retries, errors, no answer")
    waiting_tokens: int = figure(TOKENS, SHARES, "of halves whose other half may still come")
    rest_tokens: int = figure(TOKENS, SHARES, "work − delivered − failed − waiting")


@router.get(
    "/v1/chargeback/work",
    summary="Read whose work each server did",
    response_model=Report[WorkRow],
    responses=LIST_CONTENT,
)
def get_work(call: Reading, asked: Annotated[WorkAsked, Query()]) -> Response:
    """Tokens by stage and engine seconds per server and tenant, beside what was settled of them.

    Metered work counts by UTC day of the finish and by the tenant that a record names: evidence,
    not ownership, and so the house's to read. Settled work counts by billing instant and owner.
    """
    window, scope = asked.window(), call.scope(asked.tenant_id)
    found = call.usage(lambda cursor: tenant_work(cursor, window, scope))
    rows = [row for row in found if asked.node_id in (None, row.node_id)]
    if len(rows) > ROWS_MAX:
        raise RequestInvalid(
            f"The answer has more than {ROWS_MAX:,} rows.",
            remedy="Ask for one node_id, or one tenant_id.",
        )
    return many(call.request, WorkRow, rows, beside=about(WorkRow, until_now(window, call.at)))
