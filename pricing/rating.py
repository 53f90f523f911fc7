"""Tokens by line and what they cost: the rules of the settler's SQL as plain values.

The oracle of the tests: settle_owned.sql equals `split_tokens`, settle_settled.sql `verdict`.
"""

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from decimal import Decimal
from typing import Final

from pricing.money import exact_arithmetic, token_charge
from pricing.price_key import PriceKey


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """Disjoint token counts of one request; their sum is its input plus its output.

    uncached, cached (implicit), cached_explicit, cache_write (default TTL), cache_write_1h: input.
    unsplit: input whose cached part is unknown. output: without reasoning.
    """

    uncached: int = 0
    cached: int = 0
    cached_explicit: int = 0
    cache_write: int = 0
    cache_write_1h: int = 0
    unsplit: int = 0
    output: int = 0
    reasoning: int = 0

    def total(self) -> int:
        """All tokens of the request."""
        return sum(astuple(self))


# line of Lines, line of the bill (docs/prices/format.md, Keys), price of PriceKey
LINE_PRICES: Final = (
    ("uncached", "input", "input_price"),
    ("cached", "cached_input", "cached_price"),
    ("cached_explicit", "cached_input", "cached_explicit_price"),
    ("cache_write", "cache_write", "cache_write_price"),
    ("cache_write_1h", "cache_write", "cache_write_1h_price"),
    ("output", "output", "output_price"),
    ("reasoning", "reasoning", "reasoning_price"),
)
INPUT_LINES: Final = frozenset({"input", "cached_input", "cache_write"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What the legs of a request say, in tokens; None where they do not say it."""

    input_tokens: int | None
    cached_tokens: int | None
    explicit_tokens: int | None = None
    write_tokens: int | None = None
    write_1h_tokens: int | None = None
    output_tokens: int | None
    reasoning_tokens: int | None = None


def split_tokens(counts: Counts) -> Lines:
    """Disjoint lines, in tokens; a contradiction leaves the cached part unknown, never clamped."""
    n, h = counts.input_tokens, counts.cached_tokens
    e = counts.explicit_tokens or 0
    w, w1 = counts.write_tokens or 0, counts.write_1h_tokens or 0
    out, think = counts.output_tokens or 0, counts.reasoning_tokens or 0
    if think > out:
        think = 0
    tail = {"output": out - think, "reasoning": think}
    if n is None:
        return Lines(**tail)
    if w1 > w or w > n:
        return Lines(unsplit=n, **tail)
    writes = {"cache_write": w - w1, "cache_write_1h": w1}
    if h is None or h + w > n or e > h:
        return Lines(unsplit=n - w, **writes, **tail)
    return Lines(uncached=n - h - w, cached=h - e, cached_explicit=e, **writes, **tail)


def verdict(counts: Counts, price: PriceKey | None, no_price: str = "no_price") -> str | None:
    """Why a delivered request cannot be billed, or None if it can. no_price: the book's reason."""
    if counts.input_tokens is None:
        return "input_unknown"
    if counts.output_tokens is None:
        return "output_unknown"
    if price is None:
        return no_price
    lines = split_tokens(counts)
    if lines.unsplit and price.input_price is None:
        return "no_input_price"
    for group, names in (
        ("no_input_price", ("uncached", "cache_write", "cache_write_1h")),
        ("no_cached_price", ("cached", "cached_explicit")),
        ("no_output_price", ("output", "reasoning")),
    ):
        for name, _, column in LINE_PRICES:
            if name in names and getattr(lines, name) and getattr(price, column) is None:
                return group
    same = price.input_price == price.cached_price == price.cached_explicit_price
    return "cached_unknown" if lines.unsplit and not same else None


def charges(lines: Lines, price: PriceKey) -> Iterator[tuple[str, int, Decimal, Decimal]]:
    """(line of the bill, tokens, price per million tokens, exact amount) of each line with tokens.

    Input whose cached part is unknown is charged as uncached; `verdict` allows that only where it
    makes no difference.
    """
    with exact_arithmetic():
        for name, line, column in LINE_PRICES:
            tokens = getattr(lines, name) + (lines.unsplit if name == "uncached" else 0)
            unit_price = getattr(price, column)
            if tokens and unit_price is not None:
                yield line, tokens, unit_price, token_charge(tokens, unit_price)


def amount_range(lines: Lines, price: PriceKey) -> tuple[Decimal, Decimal]:
    """Lowest and highest exact amount, in the price's currency, of a request that is not billed."""
    with exact_arithmetic():
        known = Decimal(0)
        for name, _, column in LINE_PRICES:
            known += token_charge(getattr(lines, name), getattr(price, column) or Decimal(0))
        options = [p for p in (price.input_price, price.cached_price) if p is not None]
        if not lines.unsplit or not options:
            return known, known
        low, high = min(options), max(options)
        return known + token_charge(lines.unsplit, low), known + token_charge(lines.unsplit, high)
