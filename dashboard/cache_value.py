"""What one more point of hit ratio is worth (docs/formulas.md §9.1): rates for reading."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from dashboard.summary import total

POINT = Decimal("0.01")
SECONDS_30_DAYS = 30 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheValue:
    """Money a 30-day month per point of r, in one currency; None where a price is unknown.

    input_price, cached_price: mean per million tokens of the window. kappa: server time of a
    cached token ÷ that of an uncached one. Revenue of output is left out.
    """

    input_price: Decimal | None
    cached_price: Decimal | None
    traffic_fixed: Decimal | None
    compute_fixed: Decimal | None


def cache_value(rows: Sequence[dict[str, Any]], *, seconds: Decimal, kappa: Decimal) -> CacheValue:
    """From billed rows of /v1/usage of one currency over `seconds`."""
    uncached = sum(row["uncached_tokens"] for row in rows)
    cached = sum(row["cached_tokens"] for row in rows)
    missed = total(row["input_amount"] for row in rows)
    hit = total(row["cached_amount"] for row in rows)
    input_price = missed * 10**6 / uncached if uncached else None
    cached_price = hit * 10**6 / cached if cached else None
    if input_price is None or cached_price is None or seconds <= 0:
        return CacheValue(
            input_price=input_price, cached_price=cached_price,
            traffic_fixed=None, compute_fixed=None,
        )  # fmt: skip
    tokens = (uncached + cached) * SECONDS_30_DAYS / seconds
    ratio = Decimal(cached) / (uncached + cached)
    share = 1 - ratio + kappa * ratio
    slope = tokens * (cached_price - kappa * input_price) / share / 10**6
    return CacheValue(
        input_price=input_price,
        cached_price=cached_price,
        traffic_fixed=-tokens * (input_price - cached_price) / 10**6 * POINT,
        compute_fixed=slope * POINT,
    )
