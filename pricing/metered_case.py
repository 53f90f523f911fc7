"""A case that starts from what was metered instead of from assumptions (docs/roi.md).

Planning estimates in float, in the case's currency.
"""

from dataclasses import replace

from pricing.economics import Measured, economics
from pricing.formula import TOKENS_PER_PRICE_UNIT, Exact
from pricing.roi import Case
from pricing.variance import SegmentSales


def with_metered_months(case: Case, measured: Measured, sales: SegmentSales) -> Case:
    """`case` with traffic, hit ratio, utilisation and mean prices of a metered window.

    measured: one server (or a pool taken as one) over its seconds in service; sales: its billed
    tokens and amounts. With a rated throughput the full load is the rating and utilisation is
    measured; without one the measured rate counts as full load. A line without tokens keeps the
    case's price.
    """
    figures = economics(measured)
    if figures.hit_ratio is None or not figures.input_tokens_per_second:
        raise ValueError("the metered window has no input tokens: take a longer or another one")
    used = figures.utilization_ratio
    full_load = 1.0 if used is None else min(1.0, float(used))
    if full_load == 0:
        raise ValueError("the metered window has no work of the rated kind (input or output)")
    return replace(
        case,
        input_tokens_per_second=float(figures.input_tokens_per_second) / full_load,
        output_tokens_per_second=float(figures.output_tokens_per_second or 0) / full_load,
        hit_ratio=float(figures.hit_ratio),
        utilization=full_load,
        price_input=_mean_price(sales.uncached_amount, sales.uncached_tokens, case.price_input),
        price_cached=_mean_price(sales.cached_amount, sales.cached_tokens, case.price_cached),
        price_output=_mean_price(sales.output_amount, sales.output_tokens, case.price_output),
    )


def _mean_price(amount: Exact, tokens: int, otherwise: float) -> float:
    """Mean price per million tokens of a line, in its currency."""
    return float(amount) * TOKENS_PER_PRICE_UNIT / tokens if tokens else otherwise
