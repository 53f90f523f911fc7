"""Rows of /v1/economics/servers, for the route and for `tokentill revenue servers`."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final, Literal

import duckdb
from pydantic import Field

from metering.windows import Window
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
    figure,
)
from pricing.api.known_servers import known
from pricing.api.shapes import Amount, Shown
from pricing.cost_shares import CostKind
from pricing.costs import to_quantum
from pricing.formula import Exact, exact_decimal
from pricing.ledger.servers import Server
from pricing.reports.server_economics import servers_in_window
from pricing.server_economics import ServerWindow, Worth, together, worth

INPUT_SPLIT: Final = "of prefill servers, by kappa; of unified ones by output_weight too"
GroupBy = Literal["server", "pool", "hardware", "stage", "fleet"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Adding:
    """How to add up. vat_rate: 0–1.

    kappa, output_weight: server time of a cached, of an output token ÷ that of an uncached one.
    """

    group_by: GroupBy = "server"
    kappa: Exact = 0
    vat_rate: Exact = 0
    output_weight: Exact | None = None


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
    formula: Amount = figure(MONEY, REVENUE, "what the formula says, per price key")
    difference: Amount = figure(MONEY, LEDGER, "revenue − formula: 0, or there is a bug")
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
    cost_per_million_input: Amount | None = figure(PER_MILLION, WORTH, INPUT_SPLIT)
    cost_per_million_uncached: Amount | None = figure(PER_MILLION, WORTH, INPUT_SPLIT)
    cost_per_million_cached: Amount | None = figure(PER_MILLION, WORTH, INPUT_SPLIT)
    cost_per_million_output: Amount | None = figure(
        PER_MILLION, WORTH, "of decode servers; of unified ones by output_weight"
    )
    break_even_factor: float | None = figure("times this revenue", WORTH, "that pays the cost")
    break_even_utilization_ratio: float | None = figure("ratio", WORTH, "U that pays the cost")
    payback_months: float | None = figure("months", WORTH, "estimate: investment ÷ monthly cash")
    missing: list[str] = Field(description="what to ask for before the figure can be known")


def economics_rows(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    servers: Mapping[str, Server],
    adding: Adding,
) -> list[EconomicsRow]:
    """Servers of the window with what they earned and cost, added up as asked."""
    facts = [known(server) for server in servers.values()]
    rows = servers_in_window(cursor, window, facts, kappa=adding.kappa)
    return [
        EconomicsRow.model_validate(_row(group, members, servers, adding))
        for group, members in _grouped(rows, servers, adding.group_by)
    ]


def _grouped(
    rows: Sequence[ServerWindow], servers: Mapping[str, Server], group_by: GroupBy
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
    adding: Adding,
) -> dict[str, Any]:
    whole = together(members)
    pools, hardware = (
        {_fact(servers, member, name) for member in members} for name in ("pool", "hardware")
    )
    server = servers.get(whole.node_ids[0]) if len(members) == 1 else None
    found = worth(
        whole,
        kappa=adding.kappa,
        vat_rate=adding.vat_rate,
        output_weight=adding.output_weight,
    )
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
        "formula": exact_decimal(whole.formula),
        "difference": exact_decimal(Fraction(whole.revenue) - whole.formula),
        "missing": list(whole.missing),
        **{
            f"{kind}_cost": whole.kinds.get(kind) if whole.cost is not None else None
            for kind in KINDS
        },
        **figures_of(found),
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


KINDS: Final = (CostKind.USED, CostKind.FAILED, CostKind.RESERVED, CostKind.IDLE, CostKind.SHARED)


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _money(value: Fraction | None) -> Decimal | None:
    """A quotient of money, to 10⁻¹⁵ for reading."""
    return None if value is None else to_quantum(value)
