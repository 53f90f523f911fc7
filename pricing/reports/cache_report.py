"""What a cache hit of one model is worth in a window, from its bill and its prefill seconds.

Traffic fixed: the same tokens, more of them hits. Compute fixed: the same server-seconds, filled by
demand. Both start from the metered tokens, so neither needs a rating (docs/formulas.md §9).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

import duckdb

from metering.windows import Window
from pricing.cache_economics import Compute, slope_with_compute_fixed, slope_with_traffic_fixed
from pricing.calendar_time import length_seconds
from pricing.estimates.kappa_regression import KappaEstimate, estimate_kappa
from pricing.formula import (
    TOKENS_PER_PRICE_UNIT,
    Exact,
    TokenPrices,
    blended_input_price,
    service_factor,
)
from pricing.reports.rows import read_rows
from pricing.reports.server_work import prefill_shapes


@dataclass(frozen=True, slots=True, kw_only=True)
class InputSales:
    """Billed input of one model and currency. Amounts exact; uncached: cache writes included."""

    currency: str
    uncached_tokens: int
    cached_tokens: int
    uncached_amount: Decimal
    cached_amount: Decimal

    @property
    def tokens(self) -> int:
        """All billed input tokens."""
        return self.uncached_tokens + self.cached_tokens

    @property
    def hit_ratio(self) -> Fraction | None:
        """r, weighted by tokens."""
        return Fraction(self.cached_tokens, self.tokens) if self.tokens else None

    @property
    def prices(self) -> TokenPrices | None:
        """Mean prices per million tokens; None where one of the lines sold nothing."""
        if not self.uncached_tokens or not self.cached_tokens:
            return None
        return TokenPrices(
            input_price=_unit_price(self.uncached_amount, self.uncached_tokens),
            cached_price=_unit_price(self.cached_amount, self.cached_tokens),
        )


@dataclass(frozen=True, slots=True)
class Toggle:
    """Revenue of the window if the hit ratio were another: each question has its own answer."""

    hit_ratio: Fraction
    traffic_fixed: Fraction
    compute_fixed: Fraction | None


def input_sales(
    cursor: duckdb.DuckDBPyConnection, window: Window, *, model_id: str
) -> list[InputSales]:
    """Billed input of the model, one row a currency (sql/input_sales.sql)."""
    rows = read_rows(cursor, "input_sales", window, model_id=model_id)
    return [InputSales(**row) for row in rows]


def measured_kappa(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    *,
    model_id: str,
    kv_seconds_per_token: float | None = None,
) -> tuple[KappaEstimate | None, str | None]:
    """κ from the whole UTC days around the window, or why it cannot be measured."""
    try:
        seen = prefill_shapes(cursor, days_around(window), model_id=model_id)
        return estimate_kappa(seen, kv_seconds_per_token=kv_seconds_per_token), None
    except ValueError as error:
        return None, str(error)


def days_around(window: Window) -> Window:
    """The UTC days that the window touches: shapes of prompts are kept by day."""
    start, end = _midnight(window.start_at), _midnight(window.end_at)
    return Window(start, end if end == window.end_at else end + timedelta(days=1))


def busy_compute(sales: InputSales, seconds: Fraction, kappa: Exact) -> Compute | None:
    """The compute that the window used, as uncached tokens/s over its seconds; None: none."""
    used = sales.uncached_tokens + Fraction(kappa) * sales.cached_tokens
    if not used:
        return None
    return Compute(uncached_tokens_per_second=used / seconds, kappa=kappa)


def slopes(
    sales: InputSales, window: Window, kappa: Exact | None
) -> tuple[Fraction | None, Fraction | None]:
    """Revenue per unit of r, traffic fixed and compute fixed, in the currency of `sales`."""
    seconds, prices, ratio = length_seconds(window), sales.prices, sales.hit_ratio
    if prices is None or ratio is None:
        return None, None
    traffic = slope_with_traffic_fixed(seconds, sales.tokens / seconds, prices)
    compute = None if kappa is None else busy_compute(sales, seconds, kappa)
    if compute is None:
        return traffic, None
    return traffic, slope_with_compute_fixed(seconds, compute, hit_ratio=ratio, prices=prices)


def toggle(
    sales: InputSales, window: Window, kappa: Exact | None, *, hit_ratio: Fraction
) -> Toggle | None:
    """Revenue of the window's input at `hit_ratio`, both ways; None without both prices."""
    seconds, prices = length_seconds(window), sales.prices
    if prices is None:
        return None
    blended = blended_input_price(hit_ratio, prices)
    compute = None if kappa is None else busy_compute(sales, seconds, kappa)
    fuller = None if compute is None else compute.throughput(hit_ratio)
    return Toggle(
        hit_ratio,
        Fraction(sales.tokens, TOKENS_PER_PRICE_UNIT) * blended,
        None if fuller is None else service_factor(seconds) * fuller * blended,
    )


def contexts(
    cursor: duckdb.DuckDBPyConnection, window: Window, *, model_id: str, node_id: str | None
) -> list[Mapping[str, Any]]:
    """Tokens and prefill seconds by class of prompt length (sql/context_classes.sql)."""
    around = days_around(window)
    return [*read_rows(cursor, "context_classes", around, model_id=model_id, node_id=node_id)]


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def _unit_price(amount: Decimal, tokens: int) -> Fraction:
    return Fraction(amount) * TOKENS_PER_PRICE_UNIT / tokens
