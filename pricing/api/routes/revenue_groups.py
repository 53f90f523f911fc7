"""/v1/revenue: what pools, models, stages and servers earned."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.figures import LEDGER, MONEY, RATIO, REVENUE, TOKENS, about, figure
from pricing.api.known_servers import known, registered
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Amount, Currency, Report, Shown
from pricing.api.windows import WindowQuery
from pricing.reports.revenue_groups import RevenueGroup, revenue_groups
from pricing.reports.server_economics import instances_in

router = APIRouter(tags=["revenue"])


class RevenueRow(Shown):
    """Billed tokens and what they earned. A group that was not asked for is null."""

    pool: str | None = Field(description="null where asked for: servers of no pool")
    model_id: str | None
    stage: str | None
    node_id: str | None
    currency: Currency
    uncached_tokens: int = figure(TOKENS, LEDGER)
    cached_tokens: int = figure(TOKENS, LEDGER)
    cache_write_tokens: int = figure(TOKENS, LEDGER)
    output_tokens: int = figure(TOKENS, LEDGER)
    reasoning_tokens: int = figure(TOKENS, LEDGER)
    hit_ratio: float | None = figure(RATIO, REVENUE, "r, token-weighted; null without input")
    input_amount: Amount = figure(MONEY, LEDGER)
    cached_amount: Amount = figure(MONEY, LEDGER)
    cache_write_amount: Amount = figure(MONEY, LEDGER)
    output_amount: Amount = figure(MONEY, LEDGER)
    reasoning_amount: Amount = figure(MONEY, LEDGER)
    amount: Amount = figure(MONEY, LEDGER, "the sum of the lines, exact")


class RevenueAsked(WindowQuery):
    """Which window, and what to tell apart."""

    group_by: list[RevenueGroup] = Field(
        [RevenueGroup.POOL, RevenueGroup.MODEL], max_length=len(RevenueGroup)
    )


@router.get(
    "/v1/revenue",
    summary="Read what pools and models earned",
    response_model=Report[RevenueRow],
    responses=LIST_CONTENT,
)
def get_revenue(
    call: Annotated[Call, may("revenue:read")], asked: Annotated[RevenueAsked, Query()]
) -> Response:
    """The lines of the servers added up: however grouped, the sums are those of the servers."""
    window = asked.window()
    instances = instances_in(window, [known(server) for server in registered(call).values()])
    rows = call.usage(lambda cursor: revenue_groups(cursor, window, asked.group_by, instances))
    return many(call.request, RevenueRow, rows, beside=about(RevenueRow, window))
