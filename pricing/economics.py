"""What a server or pool is worth: utilisation, margin, cost per million tokens (docs §3).

Exact fractions of what was measured; None where a figure cannot be known, never 0.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from pricing.attribution import proportional
from pricing.calendar_time import SECONDS_PER_HOUR
from pricing.formula import TOKENS_PER_PRICE_UNIT, Exact

Pool = TypeVar("Pool", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What is known of one server, pool or fleet in a window, in one currency.

    seconds: in service, summed over servers. revenue: net where it is compared with cost.
    rated_tokens_per_second: input of a prefill or unified server, output of a decode one, at
    full load; output_is_work: the rating counts output tokens.
    """

    seconds: Exact
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    revenue: Exact = 0
    cost: Exact | None = None
    rated_tokens_per_second: Exact | None = None
    output_is_work: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Economics:
    """Figures of a window; rates in tokens/s, ratios 0–1, money in its currency, None unknown.

    Two margins that are never mixed: gross_margin = 1 − cost/revenue, margin_on_cost =
    revenue/cost − 1.
    """

    input_tokens_per_second: Fraction | None
    output_tokens_per_second: Fraction | None
    hit_ratio: Fraction | None
    utilization_ratio: Fraction | None
    profit: Fraction | None
    gross_margin: Fraction | None
    margin_on_cost: Fraction | None
    cost_per_million_input: Fraction | None
    cost_per_million_output: Fraction | None


def economics(measured: Measured) -> Economics:
    """The figures of one server, pool or fleet in a window of `measured.seconds` seconds.

    The cost per million tokens charges the whole cost to the named tokens; for a pool that does
    both, split its cost first (`split_by_node_hours`, `input_line_costs`).
    """
    work = measured.output_tokens if measured.output_is_work else measured.input_tokens
    rated, cost = measured.rated_tokens_per_second, measured.cost
    return Economics(
        input_tokens_per_second=_ratio(measured.input_tokens, measured.seconds),
        output_tokens_per_second=_ratio(measured.output_tokens, measured.seconds),
        hit_ratio=_ratio(measured.cached_tokens, measured.input_tokens),
        utilization_ratio=(
            None if rated is None else _ratio(work, Fraction(rated) * Fraction(measured.seconds))
        ),
        profit=None if cost is None else Fraction(measured.revenue) - Fraction(cost),
        gross_margin=None if cost is None else gross_margin(measured.revenue, cost),
        margin_on_cost=None if cost is None else margin_on_cost(measured.revenue, cost),
        cost_per_million_input=(
            None if cost is None else cost_per_million_tokens(cost, measured.input_tokens)
        ),
        cost_per_million_output=(
            None if cost is None else cost_per_million_tokens(cost, measured.output_tokens)
        ),
    )


def gross_margin(net_revenue: Exact, cost: Exact) -> Fraction | None:
    """1 − cost / net revenue, a ratio; None without revenue."""
    loss = _ratio(cost, net_revenue)
    return None if loss is None else 1 - loss


def margin_on_cost(net_revenue: Exact, cost: Exact) -> Fraction | None:
    """Net revenue / cost − 1, a ratio (DeepSeek's 545 %); None without cost."""
    gain = _ratio(net_revenue, cost)
    return None if gain is None else gain - 1


def net_of_vat(gross: Exact, vat_rate: Exact) -> Fraction:
    """The part of a price or revenue with VAT inside that is not tax, in its currency."""
    return Fraction(gross) / (1 + Fraction(vat_rate))


def cost_per_million_tokens(cost: Exact, tokens: Exact) -> Fraction | None:
    """Cost per million of `tokens`, in the currency of `cost`; None without tokens."""
    return _ratio(Fraction(cost) * TOKENS_PER_PRICE_UNIT, tokens)


def hourly_cost_per_million_tokens(cost_per_hour: Exact, tokens_per_second: Exact) -> Fraction:
    """Cost per million tokens of what costs `cost_per_hour` and does `tokens_per_second`."""
    tokens_per_hour = Fraction(tokens_per_second) * SECONDS_PER_HOUR
    return Fraction(cost_per_hour) * TOKENS_PER_PRICE_UNIT / tokens_per_hour


def input_line_costs(
    cost: Exact, *, input_tokens: Exact, hit_ratio: Exact, kappa: Exact
) -> tuple[Fraction, Fraction]:
    """Cost per million uncached and per million cached input tokens, in the currency of `cost`.

    kappa: server time of a cached token ÷ that of an uncached one; the two costs stand in this
    ratio, and together they pay for the whole of `cost`.
    """
    ratio, weight = Fraction(hit_ratio), Fraction(kappa)
    server_time = Fraction(input_tokens) * (1 - ratio + weight * ratio)
    if server_time == 0:
        raise ValueError("no input token took server time: there is nothing to charge the cost to")
    per_uncached = Fraction(cost) * TOKENS_PER_PRICE_UNIT / server_time
    return per_uncached, per_uncached * weight


def node_hours(tokens: Exact, tokens_per_second_per_node: Exact) -> Fraction:
    """Node-hours that `tokens` took at a mean rate per occupied node."""
    return Fraction(tokens) / Fraction(tokens_per_second_per_node) / SECONDS_PER_HOUR


def split_by_node_hours(cost: Exact, hours: Mapping[Pool, Exact]) -> dict[Pool, Fraction]:
    """A fleet's cost split over pools (prefill, decode) by their own node-hours, in its currency.

    In a prefill/decode cluster the split needs no model: each pool pays for its nodes.
    """
    return proportional(cost, hours)


def utilization_ratio(
    *, availability: Exact, in_service: Exact, load: Exact, billed_to_processed: Exact
) -> Fraction:
    """Token utilisation as a product of ratios 0–1, so that a loss can be named.

    billed_to_processed: what is billed of what was computed (retries, warm-up are the rest).
    """
    parts = (availability, in_service, load, billed_to_processed)
    whole = Fraction(1)
    for part in parts:
        if not 0 <= part <= 1:
            raise ValueError(f"each factor of utilisation must lie in 0..1, got {part}")
        whole *= Fraction(part)
    return whole


def _ratio(numerator: Exact, denominator: Exact) -> Fraction | None:
    return Fraction(numerator) / Fraction(denominator) if denominator else None
