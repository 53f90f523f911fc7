"""Price what-ifs: elastic demand, time of day; scenarios, never forecasts (docs/formulas.md §10).

Prices per million tokens in one currency, ratios 0–1; exact fractions of what was put in. An
elasticity is an assumption: one price change never shows it.
"""

from dataclasses import dataclass
from fractions import Fraction

from pricing.formula import TOKENS_PER_PRICE_UNIT, Exact


def demand_factor(price_factor: float, elasticity: float) -> float:
    """Traffic at a price changed by `price_factor`, as a ratio: T ∝ b^−ε (an estimate)."""
    return float(price_factor**-elasticity)


@dataclass(frozen=True, slots=True, kw_only=True)
class PricePoint:
    """Traffic at another price, as a scenario; estimates, in the currency of the price.

    price_factor: new ÷ present price. blended_price: per million input tokens. input_tokens,
    revenue and profit: of the same window.
    """

    price_factor: float
    blended_price: float
    input_tokens: float
    revenue: float
    profit: float


def price_point(
    price_factor: float,
    elasticity: float,
    *,
    input_tokens: int,
    blended_price: Exact,
    cost_per_million: Exact,
) -> PricePoint:
    """What `input_tokens` at `blended_price` become at `price_factor` times the price.

    cost_per_million: what one more million billed tokens costs, in the currency of the price.
    """
    price = float(blended_price) * price_factor
    tokens = input_tokens * demand_factor(price_factor, elasticity)
    millions = tokens / TOKENS_PER_PRICE_UNIT
    return PricePoint(
        price_factor=price_factor,
        blended_price=price,
        input_tokens=tokens,
        revenue=millions * price,
        profit=millions * (price - float(cost_per_million)),
    )


def best_blended_price(cost_per_million: Exact, elasticity: Exact) -> Fraction | None:
    """Profit-maximal price b* = c·ε/(ε − 1) per million tokens.

    None for ε ≤ 1: raise the price until capacity or a rule stops it.
    """
    exact = Fraction(elasticity)
    return Fraction(cost_per_million) * exact / (exact - 1) if exact > 1 else None


def cached_price_for(blended: Exact, *, price_input: Exact, hit_ratio: Exact) -> Fraction | None:
    """p_h per million tokens that gives the blended price at hit ratio r; None without hits."""
    ratio = Fraction(hit_ratio)
    if not ratio:
        return None
    return (Fraction(blended) - (1 - ratio) * Fraction(price_input)) / ratio


def peak_multiplier(peak_token_share: Exact, peak_factor: Exact) -> Fraction:
    """Mean price ÷ base price where `peak_token_share` of tokens pays `peak_factor` times it."""
    return 1 + Fraction(peak_token_share) * (Fraction(peak_factor) - 1)


def peak_shift(
    peak_token_share: Exact, peak_factor: Exact, *, peak_hours: Exact, shifted_share: Exact
) -> tuple[Fraction, Fraction]:
    """Revenue lost and peak rate lost, as ratios, when `shifted_share` of peak tokens moves away.

    peak_hours: hours of the day in the peak. Shifting pays if the servers that the lower peak
    saves cost more than the revenue lost.
    """
    share = Fraction(peak_token_share)
    left = share * (1 - Fraction(shifted_share))
    before = peak_multiplier(share, peak_factor)
    after = peak_multiplier(left, peak_factor)
    rates = [part / Fraction(peak_hours) for part in (share, left)]
    return 1 - after / before, 1 - rates[1] / rates[0]
