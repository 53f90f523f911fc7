"""The revenue model: what a server's tokens earn in a window (docs/formulas.md §1).

R = K · [T · ((1 − r)·p_m + r·p_h) + T_out·p_o] · U with K = seconds in service / 10⁶. All of it is
computed in fractions, so a result is exact whatever the inputs; `exact_decimal` writes it as money.
"""

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

SECONDS_PER_DAY = 86_400
TOKENS_PER_PRICE_UNIT = 1_000_000  # prices are per million tokens

Exact = int | Decimal | Fraction  # never float: a figure built from one is not exact


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPrices:
    """Prices per million tokens in one currency: uncached input, cached input, output."""

    input_price: Exact = 0
    cached_price: Exact = 0
    output_price: Exact = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """What a server delivers at full load: tokens per second, hits and misses together.

    hit_ratio: token-weighted share of input tokens read from cache, 0–1.
    A prefill server has no output, a decode server no input, a unified server both.
    """

    input_tokens_per_second: Exact = 0
    hit_ratio: Exact = 0
    output_tokens_per_second: Exact = 0

    def __post_init__(self) -> None:
        if not 0 <= self.hit_ratio <= 1:
            raise ValueError(
                f"hit_ratio must lie in 0..1, got {self.hit_ratio}: cached tokens are a part of "
                f"the input tokens; take both from the prefill engine"
            )
        for name in ("input_tokens_per_second", "output_tokens_per_second"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} must not be negative, got {getattr(self, name)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Revenue:
    """Revenue of a window by price line, exact, in the currency of the prices."""

    uncached: Fraction
    cached: Fraction
    output: Fraction

    @property
    def total(self) -> Fraction:
        """Sum of the lines, in the currency of the prices."""
        return self.uncached + self.cached + self.output


def service_factor(seconds_in_service: Exact) -> Fraction:
    """K = seconds in service / 10⁶: 2.592 for 30 days; times tokens/s it is millions of tokens."""
    if seconds_in_service < 0:
        raise ValueError(f"seconds_in_service must not be negative, got {seconds_in_service}")
    return Fraction(seconds_in_service) / TOKENS_PER_PRICE_UNIT


def blended_input_price(hit_ratio: Exact, prices: TokenPrices) -> Fraction:
    """b(r) = (1 − r)·p_m + r·p_h, currency per million input tokens; unchecked algebra."""
    ratio = Fraction(hit_ratio)
    return (1 - ratio) * Fraction(prices.input_price) + ratio * Fraction(prices.cached_price)


def window_revenue(
    seconds_in_service: Exact,
    throughput: Throughput,
    *,
    prices: TokenPrices,
    utilization: Exact = 1,
) -> Revenue:
    """Revenue of one server over `seconds_in_service` seconds, by line, exact.

    utilization: billed tokens ÷ (full-load tokens/s × seconds in service), 0–1; a token ratio,
    not the busy share of a GPU.
    """
    if not 0 <= utilization <= 1:
        raise ValueError(f"utilization must lie in 0..1, got {utilization}")
    factor = service_factor(seconds_in_service) * Fraction(utilization)
    input_mtokens = factor * Fraction(throughput.input_tokens_per_second)
    cached_mtokens = input_mtokens * Fraction(throughput.hit_ratio)
    output_mtokens = factor * Fraction(throughput.output_tokens_per_second)
    return Revenue(
        uncached=(input_mtokens - cached_mtokens) * Fraction(prices.input_price),
        cached=cached_mtokens * Fraction(prices.cached_price),
        output=output_mtokens * Fraction(prices.output_price),
    )


def throughput_of_counts(
    seconds_in_service: Exact, *, input_tokens: int, cached_tokens: int, output_tokens: int
) -> Throughput:
    """T, r and T_out of a window in exact fractions, from its token counts.

    Put back into `window_revenue` with the window's one price key they give the ledger's sum to
    the last digit; rounded for reading they must never be used for money.
    """
    seconds = Fraction(seconds_in_service)
    return Throughput(
        input_tokens_per_second=input_tokens / seconds,
        hit_ratio=Fraction(cached_tokens, input_tokens) if input_tokens else Fraction(0),
        output_tokens_per_second=output_tokens / seconds,
    )


def exact_decimal(value: Exact) -> Decimal:
    """`value` as a Decimal with every digit and no trailing zeros.

    Raises ArithmeticError where no finite decimal exists (a third): such a value is not money.
    """
    numerator, denominator = Fraction(value).as_integer_ratio()
    twos = (denominator & -denominator).bit_length() - 1
    rest, fives = denominator >> twos, 0
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        raise ArithmeticError(f"{numerator}/{denominator} has no finite decimal form")
    places = max(twos, fives)
    digits = numerator * 2 ** (places - twos) * 5 ** (places - fives)
    return Decimal(f"{digits}E-{places}")


def plain_text(value: Exact) -> str:
    """`value` exactly, as decimal text without exponent: 563872.90752."""
    return f"{exact_decimal(value):f}"
