"""/v1/economics/cache and /contexts: what a hit is worth, and in which mix of prompts."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from metering.windows import Window
from pricing.api.call import Call, may
from pricing.api.cost_assumptions import Ratio
from pricing.api.figures import (
    BREAK_EVENS,
    CONTEXTS,
    HITS,
    KAPPA,
    LEDGER,
    MONEY,
    PER_MILLION,
    RATIO,
    REVENUE,
    SECONDS,
    TOKENS,
    TOKENS_PER_SECOND,
    about,
    figure,
)
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Amount, Currency, Report, Shown, Text
from pricing.api.windows import WindowQuery, until_now
from pricing.cache_economics import (
    break_even_cached_price,
    break_even_kappa,
    cost_at_which_hits_pay,
)
from pricing.calendar_time import length_seconds
from pricing.context_mix import equivalent_throughput, time_shares
from pricing.costs import to_quantum
from pricing.estimates.kappa_regression import KappaEstimate
from pricing.formula import SECONDS_PER_DAY
from pricing.reports.cache_report import (
    InputSales,
    contexts,
    days_around,
    input_sales,
    measured_kappa,
    slopes,
    toggle,
)
from pricing.reports.usage_report import HOUR, check_edges

router = APIRouter(tags=["economics"])
Reading = Annotated[Call, may("economics:read")]
POINT: Final = Fraction(1, 100)
MONTH_SECONDS: Final = 30 * SECONDS_PER_DAY
STEPS: Final = 40  # of the toggle's curve, from r = 0 to r = 1


class CacheAsked(WindowQuery):
    """Which model, which window, and κ where it is known better than measured."""

    model_id: Text = Field(examples=["glm-5.2"])
    kappa: Ratio | None = Field(
        None, description="server time of a cached ÷ an uncached token; left out: measured"
    )
    kv_bytes_per_token: Annotated[int, Field(gt=0, le=10**9)] | None = Field(
        None, description="with kv_bytes_per_second: the floor under κ"
    )
    kv_bytes_per_second: Annotated[int, Field(gt=0, le=10**15)] | None = None


class CacheRow(Shown):
    """What a hit is worth, in one currency. Estimates say so; unknown is null."""

    currency: Currency
    input_tokens: int = figure(TOKENS, REVENUE, "billed")
    cached_input_tokens: int = figure(TOKENS, REVENUE, "billed, a part of the input")
    hit_ratio: float | None = figure(RATIO, REVENUE, "r, token-weighted")
    uncached_revenue: Amount = figure(MONEY, LEDGER)
    cached_revenue: Amount = figure(MONEY, LEDGER)
    input_price: Amount | None = figure(PER_MILLION, HITS, "p_m, mean of what was billed")
    cached_price: Amount | None = figure(PER_MILLION, HITS, "p_h, mean of what was billed")
    traffic_fixed_per_point: Amount | None = figure(MONEY, HITS, "one more point of r")
    compute_fixed_per_point: Amount | None = figure(MONEY, HITS, "one more point of r; estimate")
    traffic_fixed_per_point_month: Amount | None = figure("currency per 30 days", HITS)
    compute_fixed_per_point_month: Amount | None = figure("currency per 30 days", HITS, "estimate")
    kappa: float | None = figure("ratio", KAPPA, "used for compute_fixed")
    kappa_source: Literal["measured", "given", "unknown"]
    kappa_low: float | None = figure("ratio", KAPPA, "95 % interval")
    kappa_high: float | None = figure("ratio", KAPPA, "95 % interval")
    kappa_floor: float | None = figure("ratio", KAPPA, "by KV bandwidth alone")
    kappa_rows: int | None = figure("rows", KAPPA, "days × servers × shapes of prompts")
    kappa_context_tokens: float | None = figure(TOKENS, KAPPA, "mean context of the estimate")
    kappa_explained_ratio: float | None = figure(RATIO, KAPPA, "R²")
    kappa_reason: str | None = Field(description="why κ is not measured, or not used")
    uncached_tokens_per_second: float | None = figure(
        TOKENS_PER_SECOND, KAPPA, "C of a request's seconds; batches share them; estimate"
    )
    break_even_kappa: float | None = figure("ratio", BREAK_EVENS, "p_h ÷ p_m: hits pay below it")
    break_even_cached_price: Amount | None = figure(PER_MILLION, BREAK_EVENS, "κ · p_m")
    cost_at_which_hits_pay: Amount | None = figure(
        "currency per million uncached tokens", BREAK_EVENS, "with traffic fixed"
    )


class ToggleRow(Shown):
    """Revenue of the window's input if the hit ratio were another."""

    currency: Currency
    hit_ratio: float = figure(RATIO, HITS)
    traffic_fixed: Amount = figure(MONEY, HITS, "the same tokens")
    compute_fixed: Amount | None = figure(MONEY, HITS, "the same server-seconds; estimate")


