"""What one server, a pool or a fleet earned, cost and would have to earn, in one window (docs §3).

Joins revenue, work and cost of servers that share a currency. Money is exact; a quotient of money
is a fraction, rounded where it is shown. None: not known, never 0.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import TypeVar

from pricing.cost_shares import CostKind, CostShare
from pricing.economics import (
    Economics,
    Measured,
    cost_per_million_tokens,
    economics,
    input_line_costs,
    net_of_vat,
    split_by_node_hours,
)
from pricing.formula import Exact
from pricing.money import exact_sum

Name = TypeVar("Name")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerWindow:
    """One server (or several as one) in a window, in one currency.

    currency: of revenue and cost; None: it earned nothing and its cost is not known.
    revenue: billed amount; formula: the same by the formula, per price key.
    seconds: in service, summed.
    rated_tokens: what it could have done in them, in tokens of its work (input, or output of a
    decode server); None: no rating.
    cost: cost lines of the window; None: unknown, `missing` says what to ask for.
    cash: the part that is paid month by month, without the charge for what was bought.
    kinds: the same cost by kind. investment: purchase of the assets. months: in service.
    by_stage: where stages are mixed, the servers of each stage as one.
    """

    node_ids: tuple[str, ...]
    stage: str | None
    currency: str | None = None
    seconds: Fraction = Fraction(0)
    rated_tokens: Fraction | None = None
    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    revenue: Decimal = Decimal(0)
    formula: Fraction = Fraction(0)
    cost: Mapping[str, Decimal] | None = None
    cash: Decimal = Decimal(0)
    kinds: Mapping[CostKind, Decimal] = field(default_factory=dict)
    investment: Fraction = Fraction(0)
    months: Fraction = Fraction(0)
    missing: tuple[str, ...] = ()
    by_stage: tuple["ServerWindow", ...] = ()

    @property
    def cost_total(self) -> Decimal | None:
        """Sum of the cost lines, in the currency; None where the cost is not known."""
        return None if self.cost is None else exact_sum(self.cost.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Worth:
    """Figures of a `ServerWindow`; money in its currency, ratios 0–1, None unknown.

    net_revenue: without VAT. cost per million of uncached and cached tokens in the ratio 1 : κ.
    break_even_factor: times this window's revenue that pays the cost. break_even_utilization:
    token utilisation that does, all cost taken as fixed. payback_months: investment ÷ monthly cash
    at this window's rate, an estimate; None: never at this rate, or nothing was bought.
    """

    figures: Economics
    net_revenue: Fraction
    cost: Decimal | None
    cost_per_million_uncached: Fraction | None
    cost_per_million_cached: Fraction | None
    break_even_factor: Fraction | None
    break_even_utilization: Fraction | None
    payback_months: Fraction | None


def worth(
    server: ServerWindow,
    *,
    kappa: Exact = 0,
    vat_rate: Exact = 0,
    output_weight: Exact | None = None,
) -> Worth:
    """What `server` is worth: money in its currency, vat_rate 0–1 inside the prices.

    kappa, output_weight: server time of a cached, of an output token ÷ that of an uncached one.
    Without output_weight the cost of a unified server, or of a group with one, has no split by kind
    of token.
    """
    cost, net = server.cost_total, net_of_vat(server.revenue, vat_rate)
    seconds = server.seconds or 1  # nothing is done in no time: every rate is then 0
    figures = economics(
        Measured(
            seconds=seconds,
            input_tokens=server.input_tokens,
            cached_tokens=server.cached_tokens,
            output_tokens=server.output_tokens,
            revenue=net,
            cost=cost,
            rated_tokens_per_second=(
                None if not server.rated_tokens else server.rated_tokens / seconds
            ),
            output_is_work=server.stage == "decode",
        )
    )
    lines = _line_costs(server.by_stage or (server,), kappa, output_weight)
    figures = replace(
        figures, cost_per_million_input=lines.input, cost_per_million_output=lines.output
    )
    factor = None if cost is None or not net else Fraction(cost) / net
    used = figures.utilization_ratio
    return Worth(
        figures=figures,
        net_revenue=net,
        cost=cost,
        cost_per_million_uncached=lines.uncached,
        cost_per_million_cached=lines.cached,
        break_even_factor=factor,
        break_even_utilization=None if factor is None or used is None else factor * used,
        payback_months=_payback_months(server, net),
    )


@dataclass(frozen=True, slots=True)
class _LineCosts:
    """Cost per million tokens by kind, in the currency of the cost; None: not known."""

    input: Fraction | None = None
    uncached: Fraction | None = None
    cached: Fraction | None = None
    output: Fraction | None = None


def _line_costs(
    stages: Sequence[ServerWindow], kappa: Exact, output_weight: Exact | None
) -> _LineCosts:
    """Cost by kind ÷ tokens of the kind, over servers that are alike within a stage.

    Each pays for its own kinds; what input cost is then laid at uncached and cached tokens in the
    ratio 1 : κ, over all of them.
    """
    parts = [_by_kind(server, kappa, output_weight) for server in stages]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return _LineCosts()
    entered, cached = sum(p.input_tokens for p in known), sum(p.cached_tokens for p in known)
    input_cost = sum((p.input_cost for p in known), Fraction(0))
    output_cost = sum((p.output_cost for p in known), Fraction(0))
    miss = hit = None
    if entered - cached + Fraction(kappa) * cached:
        ratio = Fraction(cached, entered)
        miss, hit = input_line_costs(input_cost, input_tokens=entered, hit_ratio=ratio, kappa=kappa)
    return _LineCosts(
        input=cost_per_million_tokens(input_cost, entered),
        uncached=miss,
        cached=hit,
        output=cost_per_million_tokens(output_cost, sum(p.output_tokens for p in known)),
    )


@dataclass(frozen=True, slots=True)
class _ByKind:
    """What the input and the output of one stage cost, and the tokens it was done for."""

    input_cost: Fraction
    output_cost: Fraction
    input_tokens: int
    cached_tokens: int
    output_tokens: int


def _by_kind(server: ServerWindow, kappa: Exact, output_weight: Exact | None) -> _ByKind | None:
    """The cost by server time: an uncached token counts 1, the others their weight.

    A prefill server's is all input's, a decode server's all output's. None: not known.
    """
    cost = server.cost_total
    if cost is None:
        return None
    if server.stage == "prefill":
        return _ByKind(Fraction(cost), Fraction(0), server.input_tokens, server.cached_tokens, 0)
    if server.stage == "decode":
        return _ByKind(Fraction(0), Fraction(cost), 0, 0, server.output_tokens)
    uncached = server.input_tokens - server.cached_tokens
    work = {
        "input": uncached + Fraction(kappa) * server.cached_tokens,
        "output": Fraction(output_weight or 0) * server.output_tokens,
    }
    if server.stage is None or output_weight is None or not any(work.values()):
        return None
    paid = split_by_node_hours(cost, work)
    tokens = server.input_tokens, server.cached_tokens, server.output_tokens
    return _ByKind(paid["input"], paid["output"], *tokens)


def _payback_months(server: ServerWindow, net_revenue: Fraction) -> Fraction | None:
    if server.cost is None or not server.investment or not server.months:
        return None
    left = net_revenue - Fraction(server.cash)
    return server.investment * server.months / left if left > 0 else None


def kinds_of(shares: Iterable[CostShare]) -> dict[CostKind, Decimal]:
    """A server's cost by kind, in its currency: used, failed, reserved, idle, shared."""
    found = dict.fromkeys(CostKind, Decimal(0))
    for share in shares:
        found[share.kind] = exact_sum((found[share.kind], share.amount))
    return found


