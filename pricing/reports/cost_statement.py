"""Cost laid at owners beside what they were charged, per currency (docs/formulas.md §6)."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

import duckdb

from metering.windows import Window
from pricing.cost_chargeback import chargeback_of_cost
from pricing.cost_shares import BY_USE, KEEP, CostKind, CostShare, Policy
from pricing.formula import Exact
from pricing.money import exact_sum
from pricing.reports.chargeback import chargeback_report
from pricing.reports.owner_work import Owner, owner_text, owner_work, shared_work
from pricing.reports.server_economics import (
    KnownServer,
    instances_in,
    lines_of,
    node_cost,
    node_energy,
    shared_cost,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spreading:
    """How a statement is made. kappa: server time of a cached token ÷ that of an uncached one."""

    by: Owner = Owner.TENANT
    kappa: Exact = 0
    idle: Policy = KEEP
    shared: Policy = BY_USE


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What one owner carries in one currency, by kind, and what the window charged him.

    owner: None: nobody, a line of its own. node_id: None where servers are added up, and for
    shared cost. charged: billed amount; None where it is not asked per server.
    """

    currency: str
    owner: str | None
    node_id: str | None = None
    kinds: Mapping[CostKind, Decimal] = field(default_factory=dict)
    charged: Decimal | None = None

    @property
    def cost(self) -> Decimal:
        """Sum of the kinds, in the currency."""
        return exact_sum(self.kinds.values())


Lines = dict[str | None, list[CostShare]]


def cost_statement(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    known: Sequence[KnownServer],
    spreading: Spreading,
) -> list[Carried]:
    """Each owner's cost and charge; their costs sum to what all servers cost, per currency."""
    found: dict[tuple[str, str | None], list[CostShare]] = defaultdict(list)
    for currency, lines in cost_by_server(cursor, window, known, spreading).items():
        for share in (each for own in lines.values() for each in own):
            found[currency, share.owner].append(share)
    charged = _charged(cursor, window, spreading.by)
    keys = sorted({*found, *charged}, key=lambda key: (key[0], key[1] is None, key[1] or ""))
    rows = [_carried(*key, shares=found.get(key, [])) for key in keys]
    return [
        replace(row, charged=charged.get(key, Decimal(0)))
        for key, row in zip(keys, rows, strict=True)
    ]


def cost_by_server(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    known: Sequence[KnownServer],
    spreading: Spreading,
) -> dict[str, Lines]:
    """Cost lines by currency and server, shared cost under None; they sum to the whole cost."""
    settled = owner_work(cursor, window, by=spreading.by, kappa=spreading.kappa)
    work = shared_work(settled, instances_in(window, known))
    energy = node_energy(cursor, window)
    found: dict[str, Lines] = {}
    costed = [server for server in known if server.costs is not None]
    for currency in sorted({server.costs.currency for server in costed if server.costs}):
        nodes, shared = {}, Decimal(0)
        for server in costed:
            lines = lines_of(server, window, energy.get(server.node_id))
            if lines is None or server.costs is None or server.costs.currency != currency:
                continue
            cost = node_cost(server, window, lines)
            # what is kept for a tenant cannot be told apart by project or cost centre
            own = cost if spreading.by is Owner.TENANT else replace(cost, reserved={})
            nodes[server.node_id] = own
            shared = exact_sum((shared, shared_cost(server, lines)))
        found[currency] = chargeback_of_cost(
            nodes,
            [row for node_id in nodes for row in work.get(node_id, [])],
            kappa=spreading.kappa,
            idle=spreading.idle,
            shared_cost=shared,
            shared=spreading.shared,
        )
    return found


def by_server(lines: Mapping[str, Lines]) -> list[Carried]:
    """The same cost per owner and server."""
    rows = []
    for currency, servers in lines.items():
        for node_id, shares in servers.items():
            owners = sorted({share.owner for share in shares}, key=lambda o: (o is None, o or ""))
            for owner in owners:
                own = [share for share in shares if share.owner == owner]
                rows.append(replace(_carried(currency, owner, shares=own), node_id=node_id))
    return rows


def _carried(currency: str, owner: str | None, *, shares: Sequence[CostShare]) -> Carried:
    kinds = dict.fromkeys(CostKind, Decimal(0))
    for share in shares:
        kinds[share.kind] = exact_sum((kinds[share.kind], share.amount))
    return Carried(currency=currency, owner=owner, kinds=kinds)


def _charged(
    cursor: duckdb.DuckDBPyConnection, window: Window, by: Owner
) -> dict[tuple[str, str | None], Decimal]:
    """Billed amounts by currency and owner; what has no tenant is the owner `unattributed`."""
    found: dict[tuple[str, str | None], Decimal] = defaultdict(Decimal)
    for row in chargeback_report(cursor, window, tenant_id=None):
        if row["disposition"] == "billed":
            key = row["currency"], owner_text(row, by) or "unattributed"
            found[key] = exact_sum((found[key], row["amount"]))
    return dict(found)
