"""/v1/economics/servers, /costs: what servers earn, cost and would have to earn."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from metering.windows import Window
from pricing.api.call import Call, may
from pricing.api.cost_assumptions import Ratio
from pricing.api.economics_rows import Adding, EconomicsRow, GroupBy, economics_rows
from pricing.api.figures import (
    COST,
    MONEY,
    about,
    figure,
)
from pricing.api.known_servers import known, registered
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Amount, DecimalText, Report, Shown
from pricing.api.windows import WindowQuery, until_now
from pricing.reports.server_economics import (
    KnownServer,
    lines_of,
    node_energy,
)
from pricing.reports.usage_report import HOUR, check_edges

router = APIRouter(tags=["economics"])
Reading = Annotated[Call, may("economics:read")]


class EconomicsAsked(WindowQuery):
    """Which window, and how to add up."""

    group_by: GroupBy = Field("server", description="server, or servers taken as one")
    kappa: Ratio = Field(
        Decimal(0),
        description="server time of a cached token ÷ that of an uncached one; "
        "/v1/economics/cache measures it",
    )
    output_weight: DecimalText | None = Field(
        None,
        description="server time of an output token ÷ that of an uncached input token, on unified "
        "servers; left out: their cost has no split by kind of token",
    )
    vat_rate: Ratio = Field(
        Decimal(0), description="VAT inside the prices, taken off before cost is compared"
    )


class CostRow(Shown):
    """One cost line of one server in the window."""

    node_id: str = Field(examples=["p01"])
    currency: str
    line: str = Field(examples=["energy"], description="asset, monthly charge, energy or rent")
    kind: Literal["own", "shared"]
    amount: Amount = figure(MONEY, COST, "exact from here on")
    energy_hours_measured: int | None = figure("hours", "52-energy", "with a sample; energy only")


@router.get(
    "/v1/economics/servers",
    summary="Read what servers earn and cost",
    response_model=Report[EconomicsRow],
    responses=LIST_CONTENT,
)
def get_economics(call: Reading, asked: Annotated[EconomicsAsked, Query()]) -> Response:
    """Revenue beside cost, both margins, cost per million tokens and break-evens, per server.

    Cost comes from each server's cost_assumptions; where they are not stated, `missing` says what
    to ask for. Nothing is converted between currencies.
    """
    window = _passed(call, asked)
    servers = registered(call)
    adding = Adding(
        group_by=asked.group_by,
        kappa=asked.kappa,
        vat_rate=asked.vat_rate,
        output_weight=asked.output_weight,
    )
    rows = call.usage(lambda cursor: economics_rows(cursor, window, servers, adding))
    return many(call.request, EconomicsRow, rows, beside=about(EconomicsRow, window))


@router.get(
    "/v1/economics/costs",
    summary="Read the cost lines of servers",
    response_model=Report[CostRow],
    responses=LIST_CONTENT,
)
def get_costs(call: Reading, asked: Annotated[WindowQuery, Query()]) -> Response:
    """Every line of every server whose costs are stated; their sum is what servers cost."""
    window = _passed(call, asked)
    facts = [known(server) for server in registered(call).values()]
    energy = call.usage(lambda cursor: node_energy(cursor, window))
    rows = [row for server in facts for row in _cost_rows(server, window, energy)]
    return many(call.request, CostRow, rows, beside=about(CostRow, window))


def _passed(call: Call, asked: WindowQuery) -> Window:
    """The part of the window that has passed, in whole hours at its start."""
    window = asked.window()
    check_edges(window, [window], HOUR)
    return until_now(window, call.at)


def _cost_rows(
    server: KnownServer, window: Window, energy: Mapping[str, Mapping[Any, float]]
) -> list[dict[str, Any]]:
    joules = energy.get(server.node_id)
    lines = lines_of(server, window, joules)
    if lines is None or server.costs is None:
        return []
    hours = len(joules) if joules and server.measured else 0
    return [
        {
            "node_id": server.node_id,
            "currency": server.costs.currency,
            "line": name,
            "kind": "shared" if name in server.shared else "own",
            "amount": amount,
            "energy_hours_measured": hours if name == "energy" else None,
        }
        for name, amount in lines.items()
    ]
