"""/v1/economics/servers, /costs: what servers earn, cost and would have to earn."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from metering.windows import Window
from pricing.api.call import Call, may
from pricing.api.cost_assumptions import Ratio
from pricing.api.figures import (
    CALENDAR,
    COST,
    LEDGER,
    MONEY,
    PER_MILLION,
    RATIO,
    REVENUE,
    SECONDS,
    SHARES,
    TOKENS,
    TOKENS_PER_SECOND,
    WORTH,
    about,
    figure,
)
from pricing.api.known_servers import known, registered
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Amount, Report, Shown
from pricing.api.windows import WindowQuery, until_now
from pricing.cost_shares import CostKind
from pricing.costs import to_quantum
from pricing.ledger.servers import Server
from pricing.reports.server_economics import (
    KnownServer,
    lines_of,
    node_energy,
    servers_in_window,
)
from pricing.reports.usage_report import HOUR, check_edges
from pricing.server_economics import ServerWindow, Worth, together, worth

router = APIRouter(tags=["economics"])
Reading = Annotated[Call, may("economics:read")]
GroupBy = Literal["server", "pool", "hardware", "stage", "fleet"]


class EconomicsAsked(WindowQuery):
    """Which window, and how to add up."""

    group_by: GroupBy = Field("server", description="server, or servers taken as one")
    kappa: Ratio = Field(
        Decimal(0),
        description="server time of a cached token ÷ that of an uncached one; "
        "/v1/economics/cache measures it",
    )
    vat_rate: Ratio = Field(
        Decimal(0), description="VAT inside the prices, taken off before cost is compared"
    )


class EconomicsRow(Shown):
    """One server, or several as one, in one currency. Unknown is null, never 0."""

    group: str = Field(description="node id, pool, hardware, stage or 'fleet'", examples=["p01"])
    currency: str | None
    node_ids: list[str]
    name: str | None
    stage: str | None = Field(description="null: stages are mixed")
    pool: str | None
    hardware: str | None
    seconds_in_service: float = figure(SECONDS, CALENDAR, "summed over servers")
    requests: int
    input_tokens: int = figure(TOKENS, REVENUE, "billed")
    cached_input_tokens: int = figure(TOKENS, REVENUE, "billed, a part of the input")
    output_tokens: int = figure(TOKENS, REVENUE, "billed")
    input_tokens_per_second: float | None = figure(TOKENS_PER_SECOND, REVENUE, "T, of one server")
    hit_ratio: float | None = figure(RATIO, REVENUE, "r, token-weighted")
    output_tokens_per_second: float | None = figure(TOKENS_PER_SECOND, REVENUE, "of one server")
    utilization_ratio: float | None = figure(RATIO, REVENUE, "U; null: no rated throughput")
    revenue: Amount = figure(MONEY, LEDGER, "what the ledger says, price-line attribution")
    net_revenue: Amount = figure(MONEY, WORTH, "without VAT")
    cost: Amount | None = figure(MONEY, COST, "null: see `missing`")
    used_cost: Amount | None = figure(MONEY, SHARES, "of delivered work")
    failed_cost: Amount | None = figure(MONEY, SHARES, "of retries, errors, undelivered work")
    reserved_cost: Amount | None = figure(MONEY, SHARES, "kept for an owner and not used")
    idle_cost: Amount | None = figure(MONEY, SHARES, "0 where no rating says what is idle")
    shared_cost: Amount | None = figure(MONEY, SHARES, "of what all need")
    profit: Amount | None = figure(MONEY, WORTH, "net revenue − cost")
    gross_margin: float | None = figure("ratio", WORTH, "1 − cost ÷ net revenue")
    margin_on_cost: float | None = figure("ratio", WORTH, "net revenue ÷ cost − 1")
    cost_per_million_input: Amount | None = figure(PER_MILLION, WORTH, "prefill servers")
    cost_per_million_uncached: Amount | None = figure(PER_MILLION, WORTH, "prefill, by kappa")
    cost_per_million_cached: Amount | None = figure(PER_MILLION, WORTH, "prefill, by kappa")
    cost_per_million_output: Amount | None = figure(PER_MILLION, WORTH, "decode servers")
    break_even_factor: float | None = figure("times this revenue", WORTH, "that pays the cost")
    break_even_utilization_ratio: float | None = figure("ratio", WORTH, "U that pays the cost")
    payback_months: float | None = figure("months", WORTH, "estimate: investment ÷ monthly cash")
    missing: list[str] = Field(description="what to ask for before the figure can be known")


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
    facts = [known(server) for server in servers.values()]
    rows = call.usage(lambda cursor: servers_in_window(cursor, window, facts, kappa=asked.kappa))
    shown = [
        _row(group, members, servers, asked)
        for group, members in _grouped(rows, servers, asked.group_by)
    ]
    return many(call.request, EconomicsRow, shown, beside=about(EconomicsRow, window))


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


def _grouped(
    rows: list[ServerWindow], servers: Mapping[str, Server], group_by: GroupBy
) -> list[tuple[str, list[ServerWindow]]]:
    """Rows by group and currency, in order; a server of no currency yet joins the only one."""
    names: dict[GroupBy, Callable[[ServerWindow], str | None]] = {
        "server": lambda row: row.node_ids[0],
        "pool": lambda row: _fact(servers, row, "pool"),
        "hardware": lambda row: _fact(servers, row, "hardware"),
        "stage": lambda row: row.stage,
        "fleet": lambda _: "fleet",
    }
    found: dict[tuple[str, str], list[ServerWindow]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.currency or "", reverse=True):
        group = names[group_by](row) or ""
        currencies = {key for of, key in found if of == group}
        alone = row.currency is None and len(currencies) == 1
        found[group, currencies.pop() if alone else row.currency or ""].append(row)
    return [(group, found[group, currency]) for group, currency in sorted(found)]


def _fact(servers: Mapping[str, Server], row: ServerWindow, name: str) -> str | None:
    server = servers.get(row.node_ids[0])
    return None if server is None else getattr(server, name)


def _row(
    group: str,
    members: list[ServerWindow],
    servers: Mapping[str, Server],
    asked: EconomicsAsked,
) -> dict[str, Any]:
    whole = together(members)
    pools, hardware = (
        {_fact(servers, member, name) for member in members} for name in ("pool", "hardware")
    )
    server = servers.get(whole.node_ids[0]) if len(members) == 1 else None
    return {
        "group": group,
        "currency": whole.currency,
        "node_ids": list(whole.node_ids),
        "name": server.name if server else None,
        "stage": whole.stage,
        "pool": pools.pop() if len(pools) == 1 else None,
        "hardware": hardware.pop() if len(hardware) == 1 else None,
        "seconds_in_service": float(whole.seconds),
        "requests": whole.requests,
        "input_tokens": whole.input_tokens,
        "cached_input_tokens": whole.cached_tokens,
        "output_tokens": whole.output_tokens,
        "revenue": whole.revenue,
        "missing": list(whole.missing),
        **{
            f"{kind}_cost": whole.kinds.get(kind) if whole.cost is not None else None
            for kind in KINDS
        },
        **figures_of(worth(whole, kappa=asked.kappa, vat_rate=asked.vat_rate)),
    }


def figures_of(found: Worth) -> dict[str, Any]:
    """Figures as they are shown: ratios and rates as numbers, money as decimals."""
    figures = found.figures
    return {
        "input_tokens_per_second": _number(figures.input_tokens_per_second),
        "hit_ratio": _number(figures.hit_ratio),
        "output_tokens_per_second": _number(figures.output_tokens_per_second),
        "utilization_ratio": _number(figures.utilization_ratio),
        "net_revenue": to_quantum(found.net_revenue),
        "cost": found.cost,
        "profit": _money(figures.profit),
        "gross_margin": _number(figures.gross_margin),
        "margin_on_cost": _number(figures.margin_on_cost),
        "cost_per_million_input": _money(figures.cost_per_million_input),
        "cost_per_million_uncached": _money(found.cost_per_million_uncached),
        "cost_per_million_cached": _money(found.cost_per_million_cached),
        "cost_per_million_output": _money(figures.cost_per_million_output),
        "break_even_factor": _number(found.break_even_factor),
        "break_even_utilization_ratio": _number(found.break_even_utilization),
        "payback_months": _number(found.payback_months),
    }


KINDS = (CostKind.USED, CostKind.FAILED, CostKind.RESERVED, CostKind.IDLE, CostKind.SHARED)


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _money(value: Fraction | None) -> Decimal | None:
    """A quotient of money, to 10⁻¹⁵ for reading."""
    return None if value is None else to_quantum(value)
