"""Revenue of a window by server and by tenant under an attribution rule (docs/formulas.md §4).

Both sums come from the same cells (prefill server, decode server, tenant), each settled once to
10⁻¹⁵, so Σ servers = Σ tenants = ledger under every rule.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

import duckdb

from metering.windows import Window
from pricing.attribution import BilledLines, Earner, by_cost, by_price_line, settled
from pricing.formula import Exact
from pricing.money import exact_sum
from pricing.reports.rows import read_rows

KV_STORE = "kv_store"  # an earner that is no server


class RuleName(StrEnum):
    """How a request's revenue is split over those who made the answer."""

    PRICE_LINE = "price_line"  # the book of record
    COST = "cost"  # in proportion to what each server's work costs


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """An attribution rule. kv_share: 0–1 of the cached line to the KV store.

    unit_costs: cost of one unit of a server's work (uncached + κ · cached tokens, or output
    tokens), by node; the cost rule needs those of every server that earned.
    """

    name: RuleName = RuleName.PRICE_LINE
    kv_share: Exact = 0
    first_token_to_prefill: bool = False
    kappa: Exact = 0
    unit_costs: Mapping[str, Exact] | None = None


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


def attribution_report(
    cursor: duckdb.DuckDBPyConnection, window: Window, rule: Rule
) -> list[Attributed]:
    """Rows of kind server, kv_store and tenant; both kinds of sums are the ledger's."""
    servers: dict[tuple[str, str | None], list[Parts]] = defaultdict(list)
    tenants: dict[tuple[str, str | None], list[Parts]] = defaultdict(list)
    for cell in read_rows(cursor, "earned_pairs", window):
        parts = settled(split(cell, rule))
        currency = cell["currency"]
        tenants[currency, cell["tenant_id"]].append(parts)
        for earner, node_id in _places(cell).items():
            servers[currency, node_id].append({earner: parts[earner]})
        if parts[Earner.KV_STORE]:
            servers[currency, KV_STORE].append({Earner.KV_STORE: parts[Earner.KV_STORE]})
    return [*_rows("server", servers), *_rows("tenant", tenants)]


def split(cell: Mapping[str, Any], rule: Rule) -> dict[Earner, Fraction]:
    """The cell's billed amount by earner, exact, in its currency."""
    pair = cell["input_node_id"] != cell["output_node_id"]
    lines = BilledLines(
        uncached=cell["uncached_amount"],
        cached=cell["cached_amount"],
        output=cell["output_amount"],
        first_token=cell["first_amount"] if pair else 0,
    )
    if rule.name is RuleName.PRICE_LINE:
        moved = rule.first_token_to_prefill
        return by_price_line(lines, kv_share=rule.kv_share, first_token_to_prefill=moved)
    weights = _weights(cell, rule)
    if not any(weights.values()):
        return by_price_line(lines)  # no server of the cell costs anything: nothing to weigh by
    return {Earner.KV_STORE: Fraction(0), **by_cost(lines, weights)}


def _weights(cell: Mapping[str, Any], rule: Rule) -> dict[Earner, Exact]:
    """What the cell's work cost each side; Earner → any one unit of money."""
    costs = rule.unit_costs or {}
    work = cell["uncached_tokens"] + Fraction(rule.kappa) * cell["cached_tokens"]
    prefill, decode = cell["input_node_id"] or "", cell["output_node_id"] or ""
    return {
        Earner.PREFILL: work * Fraction(costs.get(prefill, 0)),
        Earner.DECODE: cell["output_tokens"] * Fraction(costs.get(decode, 0)),
    }


def _places(cell: Mapping[str, Any]) -> dict[Earner, str | None]:
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
