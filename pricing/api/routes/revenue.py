"""/v1/revenue/servers: what each machine earned, beside the formula (docs/formulas.md §1)."""

from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.figures import (
    CALENDAR,
    LEDGER,
    MONEY,
    RATIO,
    REVENUE,
    SECONDS,
    TOKENS,
    TOKENS_PER_SECOND,
    about,
    figure,
)
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Amount, Currency, Report, Shown
from pricing.api.windows import InWindow, until_now
from pricing.ledger.servers import every_server
from pricing.reports.revenue_servers import server_rows, unbilled_report

router = APIRouter(tags=["revenue"])
Reading = Annotated[Call, may("revenue:read")]


class ServerRevenueRow(Shown):
    """One server's revenue in the window. Rates are for reading and never feed money."""

    node_id: str | None = Field(examples=["p01"], description="null: no engine's record names it")
    name: str | None
    stage: str = Field(examples=["prefill"])
    pool: str | None
    hardware: str | None
    registered: bool
    requests: int
    input_tokens: int = figure(TOKENS, REVENUE, "billed")
    cached_input_tokens: int = figure(TOKENS, REVENUE, "billed, a part of the input")
    output_tokens: int = figure(TOKENS, REVENUE, "billed")
    seconds_in_service: float = figure(SECONDS, CALENDAR)
    input_tokens_per_second: float = figure(TOKENS_PER_SECOND, REVENUE, "T")
    hit_ratio: float | None = figure(RATIO, REVENUE, "r, token-weighted; null without input")
    output_tokens_per_second: float = figure(TOKENS_PER_SECOND, REVENUE)
    utilization_ratio: float | None = figure(RATIO, REVENUE, "U; null: no rated throughput")
    prices: Literal["single", "mixed"]
    currency: Currency
    amount: Amount = figure(MONEY, LEDGER, "what the ledger says")
    formula: Amount = figure(MONEY, REVENUE, "what the formula says, per price key")
    difference: Amount = figure(MONEY, LEDGER, "amount − formula: 0, or there is a bug")


class UnbilledRow(Shown):
    """Work of a server that earned nothing, and why."""

    node_id: str | None
    stage: str
    disposition: str
    reason: str | None
    requests: int
    input_tokens: int = figure(TOKENS, LEDGER)
    output_tokens: int = figure(TOKENS, LEDGER)
    currency: str | None
    amount_min: Amount | None = figure(MONEY, LEDGER, "at stake, at least")
    amount_max: Amount | None = figure(MONEY, LEDGER, "at stake, at most")


@router.get(
    "/v1/revenue/servers",
    summary="Read what each server earned",
    response_model=Report[ServerRevenueRow],
    responses=LIST_CONTENT,
)
def get_server_revenue(call: Reading, asked: InWindow) -> Response:
    """Ledger revenue of each server beside the formula, with T, r and U; one row a currency."""
    window = asked.window()
    with call.ledger() as connection:
        servers = {server.node_id: server for server in every_server(connection)}
    passed = until_now(window, call.at)
    rows = call.usage(lambda cursor: server_rows(cursor, window, servers, passed=passed))
    return many(call.request, ServerRevenueRow, rows, beside=about(ServerRevenueRow, passed))


@router.get(
    "/v1/revenue/unbilled",
    summary="Read which work earned nothing",
    response_model=Report[UnbilledRow],
    responses=LIST_CONTENT,
)
def get_unbilled(call: Reading, asked: InWindow) -> Response:
    """Retries, errors, orphans and unpriced work of each server, with the money at stake."""
    window = asked.window()
    rows = call.usage(lambda cursor: unbilled_report(cursor, window))
    return many(call.request, UnbilledRow, rows, beside=about(UnbilledRow, window))
