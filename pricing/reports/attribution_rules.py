"""Attribution rules on settled cells: one prefill server, decode server and tenant (docs §4)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

from pricing.attribution import BilledLines, Earner, by_cost, by_price_line
from pricing.capacity_game import Alone, PairWork, by_capacity
from pricing.formula import TOKENS_PER_PRICE_UNIT, Exact


class RuleName(StrEnum):
    """How a request's revenue is split over those who made the answer."""

    PRICE_LINE = "price_line"  # the book of record
    COST = "cost"  # in proportion to what each server's work costs
    STAND_ALONE = "stand_alone"  # price_line, and a tenant's discount spread by list price
    SHAPLEY = "shapley"  # average marginal contribution to what the pair can serve


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """An attribution rule. kv_share: 0–1 of the cached line to the KV store.

    unit_costs: cost of one unit of a server's work (uncached + κ · cached tokens, or output
    tokens), by node; the cost rule needs those of every server that earned. kv_cost: cost of the
    KV store per million cached tokens read. rated: tokens per second of a server's work, by node,
    which the Shapley rule needs with `alone`. discounts: by tenant and currency, above 0.
    """

    name: RuleName = RuleName.PRICE_LINE
    kv_share: Exact = 0
    first_token_to_prefill: bool = False
    kappa: Exact = 0
    unit_costs: Mapping[str, Exact] = field(default_factory=dict)
    kv_cost: Exact = 0
    rated: Mapping[str, Exact] = field(default_factory=dict)
    alone: Alone | None = None
    discounts: Mapping[tuple[str, str], Decimal] = field(default_factory=dict)


def split(cell: Mapping[str, Any], rule: Rule) -> dict[Earner, Fraction]:
    """The cell's billed amount by earner, exact, in its currency.

    Where a rule has nothing to weigh by (no cost, no rating, one server for both) the price-line
    decides.
    """
    pair = cell["input_node_id"] != cell["output_node_id"]
    lines = BilledLines(
        uncached=cell["uncached_amount"],
        cached=cell["cached_amount"],
        output=cell["output_amount"],
        first_token=cell["first_amount"] if pair else 0,
    )
    if rule.name is RuleName.COST:
        weights = _weights(cell, rule)
        return by_cost(lines, weights) if any(weights.values()) else by_price_line(lines)
    if rule.name is RuleName.SHAPLEY:
        return (_shapley(cell, rule, lines) if pair else None) or by_price_line(lines)
    moved = rule.first_token_to_prefill
    return by_price_line(lines, kv_share=rule.kv_share, first_token_to_prefill=moved)


def _weights(cell: Mapping[str, Any], rule: Rule) -> dict[Earner, Exact]:
    """What the cell's work cost each side; Earner → any one unit of money."""
    work = cell["uncached_tokens"] + Fraction(rule.kappa) * cell["cached_tokens"]
    prefill, decode = cell["input_node_id"] or "", cell["output_node_id"] or ""
    read = Fraction(rule.kv_cost) / TOKENS_PER_PRICE_UNIT
    return {
        Earner.PREFILL: work * Fraction(rule.unit_costs.get(prefill, 0)),
        Earner.DECODE: cell["output_tokens"] * Fraction(rule.unit_costs.get(decode, 0)),
        Earner.KV_STORE: cell["cached_tokens"] * read,
    }


def _shapley(
    cell: Mapping[str, Any], rule: Rule, lines: BilledLines
) -> dict[Earner, Fraction] | None:
    """Shares by what the pair can serve at its ratings; None: nothing to weigh by."""
    prompt = Fraction(rule.rated.get(cell["input_node_id"] or "", 0))
    answer = Fraction(rule.rated.get(cell["output_node_id"] or "", 0))
    counts = [cell[f"{name}_tokens"] for name in ("uncached", "cached", "output")]
    if rule.alone is None or not prompt or not answer or min(counts) < 0:
        return None
    uncached, cached, output = counts
    computed = uncached + Fraction(rule.kappa) * cached
    seconds = (uncached + cached) / prompt  # the rating is of billed tokens at this mix
    if not computed:
        return None  # only hits that cost nothing: what they would cost cold is not known
    work = PairWork(
        prefill_seconds=seconds,
        cold_prefill_seconds=seconds * (uncached + cached) / computed,
        decode_seconds=output / answer,
        revenue=lines.total,
        cold_revenue=lines.total - Fraction(lines.cached) + Fraction(cell["cold_amount"]),
    )
    return by_capacity(work, rule.alone)
