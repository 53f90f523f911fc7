"""/v1/revenue/servers: what each machine earned, beside the formula (design §2)."""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Amount, Currency, Listing, Shown
from pricing.api.windows import InWindow, until_now
from pricing.ledger.servers import every_server
from pricing.reports.revenue_servers import server_rows, unbilled_report
from pricing.reports.usage_report import HOUR, check_edges

router = APIRouter(tags=["revenue"])
Reading = Annotated[Call, may("revenue:read")]


class ServerRevenueRow(Shown):
    """One server's revenue in the window. Rates are for reading and never feed money."""

    node_id: str | None = Field(examples=["p01"], description="null: the usage named no node")
    name: str | None
    stage: str = Field(examples=["prefill"])
    pool: str | None
    hardware: str | None
    registered: bool
    requests: int
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    seconds_in_service: float
    input_tokens_per_second: float = Field(description="T")
    hit_ratio: float | None = Field(description="r, token-weighted, 0–1; null without input")
    output_tokens_per_second: float
    utilization_ratio: float | None = Field(description="U; null: no rated throughput")
    prices: Literal["single", "mixed"]
    currency: Currency
    amount: Amount = Field(description="what the ledger says")
    formula: Amount = Field(description="what the formula says, per price key")
    difference: Amount = Field(description="amount − formula: 0, or there is a bug")


class UnbilledRow(Shown):
    """Work of a server that earned nothing, and why."""

    node_id: str | None
    stage: str
    disposition: str
    reason: str | None
    requests: int
    input_tokens: int
    output_tokens: int
    currency: str | None
    amount_min: Amount | None
    amount_max: Amount | None


@router.get(
    "/v1/revenue/servers",
    summary="Read what each server earned",
    response_model=Listing[ServerRevenueRow],
    responses=LIST_CONTENT,
)
def get_server_revenue(call: Reading, asked: InWindow) -> Response:
    """Ledger revenue of each server beside the formula, with T, r and U; one row a currency."""
    window = asked.window()
    check_edges(window, [window], HOUR)
    with call.ledger() as connection:
        servers = {server.node_id: server for server in every_server(connection)}
    passed = until_now(window, call.at)
    rows = call.usage(lambda cursor: server_rows(cursor, passed, servers))
    return many(call.request, ServerRevenueRow, rows)


@router.get(
    "/v1/revenue/unbilled",
    summary="Read which work earned nothing",
    response_model=Listing[UnbilledRow],
    responses=LIST_CONTENT,
)
def get_unbilled(call: Reading, asked: InWindow) -> Response:
    """Retries, errors, orphans and unpriced work of each server, with the money at stake."""
    window = asked.window()
    check_edges(window, [window], HOUR)
    return many(
        call.request, UnbilledRow, call.usage(lambda cursor: unbilled_report(cursor, window))
    )
