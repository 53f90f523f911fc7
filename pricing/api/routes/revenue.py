"""/v1/revenue/servers: what each machine earned, beside the formula (design §2)."""

from dataclasses import fields
from fractions import Fraction
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field
from starlette.responses import Response

from metering.windows import Window
from pricing.api.call import Call, may
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Amount, Currency, Listing, Shown
from pricing.api.windows import InWindow, until_now
from pricing.formula import exact_decimal
from pricing.ledger.servers import Server, every_server
from pricing.reports.revenue_servers import servers_report, unbilled_report
from pricing.reports.usage_report import HOUR, check_edges
from pricing.revenue import ServerRevenue, Service

router = APIRouter(tags=["revenue"])
Reading = Annotated[Call, may("revenue:read")]
MICROSECONDS_PER_SECOND = 1_000_000


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
    services: dict[str | None, Service] = {
        node_id: _service(server, passed) for node_id, server in servers.items()
    }
    found = call.usage(lambda cursor: servers_report(cursor, passed, services))
    return many(call.request, ServerRevenueRow, [_row(row, servers) for row in found])


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


def _service(server: Server, window: Window) -> Service:
    """The server's seconds in service within the window; all of it if it earned outside."""
    start = max(window.start_at, server.in_service_from)
    end = min(window.end_at, server.in_service_until or window.end_at)
    span = Window(start, end) if start < end else window
    rated = server.rated_tokens_per_second
    return Service(
        seconds=_seconds(span),
        rated_tokens_per_second=Fraction(rated) if rated else None,
    )


def _seconds(window: Window) -> Fraction:
    return Fraction(window.microseconds(), MICROSECONDS_PER_SECOND)


def _row(row: ServerRevenue, servers: dict[str, Server]) -> dict[str, Any]:
    server = servers.get(row.node_id or "")
    shown: dict[str, Any] = {field.name: getattr(row, field.name) for field in fields(row)}
    for name, value in shown.items():
        if isinstance(value, Fraction):
            exact = name in ("formula", "difference")
            shown[name] = exact_decimal(value) if exact else float(value)
    return shown | {
        "name": server.name if server else None,
        "hardware": server.hardware if server else None,
        "registered": server is not None,
    }