class ContextRow(Shown):
    """One class of prompt lengths. Rates are of a request's own prefill seconds: estimates."""

    input_tokens_from: int = figure(TOKENS, CONTEXTS, "length, inclusive")
    input_tokens_until: int | None = figure(TOKENS, CONTEXTS, "length, exclusive")
    legs: int = figure("requests", CONTEXTS)
    input_tokens: int = figure(TOKENS, CONTEXTS)
    cached_input_tokens: int = figure(TOKENS, CONTEXTS)
    prefill_seconds: float = figure(SECONDS, CONTEXTS)
    token_share: float = figure(RATIO, CONTEXTS)
    time_share: float | None = figure(RATIO, CONTEXTS)
    tokens_per_second: float | None = figure(TOKENS_PER_SECOND, CONTEXTS, "of this class alone")
    equivalent_tokens_per_second: float | None = figure(
        TOKENS_PER_SECOND, CONTEXTS, "T_eq of the whole mix, the same in every row"
    )


class ContextsAsked(WindowQuery):
    """Which model, and which server."""

    model_id: Text = Field(examples=["glm-5.2"])
    node_id: Text | None = None


@router.get(
    "/v1/economics/cache",
    summary="Read what a hit is worth",
    response_model=Report[CacheRow],
    responses=LIST_CONTENT,
)
def get_cache(call: Reading, asked: Annotated[CacheAsked, Query()]) -> Response:
    """One more point of hit ratio with traffic fixed and with compute fixed: two answers.

    κ is measured by regression of prefill seconds over the UTC days around the window.
    """
    window, sales, estimate, reason = read_cache(call, asked)
    rows = [_row(each, window, asked, estimate=estimate, reason=reason) for each in sales]
    return many(call.request, CacheRow, rows, beside=about(CacheRow, window))


@router.get(
    "/v1/economics/cache/toggle",
    summary="Read revenue at other hit ratios",
    response_model=Report[ToggleRow],
    responses=LIST_CONTENT,
)
def get_toggle(call: Reading, asked: Annotated[CacheAsked, Query()]) -> Response:
    """The window's input at hit ratios from 0 to 1, hold traffic and hold compute side by side."""
    window, sales, estimate, _ = read_cache(call, asked)
    kappa = used_kappa(asked, estimate)
    rows = [
        {
            "currency": each.currency,
            "hit_ratio": step / STEPS,
            "traffic_fixed": to_quantum(found.traffic_fixed),
            "compute_fixed": _money(found.compute_fixed),
        }
        for each in sales
        for step in range(STEPS + 1)
        if (found := toggle(each, window, kappa, hit_ratio=Fraction(step, STEPS))) is not None
    ]
    return many(call.request, ToggleRow, rows, beside=about(ToggleRow, window))


@router.get(
    "/v1/economics/contexts",
    summary="Read the mix of contexts",
    response_model=Report[ContextRow],
    responses=LIST_CONTENT,
)
def get_contexts(call: Reading, asked: Annotated[ContextsAsked, Query()]) -> Response:
    """Prompts by length in powers of two, and the equivalent throughput of their mix.

    The window is widened to whole UTC days.
    """
    window = asked.window()
    found = call.usage(
        lambda cursor: contexts(cursor, window, model_id=asked.model_id, node_id=asked.node_id)
    )
    beside = about(ContextRow, days_around(window))
    return many(call.request, ContextRow, _contexts(found), beside=beside)


def read_cache(
    call: Call, asked: CacheAsked
) -> tuple[Window, list[InputSales], KappaEstimate | None, str | None]:
    """The window that has passed, its billed input, κ as measured, and why it is not."""
    window = asked.window()
    check_edges(window, [window], HOUR)
    passed = until_now(window, call.at)
    size, speed = asked.kv_bytes_per_token, asked.kv_bytes_per_second
    floor = size / speed if size and speed else None
    sales = call.usage(lambda cursor: input_sales(cursor, passed, model_id=asked.model_id))
    estimate, reason = call.usage(
        lambda cursor: measured_kappa(
            cursor, passed, model_id=asked.model_id, kv_seconds_per_token=floor
        )
    )
    if estimate is not None and estimate.kappa < 0 and asked.kappa is None:
        reason = "the estimate is below 0, which no server can do: take more days"
    return passed, sales, estimate, reason


