"""Servers of a window with what they earned, did and cost, from the roll-ups and the ledger."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from fractions import Fraction

import duckdb

from metering.windows import Window
from pricing.calendar_time import ServicePeriod, length_seconds, month_shares, seconds_in_service
from pricing.cost_chargeback import NodeCost, NodeWork, use_of_node
from pricing.cost_shares import CostKind, shares_of_server
from pricing.costs import ServerCosts, cost_lines
from pricing.formula import Exact
from pricing.instances import Instances, Member, instances_of
from pricing.money import exact_sum
from pricing.reports.owner_work import Owner, owner_work, shared_work, whole_work
from pricing.reports.revenue_servers import servers_report
from pricing.reports.rows import read_rows
from pricing.revenue import ServerRevenue, Service
from pricing.server_economics import ServerWindow, kinds_of

OTHER_CURRENCY = "the cost is stated in another currency than this revenue; nothing is converted"
UNREGISTERED = "the server is not registered: POST /v1/servers with its cost_assumptions"


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownServer:
    """A server as the ledger knows it. costs: None where its owner has not stated them.

    rated_tokens_per_second: of its work. reserved: owner → share of its capacity. shared: cost
    lines that all need. measured: whether its samples give its energy. instance_id,
    instance_weight: the instance that it holds with others, and its share in any unit.
    """

    node_id: str
    stage: str
    periods: tuple[ServicePeriod, ...]
    rated_tokens_per_second: Fraction | None = None
    costs: ServerCosts | None = None
    measured: bool = True
    reserved: Mapping[str, Exact] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    missing: tuple[str, ...] = ()
    instance_id: str | None = None
    instance_weight: Exact = 1


def instances_in(window: Window, known: Iterable[KnownServer]) -> Instances:
    """Which of the servers form instances in `window`."""
    return instances_of(
        Member(
            node_id=server.node_id,
            instance_id=server.instance_id,
            weight=server.instance_weight,
            seconds=seconds_in_service(server.periods, window),
        )
        for server in known
        if server.instance_id is not None
    )


def servers_in_window(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    known: Sequence[KnownServer],
    *,
    kappa: Exact = 0,
) -> list[ServerWindow]:
    """Every server that earned, worked or cost something in `window`, one row a currency."""
    services: dict[str | None, Service] = {s.node_id: _service(s, window) for s in known}
    earned: dict[str | None, list[ServerRevenue]] = defaultdict(list)
    instances = instances_in(window, known)
    for row in servers_report(cursor, window, services, instances):
        earned[row.node_id].append(row)
    if any(server.reserved for server in known):
        done = owner_work(cursor, window, by=Owner.TENANT, kappa=kappa)
    else:
        done = whole_work(cursor, window, kappa=kappa)
    done = shared_work(done, instances)
    energy = node_energy(cursor, window)
    rows: list[ServerWindow] = []
    for server in known:
        node_id = server.node_id
        base = _costed(server, window, done.get(node_id, []), energy.get(node_id), kappa=kappa)
        rows += _with_revenue(base, earned.pop(server.node_id, []))
    whole = length_seconds(window)
    for stranger, others in earned.items():
        base = ServerWindow(node_ids=(stranger or "",), stage=others[0].stage, seconds=whole)
        rows += _with_revenue(replace(base, missing=(UNREGISTERED,)), others)
    return rows


def node_energy(
    cursor: duckdb.DuckDBPyConnection, window: Window
) -> dict[str, dict[datetime, float]]:
    """Joules of each server by UTC hour, as far as its samples say."""
    found: dict[str, dict[datetime, float]] = defaultdict(dict)
    hours = Window(window.start_at.replace(minute=0, second=0, microsecond=0), window.end_at)
    for row in read_rows(cursor, "node_energy", hours):
        found[row["node_id"]][row["hour_start_at"]] = row["joules"]
    return dict(found)


def lines_of(
    server: KnownServer, window: Window, joules: Mapping[datetime, float] | None
) -> dict[str, Decimal] | None:
    """The server's cost lines in `window`, in their currency; None where they are not known."""
    if server.costs is None:
        return None
    return cost_lines(
        server.costs,
        window,
        periods=server.periods,
        joules_by_hour=joules if server.measured else None,
    )


