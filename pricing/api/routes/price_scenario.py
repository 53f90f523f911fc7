"""/v1/economics/elasticity: what a window's traffic would be at other prices; a scenario."""

from dataclasses import asdict
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Final

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.cost_assumptions import Money
from pricing.api.figures import PER_MILLION, RATIO, REVENUE, SCENARIO, TOKENS, about, figure
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Currency, DecimalText, Report, Shown, Text
from pricing.api.windows import WindowQuery, until_now
from pricing.errors import RequestInvalid
from pricing.price_scenario import best_blended_price, cached_price_for, price_point
from pricing.reports.cache_report import InputSales, input_sales
from pricing.reports.usage_report import HOUR, check_edges

router = APIRouter(tags=["economics"])
Reading = Annotated[Call, may("economics:read")]
ELASTICITY_MAX: Final = 20
FACTORS: Final = tuple(step / 20 for step in range(10, 31))  # 0.5 to 1.5 times the price
ESTIMATE: Final = "currency of the row, for the window"


class ElasticityAsked(WindowQuery):
    """Which model and window, and what is assumed."""

    model_id: Text = Field(examples=["glm-5.2"])
    elasticity: DecimalText = Field(
        examples=["1.5"],
        description="ε of T ∝ b^−ε: an assumption, one price change never shows it",
    )
    cost_per_million: Money = Field(
        examples=["0.30"], description="what one more million billed input tokens costs"
    )


class ElasticityRow(Shown):
    """Traffic at one price, in one currency. All but the window's own row is a scenario."""

    currency: Currency
    price_factor: float = figure("ratio", SCENARIO, "of the price of every input line")
    is_best: bool = Field(description="the profit-maximal price; no such row for ε ≤ 1")
    blended_price: float = figure(PER_MILLION, SCENARIO, "b, estimate")
    cached_price: float | None = figure(
        PER_MILLION, SCENARIO, "p_h that gives b with p_m as it is; null: below 0, or no hits"
    )
    input_tokens: float = figure(TOKENS, SCENARIO, "estimate")
    revenue: float = figure(ESTIMATE, SCENARIO, "estimate")
    profit: float = figure(ESTIMATE, SCENARIO, "revenue − cost_per_million · tokens; estimate")
    hit_ratio: float = figure(RATIO, REVENUE, "r as billed; held, though prices move it")


@router.get(
    "/v1/economics/elasticity",
    summary="Read traffic at other prices",
    response_model=Report[ElasticityRow],
    responses=LIST_CONTENT,
)
def get_elasticity(call: Reading, asked: Annotated[ElasticityAsked, Query()]) -> Response:
    """The window's input at 0.5 to 1.5 times its price, and at the price that earns most.

    A scenario, never a forecast: the elasticity is yours, and the hit ratio is held.
    """
    window = asked.window()
    check_edges(window, [window], HOUR)
    if asked.elasticity > ELASTICITY_MAX:
        raise RequestInvalid(
            f"elasticity must be at most {ELASTICITY_MAX}, got {asked.elasticity}.",
            remedy="Demand that moves that much has no price.",
        )
    passed = until_now(window, call.at)
    sales = call.usage(lambda cursor: input_sales(cursor, passed, model_id=asked.model_id))
    rows = [row for each in sales for row in _rows(each, asked)]
    return many(call.request, ElasticityRow, rows, beside=about(ElasticityRow, passed))


def _rows(sales: InputSales, asked: ElasticityAsked) -> list[dict[str, Any]]:
    ratio = sales.hit_ratio
    if ratio is None:
        return []
    blended = Fraction(sales.uncached_amount + sales.cached_amount) * 10**6 / sales.tokens
    best = best_blended_price(asked.cost_per_million, asked.elasticity)
    factor = float(best / blended) if best and blended else None
    factors = {*FACTORS, factor} if factor else {*FACTORS}
    rows = []
    for each in sorted(factors):
        point = price_point(
            each,
            float(asked.elasticity),
            input_tokens=sales.tokens,
            blended_price=blended,
            cost_per_million=asked.cost_per_million,
        )
        rows.append(
            asdict(point)
            | {
                "currency": sales.currency,
                "is_best": each == factor,
                "hit_ratio": float(ratio),
                "cached_price": _cached_price(sales, Decimal(str(point.blended_price)), ratio),
            }
        )
    return rows


def _cached_price(sales: InputSales, blended: Decimal, ratio: Fraction) -> float | None:
    prices = sales.prices
    if prices is None:
        return None
    price = cached_price_for(blended, price_input=prices.input_price, hit_ratio=ratio)
    return None if price is None or price < 0 else float(price)
