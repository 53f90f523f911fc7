"""Servers that hold one engine together: it books once, they share by weight (docs/formulas.md §4).

A model that does not fit into one server runs as an instance over several. Its usage names one
node; the ledger's servers say which of them form the instance. Shares are settled once, by largest
remainder, so the servers sum to what was booked, in money and in tokens.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from pricing.attribution import proportional, settled, split_over_servers
from pricing.formula import Exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """A server of an instance. weight: its share, any unit; seconds: in service in the window."""

    node_id: str
    instance_id: str
    weight: Exact = 1
    seconds: Exact = 1


@dataclass(frozen=True, slots=True)
class Instances:
    """Which servers share what: instance → server → weight, any unit. Empty: every node alone."""

    weights: Mapping[str, Mapping[str | None, Exact]] = field(default_factory=dict)
    instance_of: Mapping[str, str] = field(default_factory=dict)

    def name_of(self, node_id: str | None) -> str | None:
        """The instance that `node_id` belongs to, or is; the node itself where it is none."""
        return self.instance_of.get(node_id or "", node_id)

    def amount(self, node_id: str | None, booked: Decimal) -> dict[str | None, Decimal]:
        """`booked` by server, in its currency, at most 15 fraction digits."""
        weights = self.weights.get(self.name_of(node_id) or "")
        if weights is None:
            return {node_id: booked}
        return split_over_servers(booked, weights)

    def count(self, node_id: str | None, booked: int) -> dict[str | None, int]:
        """`booked` tokens or requests by server, whole ones."""
        weights = self.weights.get(self.name_of(node_id) or "")
        if weights is None:
            return {node_id: booked}
        parts = settled(proportional(booked, weights), quanta_per_unit=1)
        return {server: int(part) for server, part in parts.items()}

    def shares(self, node_id: str | None) -> dict[str | None, Fraction]:
        """Share of each server, 0–1, exact; they sum to 1."""
        weights = self.weights.get(self.name_of(node_id) or "")
        if weights is None:
            return {node_id: Fraction(1)}
        return proportional(1, weights)


ALONE = Instances()


def instances_of(members: Iterable[Member]) -> Instances:
    """The instances that `members` form; weight × seconds decides, so who came late gets less.

    Where none of an instance was in service the plain weights decide: what it earned stays theirs.
    """
    found: dict[str, list[Member]] = defaultdict(list)
    for member in members:
        found[member.instance_id].append(member)
    weights: dict[str, Mapping[str | None, Exact]] = {}
    for instance_id, own in found.items():
        served: dict[str | None, Exact] = {
            each.node_id: Fraction(each.weight) * Fraction(each.seconds) for each in own
        }
        plain: dict[str | None, Exact] = {each.node_id: Fraction(each.weight) for each in own}
        weights[instance_id] = served if any(served.values()) else plain
    names = {each.node_id: name for name, own in found.items() for each in own}
    return Instances(weights, names | {name: name for name in found})
