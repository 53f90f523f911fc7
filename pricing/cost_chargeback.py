"""Chargeback of cost: each server's cost by whose work it did (docs/formulas.md §6).

A prefill server's work is uncached tokens + κ · cached tokens, a decode server's its output tokens,
a unified server's its seconds on requests: weights within one server, never across pools.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from pricing.cost_shares import (
    BY_USE,
    KEEP,
    CostKind,
    CostShare,
    Policy,
    ServerUse,
    allocate,
    amounts_by_owner,
    spread,
)
from pricing.formula import Exact

UNATTRIBUTED = "unattributed"  # work without a tenant: an owner of its own


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeWork:
    """Work of one server for one owner in a window, as settled requests add it up.

    owner: tenant, project or cost centre; None: unattributed. Counts in tokens, times in seconds
    summed over requests that ran side by side. failed: no answer came of it; its cost is a line of
    its own, nobody's.
    """

    node_id: str
    stage: str
    owner: str | None
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    request_seconds: float = 0.0
    failed: bool = False

    def weight(self, kappa: Exact) -> Fraction:
        """Share of the server's time in a unit of its stage: tokens, or seconds if unified."""
        if self.stage == "decode":
            return Fraction(self.output_tokens)
        if self.stage == "prefill":
            uncached = max(0, self.input_tokens - self.cached_tokens)
            return uncached + Fraction(kappa) * self.cached_tokens
        return Fraction(self.request_seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeCost:
    """Cost of one server in the window, and what it could have done there.

    cost: at most 15 fraction digits; seconds: in service; rated_tokens_per_second: input of a
    prefill or unified server, output of a decode one. Without a rating nothing is called idle.
    reserved: share (0–1) of the capacity kept for an owner, who carries what he did not use of it.
    """

    cost: Decimal
    seconds: Exact = 0
    rated_tokens_per_second: Exact | None = None
    reserved: Mapping[str, Exact] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole = sum((Fraction(part) for part in self.reserved.values()), Fraction(0))
        if whole > 1 or any(part < 0 for part in self.reserved.values()):
            raise ValueError(f"reserved shares must lie in 0..1 together, got {float(whole):g}")


def use_of_node(node: NodeCost, work: Iterable[NodeWork], *, kappa: Exact) -> ServerUse:
    """The server's cost with what each owner took or kept of its capacity; the rest is idle."""
    rows = list(work)
    used: dict[str, Exact] = {}
    lost = Fraction(0)
    for row in rows:
        if row.failed:
            lost += row.weight(kappa)
            continue
        owner = UNATTRIBUTED if row.owner is None else row.owner
        used[owner] = Fraction(used.get(owner, 0)) + row.weight(kappa)
    done = sum((Fraction(weight) for weight in used.values()), lost)
    tokens = sum(row.output_tokens if row.stage == "decode" else row.input_tokens for row in rows)
    full = Fraction(node.rated_tokens_per_second or 0) * Fraction(node.seconds)
    capacity = done * full / tokens if tokens and full else done or full
    return ServerUse(
        cost=node.cost,
        capacity=capacity,
        used=used,
        reserved=_reserved(node.reserved, used, capacity=capacity, free=capacity - done),
        lost=lost,
    )


def _reserved(
    shares: Mapping[str, Exact], used: Mapping[str, Exact], *, capacity: Fraction, free: Fraction
) -> dict[str, Exact]:
    """What each owner keeps and does not use, in the unit of `used`; at most what is free."""
    unused = {
        owner: max(Fraction(0), Fraction(share) * capacity - Fraction(used.get(owner, 0)))
        for owner, share in shares.items()
    }
    whole = sum(unused.values(), Fraction(0))
    if whole == 0 or free <= 0:
        return {}
    return {owner: part * min(Fraction(1), free / whole) for owner, part in unused.items()}


def chargeback_of_cost(
    nodes: Mapping[str, NodeCost],
    work: Iterable[NodeWork],
    *,
    kappa: Exact,
    idle: Policy = KEEP,
    shared_cost: Decimal = Decimal(0),
    shared: Policy = BY_USE,
) -> dict[str | None, list[CostShare]]:
    """Cost lines by server, in one currency; shared cost under None. Their sum is Σ cost + shared.

    A server without work keeps its cost as idle or unallocated. Work on a server whose cost is
    not known is left out: ask for its cost assumptions.
    """
    by_node: dict[str, list[NodeWork]] = {node_id: [] for node_id in nodes}
    for row in work:
        if row.node_id in by_node:
            by_node[row.node_id].append(row)
    lines: dict[str | None, list[CostShare]] = {
        node_id: allocate([use_of_node(nodes[node_id], rows, kappa=kappa)], idle=idle)
        for node_id, rows in by_node.items()
    }
    if shared_cost:
        carried = amounts_by_owner(line for own in lines.values() for line in own)
        lines[None] = spread(shared_cost, shared, carried=carried, kind=CostKind.SHARED)
    return lines
