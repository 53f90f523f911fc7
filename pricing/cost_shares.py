"""Whose cost it is: used, reserved, failed, idle and shared as lines of their own, and policies.

The lines of a server always sum to its cost. What nobody used stays visible as idle or, where it
cannot be spread, as unallocated; it is never lost, never negative (docs/formulas.md §6).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

from pricing.attribution import proportional, settled
from pricing.formula import Exact

PERCENT = 100


class CostKind(StrEnum):
    """Why a part of a server's cost was spent."""

    USED = "used"  # delivered work
    FAILED = "failed"  # retries, re-prefills, aborted attempts: cost without revenue
    RESERVED = "reserved"  # kept for an owner and not used; warm models
    IDLE = "idle"
    SHARED = "shared"  # what all need: switches, gateways, people
    UNALLOCATED = "unallocated"  # a policy found nobody to give it to


@dataclass(frozen=True, slots=True)
class CostShare:
    """A part of a cost, its kind and its owner (None: nobody yet), in the cost's currency."""

    kind: CostKind
    owner: str | None
    amount: Decimal


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerUse:
    """One server's cost and work in a window.

    cost: at most 15 fraction digits. capacity: what it could have given; used, failed, reserved:
    what each owner took of it, all in one unit (hours, node-seconds, GPU-hours); lost: work that
    failed and is laid at nobody's door. Where they add up to more than the capacity the whole cost
    is spread and nothing is idle.
    """

    cost: Decimal
    capacity: Exact
    used: Mapping[str, Exact] = field(default_factory=dict)
    failed: Mapping[str, Exact] = field(default_factory=dict)
    reserved: Mapping[str, Exact] = field(default_factory=dict)
    lost: Exact = 0


@dataclass(frozen=True, slots=True)
class Policy:
    """How a cost without owner is spread: a name, and fixed percentages where it is `fixed`.

    keep: stays a line of its own. by_use: in proportion to what owners already carry.
    even: equal parts among the owners present. fixed: percentages that sum to 100.
    """

    name: str
    percentages: Mapping[str, Exact] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.name not in {"keep", "by_use", "even", "fixed"}:
            raise ValueError(f"policy must be keep, by_use, even or fixed, got {self.name!r}")
        whole = sum((Fraction(part) for part in self.percentages.values()), Fraction(0))
        if self.name == "fixed" and whole != PERCENT:
            raise ValueError(f"fixed percentages must sum to 100, got {float(whole):g}")
        if self.name != "fixed" and self.percentages:
            raise ValueError(f"policy {self.name!r} takes no percentages")

    def weights(self, carried: Mapping[str, Exact]) -> dict[str, Exact]:
        """Weight of each owner, given what each already carries (any unit); empty: keep."""
        if self.name == "keep":
            return {}
        if self.name == "fixed":
            return dict(self.percentages)
        if self.name == "even":
            return dict.fromkeys(carried, 1)
        return dict(carried)


KEEP = Policy("keep")
BY_USE = Policy("by_use")
EVEN = Policy("even")


def shares_of_server(server: ServerUse) -> list[CostShare]:
    """The server's cost as used, failed, reserved and idle lines that sum to it exactly."""
    work: dict[tuple[CostKind, str | None], Fraction] = {
        (kind, owner): Fraction(amount)
        for kind, taken in (
            (CostKind.USED, server.used),
            (CostKind.FAILED, server.failed),
            (CostKind.RESERVED, server.reserved),
        )
        for owner, amount in taken.items()
    }
    if server.lost:
        work[CostKind.FAILED, None] = Fraction(server.lost)
    left = Fraction(server.capacity) - sum(work.values(), Fraction(0))
    work[CostKind.IDLE, None] = max(left, Fraction(0))
    if not any(work.values()):  # no capacity and no work: the cost must not vanish
        work[CostKind.IDLE, None] = Fraction(1)
    amounts = settled(proportional(server.cost, work))
    return [
        CostShare(kind, owner, amount)
        for (kind, owner), amount in amounts.items()
        if amount or kind is CostKind.IDLE
    ]


def spread(
    amount: Decimal, policy: Policy, *, carried: Mapping[str, Exact], kind: CostKind
) -> list[CostShare]:
    """A cost without owner (idle of one server, a shared cost) spread by `policy`.

    carried: what each owner already carries, any unit. The parts sum to `amount`, in its
    currency; with nobody to carry it the whole stays one `unallocated` line.
    """
    weights = policy.weights(carried)
    if policy.name == "keep":
        return [CostShare(kind, None, amount)]
    if not any(weights.values()):
        return [CostShare(CostKind.UNALLOCATED, None, amount)]
    return [
        CostShare(kind, owner, part)
        for owner, part in settled(proportional(amount, weights)).items()
    ]


def allocate(
    servers: Sequence[ServerUse],
    *,
    idle: Policy = KEEP,
    shared_cost: Decimal = Decimal(0),
    shared: Policy = BY_USE,
) -> list[CostShare]:
    """All cost lines of a fleet in one currency; they sum to Σ server costs + shared_cost.

    Idle is spread per server among that server's owners, shared cost last and over all owners by
    what they carry by then, so that each stays separable.
    """
    lines: list[CostShare] = []
    for server in servers:
        own = shares_of_server(server)
        carried = amounts_by_owner(own)
        for line in own:
            if line.kind is CostKind.IDLE:
                lines += spread(line.amount, idle, carried=carried, kind=CostKind.IDLE)
            else:
                lines.append(line)
    if shared_cost:
        carried = amounts_by_owner(lines)
        lines += spread(shared_cost, shared, carried=carried, kind=CostKind.SHARED)
    return lines


def amounts_by_owner(lines: Iterable[CostShare]) -> dict[str, Exact]:
    """What each owner carries, in the currency of the lines; lines without owner are left out."""
    carried: dict[str, Exact] = {}
    for line in lines:
        if line.owner is not None:
            carried[line.owner] = Fraction(carried.get(line.owner, 0)) + Fraction(line.amount)
    return carried
