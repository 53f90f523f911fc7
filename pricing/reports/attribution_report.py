"""Revenue of a window by server and by tenant under an attribution rule (docs/formulas.md §4).

Both sums come from the same cells (prefill server, decode server, tenant), each settled once to
10⁻¹⁵, so Σ servers = Σ tenants = ledger under every rule. What an instance earned is shared by its
servers.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb

from metering.windows import Window
from pricing.attribution import Earner, settled, spread_adjustment
from pricing.errors import RequestInvalid
from pricing.instances import ALONE, Instances
from pricing.money import exact_sum
from pricing.reports.attribution_rules import Rule, RuleName, split
from pricing.reports.rows import read_rows

KV_STORE = "kv_store"  # an earner that is no server


@dataclass(frozen=True, slots=True, kw_only=True)
class Attributed:
    """What one server, tenant or the KV store got, in its currency."""

    kind: str
    name: str | None
    currency: str
    prefill: Decimal
    decode: Decimal
    kv_store: Decimal

    @property
    def amount(self) -> Decimal:
        """Sum of the parts, in the currency."""
        return exact_sum((self.prefill, self.decode, self.kv_store))


Parts = dict[Earner, Decimal]
Cell = Mapping[str, Any]


def attribution_report(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    rule: Rule,
    instances: Instances = ALONE,
) -> list[Attributed]:
    """Rows of kind server, kv_store and tenant; both kinds of sums are the ledger's.

    Under stand_alone they are the ledger's less the discounts. Raises RequestInvalid for a
    discount of a tenant that was billed nothing.
    """
    cells = read_rows(cursor, "earned_pairs", window)
    parts = [settled(split(cell, rule)) for cell in cells]
    if rule.name is RuleName.STAND_ALONE:
        parts = _discounted(cells, parts, rule)
    servers: dict[tuple[str, str | None], list[Parts]] = defaultdict(list)
    tenants: dict[tuple[str, str | None], list[Parts]] = defaultdict(list)
    for cell, own in zip(cells, parts, strict=True):
        currency = cell["currency"]
        tenants[currency, cell["tenant_id"]].append(own)
        for earner, node_id in _places(cell).items():
            for server, amount in instances.amount(node_id, own[earner]).items():
                servers[currency, server].append({earner: amount})
        if own[Earner.KV_STORE]:
            servers[currency, KV_STORE].append({Earner.KV_STORE: own[Earner.KV_STORE]})
    return [*_rows("server", servers), *_rows("tenant", tenants)]


def _discounted(cells: Sequence[Cell], parts: Sequence[Parts], rule: Rule) -> list[Parts]:
    """Each tenant's discount over what his lines earned, by list price (relative stand-alone)."""
    found = [dict(own) for own in parts]
    for (tenant_id, currency), discount in rule.discounts.items():
        listed = {
            (index, earner): amount
            for index, cell in enumerate(cells)
            if (cell["tenant_id"], cell["currency"]) == (tenant_id, currency)
            for earner, amount in parts[index].items()
            if amount > 0
        }
        if not listed:
            raise RequestInvalid(
                f"{tenant_id} was billed nothing in {currency} in that window.",
                remedy="A discount is spread over what was billed: choose its window and currency.",
            )
        for (index, earner), change in spread_adjustment(-discount, listed).items():
            found[index][earner] = exact_sum((found[index][earner], change))
    return found


def _places(cell: Cell) -> dict[Earner, str | None]:
    return {Earner.PREFILL: cell["input_node_id"], Earner.DECODE: cell["output_node_id"]}


def _rows(kind: str, found: Mapping[tuple[str, str | None], Sequence[Parts]]) -> list[Attributed]:
    return [
        Attributed(
            kind=KV_STORE if kind == "server" and name == KV_STORE else kind,
            name=name,
            currency=currency,
            **{
                earner.value: exact_sum(part.get(earner, Decimal(0)) for part in parts)
                for earner in Earner
            },
        )
        for (currency, name), parts in sorted(
            found.items(), key=lambda item: (item[0][0], item[0][1] or "")
        )
    ]
