"""/v1/economics/cache/gib: what one more GiB of KV cache is worth to a window's traffic."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.cost_assumptions import Money, Ratio
from pricing.api.figures import CURVE, HITS, MONEY, RATIO, REVENUE, TOKENS, about, figure
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.routes.cache import CacheAsked, read_cache, used_kappa
from pricing.api.shapes import Amount, Currency, DecimalText, Report, Shown
from pricing.cache_economics import CacheStep, value_of_gib
from pricing.calendar_time import length_seconds
from pricing.costs import to_quantum
from pricing.errors import RequestInvalid
from pricing.formula import SECONDS_PER_DAY
from pricing.reports.cache_report import InputSales

router = APIRouter(tags=["economics"])
Reading = Annotated[Call, may("economics:read")]
MONTH_SECONDS: Final = 30 * SECONDS_PER_DAY
PER_GIB: Final = "currency of the row, per GiB, for the window"
PER_GIB_MONTH: Final = "currency of the row, per GiB and 30 days"


class GibAsked(CacheAsked):
    """Which model and window, and what the curve says of more GiB."""

    hit_ratio_gain: Ratio = Field(
        examples=["0.0004"], description="what `gib` more add to r: tokentill cache curve, or gib"
    )
    gib: DecimalText = Field(Decimal(1), description="GiB of KV cache that add it, above 0")
    cost_per_million_uncached: Money | None = Field(
        None, description="of freed servers that are sold or switched off; left out: not known"
    )


class GibRow(Shown):
    """One more GiB, in one currency. Unknown is null."""

    currency: Currency
    input_tokens: int = figure(TOKENS, REVENUE, "billed")
    hit_ratio: float = figure(RATIO, REVENUE, "r, token-weighted, as billed")
    hit_ratio_gain_per_gib: float = figure("ratio per GiB", CURVE, "from the curve")
    kappa: float | None = figure("ratio", HITS, "as given, else as measured")
    compute_fixed: Amount | None = figure(PER_GIB, CURVE, "revenue gained; estimate")
    traffic_fixed_revenue: Amount = figure(PER_GIB, CURVE, "revenue lost to the discount")
    traffic_fixed: Amount | None = figure(
        PER_GIB, CURVE, "cost of freed servers less revenue lost; estimate"
    )
    compute_fixed_month: Amount | None = figure(PER_GIB_MONTH, CURVE, "estimate")
    traffic_fixed_month: Amount | None = figure(PER_GIB_MONTH, CURVE, "estimate")
    revenue: Amount = figure(MONEY, REVENUE, "of the input, as billed")


@router.get(
    "/v1/economics/cache/gib",
    summary="Read what one more GiB of KV cache is worth",
    response_model=Report[GibRow],
    responses=LIST_CONTENT,
)
def get_gib(call: Reading, asked: Annotated[GibAsked, Query()]) -> Response:
    """With compute fixed, revenue gained; with traffic fixed, cost saved less revenue lost.

    The curve comes from block ids, which usage does not hold: `tokentill cache gib --trace` reads
    it off a trace.
    """
    if not asked.gib:
        raise RequestInvalid("gib must be above 0.", remedy="Leave it out for one GiB.")
    window, sales, estimate, _ = read_cache(call, asked)
    kappa = used_kappa(asked, estimate)
    month = MONTH_SECONDS / length_seconds(window)
    rows = [
        _row(each, asked, kappa, month)
        for each in sales
        if each.prices is not None and each.hit_ratio is not None
    ]
    return many(call.request, GibRow, rows, beside=about(GibRow, window))


def _row(
    sales: InputSales, asked: GibAsked, kappa: Fraction | None, month: Fraction
) -> dict[str, Any]:
    ratio, prices = sales.hit_ratio or Fraction(0), sales.prices
    gib = Fraction(asked.gib)
    after = min(Fraction(1), ratio + Fraction(asked.hit_ratio_gain))
    found: CacheStep | None = None
    if kappa is not None and prices is not None:
        found = value_of_gib(
            sales.tokens,
            prices,
            kappa=kappa,
            hit_ratios=(ratio, after),
            gib=gib,
            cost_per_million_uncached=asked.cost_per_million_uncached or 0,
        )
    discount = (
        Fraction(0)
        if prices is None
        else Fraction(prices.input_price) - Fraction(prices.cached_price)
    )
    lost = -sales.tokens * discount * (after - ratio) / gib / 10**6
    compute = None if found is None else found.compute_fixed_per_gib
    costed = found is not None and asked.cost_per_million_uncached is not None
    traffic = found.traffic_fixed_per_gib if found is not None and costed else None
    return {
        "currency": sales.currency,
        "input_tokens": sales.tokens,
        "hit_ratio": float(ratio),
        "hit_ratio_gain_per_gib": float((after - ratio) / gib),
        "kappa": None if kappa is None else float(kappa),
        "compute_fixed": _money(compute),
        "traffic_fixed_revenue": to_quantum(lost),
        "traffic_fixed": _money(traffic),
        "compute_fixed_month": _money(None if compute is None else compute * month),
        "traffic_fixed_month": _money(None if traffic is None else traffic * month),
        "revenue": sales.uncached_amount + sales.cached_amount,
    }


def _money(value: Fraction | None) -> Decimal | None:
    """A quotient of money, to 10⁻¹⁵ for reading."""
    return None if value is None else to_quantum(value)