def together(servers: Sequence[ServerWindow]) -> ServerWindow:
    """Several servers of one currency as one: sums in that currency, seconds as server-seconds.

    The cost is unknown if one of them lacks it, the rating if one lacks it or the stages differ.
    """
    stages = {server.stage: [s for s in servers if s.stage == server.stage] for server in servers}
    costs = [server.cost for server in servers if server.cost is not None]
    ratings = [server.rated_tokens for server in servers if server.rated_tokens is not None]
    rated = len(stages) == 1 and len(ratings) == len(servers)
    return ServerWindow(
        node_ids=tuple(sorted(node for server in servers for node in server.node_ids)),
        stage=next(iter(stages)) if len(stages) == 1 else None,
        currency=next((s.currency for s in servers if s.currency is not None), None),
        seconds=sum((server.seconds for server in servers), Fraction(0)),
        rated_tokens=sum(ratings, Fraction(0)) if rated else None,
        requests=sum(server.requests for server in servers),
        input_tokens=sum(server.input_tokens for server in servers),
        cached_tokens=sum(server.cached_tokens for server in servers),
        output_tokens=sum(server.output_tokens for server in servers),
        revenue=exact_sum(server.revenue for server in servers),
        formula=sum((server.formula for server in servers), Fraction(0)),
        cost=_sums(costs) if len(costs) == len(servers) else None,
        cash=exact_sum(server.cash for server in servers),
        kinds=_sums([server.kinds for server in servers]),
        investment=sum((server.investment for server in servers), Fraction(0)),
        months=max((server.months for server in servers), default=Fraction(0)),
        missing=tuple(sorted({each for server in servers for each in server.missing})),
        by_stage=tuple(map(together, stages.values())) if len(stages) > 1 else (),
    )


def _sums(parts: Sequence[Mapping[Name, Decimal]]) -> dict[Name, Decimal]:
    names = dict.fromkeys(name for part in parts for name in part)
    return {name: exact_sum(part.get(name, Decimal(0)) for part in parts) for name in names}