def node_cost(server: KnownServer, window: Window, lines: Mapping[str, Decimal]) -> NodeCost:
    """What `use_of_node` asks: the cost without the lines that all need."""
    own = [amount for name, amount in lines.items() if name not in server.shared]
    return NodeCost(
        cost=exact_sum(own),
        seconds=seconds_in_service(server.periods, window),
        rated_tokens_per_second=server.rated_tokens_per_second,
        reserved=server.reserved,
    )


def shared_cost(server: KnownServer, lines: Mapping[str, Decimal]) -> Decimal:
    """The lines of the server's cost that all need, in their currency."""
    return exact_sum(amount for name, amount in lines.items() if name in server.shared)


def _service(server: KnownServer, window: Window) -> Service:
    """Its seconds in the window; all of it where it earned while it was not registered as there."""
    seconds = seconds_in_service(server.periods, window)
    return Service(
        seconds=seconds or length_seconds(window),
        rated_tokens_per_second=server.rated_tokens_per_second,
    )


def _costed(
    server: KnownServer,
    window: Window,
    done: Sequence[NodeWork],
    joules: Mapping[datetime, float] | None,
    *,
    kappa: Exact,
) -> ServerWindow:
    """The server without its revenue."""
    seconds = seconds_in_service(server.periods, window)
    rated = server.rated_tokens_per_second
    base = ServerWindow(
        node_ids=(server.node_id,),
        stage=server.stage,
        seconds=seconds,
        rated_tokens=None if rated is None else rated * seconds,
        missing=server.missing,
    )
    lines = lines_of(server, window, joules)
    if lines is None or server.costs is None:
        return base
    cost = node_cost(server, window, lines)
    kinds = kinds_of(shares_of_server(use_of_node(cost, done, kappa=kappa)))
    kinds[CostKind.SHARED] = shared_cost(server, lines)
    bought = server.costs.assets
    parts = [part for period in server.periods if (part := period.within(window))]
    return replace(
        base,
        currency=server.costs.currency,
        cost=lines,
        cash=exact_sum(amount for name, amount in lines.items() if name not in bought),
        kinds=kinds,
        investment=sum((Fraction(asset.purchase) for asset in bought.values()), Fraction(0)),
        months=sum(
            (share for part in parts for _, share in month_shares(part, server.costs.zone)),
            Fraction(0),
        ),
    )


def _with_revenue(base: ServerWindow, earned: Sequence[ServerRevenue]) -> list[ServerWindow]:
    """The server in each currency that it earned; its cost stands in its own currency alone."""
    if not earned:
        return [base] if base.cost or base.seconds else []
    rows = [_earning(base, row) for row in earned]
    if base.cost is not None and base.currency not in {row.currency for row in earned}:
        rows.append(base)
    return rows


def _earning(base: ServerWindow, row: ServerRevenue) -> ServerWindow:
    other = base.cost is not None and base.currency != row.currency
    server = ServerWindow(node_ids=base.node_ids, stage=base.stage) if other else base
    rated = row.utilization_ratio
    seconds = base.seconds or row.seconds_in_service
    worked = row.output_tokens if row.stage == "decode" else row.input_tokens
    return replace(
        server,
        currency=row.currency,
        seconds=seconds,
        rated_tokens=worked / rated if rated else base.rated_tokens,
        requests=row.requests,
        input_tokens=row.input_tokens,
        cached_tokens=row.cached_input_tokens,
        output_tokens=row.output_tokens,
        revenue=row.amount,
        formula=row.formula,
        missing=(*server.missing, OTHER_CURRENCY) if other else server.missing,
    )
