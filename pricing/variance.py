"""Why revenue changed between two windows: calendar, volume, mix, hit ratio, price, adding up.

Revenue of a window is S · v · Σ_k m_k · [i_k·((1 − r_k)·p_m + r_k·p_h) + (1 − i_k)·p_o] / 10⁶ over
segments k. The bridge replaces S, v, (m, i), r and p of the first window by those of the second in
this order; each step is one effect, so the effects sum to the change exactly (docs/formulas.md §7).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

from pricing.formula import TOKENS_PER_PRICE_UNIT, Exact


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentSales:
    """Billed tokens and amounts of one segment (a model, say) in a window, in one currency.

    uncached: input at its own price, cache writes included; output: reasoning included.
    """

    uncached_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    uncached_amount: Exact = 0
    cached_amount: Exact = 0
    output_amount: Exact = 0

    def __post_init__(self) -> None:
        for line in ("uncached", "cached", "output"):
            if getattr(self, f"{line}_amount") and not getattr(self, f"{line}_tokens"):
                raise ValueError(
                    f"{line}_amount without {line}_tokens has no price: show period lines "
                    f"(minimums, discounts on the total) beside the bridge"
                )

    @property
    def tokens(self) -> int:
        """All billed tokens."""
        return self.uncached_tokens + self.cached_tokens + self.output_tokens

    @property
    def amount(self) -> Fraction:
        """Revenue in the currency of the lines."""
        lines = (self.uncached_amount, self.cached_amount, self.output_amount)
        return sum((Fraction(line) for line in lines), Fraction(0))


@dataclass(frozen=True, slots=True)
class WindowSales:
    """Sales of a window by segment; seconds: the window's length (or server-seconds)."""

    seconds: Exact
    segments: Mapping[str, SegmentSales]

    @property
    def amount(self) -> Fraction:
        """Revenue of the window in its currency."""
        return sum((sales.amount for sales in self.segments.values()), Fraction(0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bridge:
    """Effects in the currency of the windows; before + their sum = after, exactly.

    calendar: more or fewer seconds at the same rate. volume: tokens per second. mix: shares of
    segments and of output. hit_ratio: cached share of the input. price: what a line cost.
    """

    before: Fraction
    calendar: Fraction
    volume: Fraction
    mix: Fraction
    hit_ratio: Fraction
    price: Fraction
    after: Fraction


@dataclass(frozen=True, slots=True)
class _Profile:
    """A segment reduced to ratios; None where the window cannot say."""

    share: Fraction | None  # of the window's tokens
    input_share: Fraction | None  # of the segment's tokens
    hit_ratio: Fraction | None
    prices: tuple[Fraction | None, Fraction | None, Fraction | None]  # per million tokens


def variance_bridge(before: WindowSales, after: WindowSales) -> Bridge:
    """The change from `before` to `after` as five effects, in their one currency.

    A ratio or price that one window cannot say (no such tokens) is taken from the other, so a new
    model's revenue is volume and mix, not price.
    """
    names = sorted({*before.segments, *after.segments})
    old = _filled(before, after, names)
    new = _filled(after, before, names)
    steps = [before.amount]
    seconds, rate = Fraction(after.seconds), _rate(before)
    steps.append(_revenue(seconds * rate, old, old, old))
    rate = _rate(after)
    steps.append(_revenue(seconds * rate, old, old, old))
    steps.append(_revenue(seconds * rate, new, old, old))
    steps.append(_revenue(seconds * rate, new, new, old))
    steps.append(after.amount)
    effects = [later - earlier for earlier, later in pairwise(steps)]
    return Bridge(
        before=before.amount,
        calendar=effects[0],
        volume=effects[1],
        mix=effects[2],
        hit_ratio=effects[3],
        price=effects[4],
        after=after.amount,
    )


def _rate(window: WindowSales) -> Fraction:
    """Billed tokens per second; 0 in an empty window."""
    if not window.seconds:
        raise ValueError("a window of a variance bridge must be longer than 0 seconds")
    return sum(sales.tokens for sales in window.segments.values()) / Fraction(window.seconds)


def _filled(window: WindowSales, other: WindowSales, names: list[str]) -> list[_Profile]:
    """Profiles of `window`, what it cannot say taken from `other`."""
    return [_merged(_profile(window, name), _profile(other, name)) for name in names]


def _profile(window: WindowSales, name: str) -> _Profile:
    sales = window.segments.get(name, SegmentSales())
    whole = sum(segment.tokens for segment in window.segments.values())
    inputs = sales.uncached_tokens + sales.cached_tokens
    return _Profile(
        share=_ratio(sales.tokens, whole),
        input_share=_ratio(inputs, sales.tokens),
        hit_ratio=_ratio(sales.cached_tokens, inputs),
        prices=(
            _unit_price(sales.uncached_amount, sales.uncached_tokens),
            _unit_price(sales.cached_amount, sales.cached_tokens),
            _unit_price(sales.output_amount, sales.output_tokens),
        ),
    )


def _merged(first: _Profile, second: _Profile) -> _Profile:
    uncached, cached, output = (
        _first(a, b) for a, b in zip(first.prices, second.prices, strict=True)
    )
    return _Profile(
        share=_first(first.share, second.share),
        input_share=_first(first.input_share, second.input_share),
        hit_ratio=_first(first.hit_ratio, second.hit_ratio),
        prices=(uncached, cached, output),
    )


def _revenue(
    tokens: Fraction, mix: list[_Profile], hits: list[_Profile], prices: list[_Profile]
) -> Fraction:
    """Revenue of `tokens` with the mix, hit ratios and prices of the given profiles."""
    whole = Fraction(0)
    for shape, hit, price in zip(mix, hits, prices, strict=True):
        own = tokens * (shape.share or 0)
        inputs = own * (shape.input_share or 0)
        cached = inputs * (hit.hit_ratio or 0)
        lines = (inputs - cached, cached, own - inputs)
        whole += sum(
            (count * (unit or 0) for count, unit in zip(lines, price.prices, strict=True)),
            Fraction(0),
        )
    return whole / TOKENS_PER_PRICE_UNIT


def _first(first: Fraction | None, second: Fraction | None) -> Fraction | None:
    return second if first is None else first


def _ratio(part: int, whole: int) -> Fraction | None:
    return Fraction(part, whole) if whole else None


def _unit_price(amount: Exact, tokens: int) -> Fraction | None:
    """Mean price per million tokens."""
    return Fraction(amount) * TOKENS_PER_PRICE_UNIT / tokens if tokens else None