def used_kappa(asked: CacheAsked, estimate: KappaEstimate | None) -> Fraction | None:
    """κ as given, else as measured where it can be."""
    if asked.kappa is not None:
        return Fraction(asked.kappa)
    return Fraction(estimate.kappa) if estimate is not None and estimate.kappa >= 0 else None


def _row(
    sales: InputSales,
    window: Window,
    asked: CacheAsked,
    *,
    estimate: KappaEstimate | None,
    reason: str | None,
) -> dict[str, Any]:
    kappa = used_kappa(asked, estimate)
    source = "given" if asked.kappa is not None else "measured" if kappa is not None else "unknown"
    points = [None if slope is None else slope * POINT for slope in slopes(sales, window, kappa)]
    month = MONTH_SECONDS / length_seconds(window)
    monthly = [None if point is None else point * month for point in points]
    return {
        "currency": sales.currency,
        "input_tokens": sales.tokens,
        "cached_input_tokens": sales.cached_tokens,
        "hit_ratio": None if sales.hit_ratio is None else float(sales.hit_ratio),
        "uncached_revenue": sales.uncached_amount,
        "cached_revenue": sales.cached_amount,
        "traffic_fixed_per_point": _money(points[0]),
        "compute_fixed_per_point": _money(points[1]),
        "traffic_fixed_per_point_month": _money(monthly[0]),
        "compute_fixed_per_point_month": _money(monthly[1]),
        "kappa": None if kappa is None else float(kappa),
        "kappa_source": source,
        "kappa_reason": reason,
        **_measured(estimate),
        **_break_evens(sales, kappa),
    }


def _measured(estimate: KappaEstimate | None) -> dict[str, Any]:
    names = ("kappa_low", "kappa_high", "kappa_floor", "uncached_tokens_per_second")
    found = {name: getattr(estimate, name, None) for name in names}
    return found | {
        "kappa_rows": getattr(estimate, "rows", None),
        "kappa_context_tokens": getattr(estimate, "context_tokens", None),
        "kappa_explained_ratio": getattr(estimate, "explained_ratio", None),
    }


def _break_evens(sales: InputSales, kappa: Fraction | None) -> dict[str, Any]:
    prices = sales.prices
    ratio = None if prices is None else break_even_kappa(prices)
    found = {
        "input_price": None if prices is None else _money(Fraction(prices.input_price)),
        "cached_price": None if prices is None else _money(Fraction(prices.cached_price)),
        "break_even_kappa": None if ratio is None else float(ratio),
        "break_even_cached_price": None,
        "cost_at_which_hits_pay": None,
    }
    if prices is None or kappa is None:
        return found
    return found | {
        "break_even_cached_price": _money(break_even_cached_price(prices.input_price, kappa)),
        "cost_at_which_hits_pay": _money(cost_at_which_hits_pay(prices, kappa)),
    }


def _contexts(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    timed = [row for row in found if row["prefill_seconds"] > 0 and row["input_tokens"] > 0]
    rates = [Fraction(row["input_tokens"]) / Fraction(row["prefill_seconds"]) for row in timed]
    whole = sum(row["input_tokens"] for row in timed)
    shares = [Fraction(row["input_tokens"], whole) for row in timed]
    equivalent = float(equivalent_throughput(rates, shares)) if timed else None
    spent = time_shares(rates, shares) if timed else []
    own = {
        row["input_class"]: (float(rate), float(share))
        for row, rate, share in zip(timed, rates, spent, strict=True)
    }
    tokens = sum(row["input_tokens"] for row in found)
    return [
        {
            "input_tokens_from": 2 ** row["input_class"] if row["input_class"] >= 0 else 0,
            "input_tokens_until": 2 ** (row["input_class"] + 1) if row["input_class"] >= 0 else 1,
            "legs": row["legs"],
            "input_tokens": row["input_tokens"],
            "cached_input_tokens": row["cached_tokens"],
            "prefill_seconds": row["prefill_seconds"],
            "token_share": row["input_tokens"] / tokens if tokens else 0.0,
            "tokens_per_second": own.get(row["input_class"], (None, None))[0],
            "time_share": own.get(row["input_class"], (None, None))[1],
            "equivalent_tokens_per_second": equivalent,
        }
        for row in found
    ]


def _money(value: Fraction | None) -> Decimal | None:
    """A quotient of money, to 10⁻¹⁵ for reading."""
    return None if value is None else to_quantum(value)
