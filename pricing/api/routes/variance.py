"""/v1/economics/variance: why revenue changed between two windows, in effects that add up."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from metering.windows import Window
from pricing.api.call import Call, may
from pricing.api.figures import (
    CALENDAR,
    CHANGE,
    LEDGER,
    MONEY,
    RATIO,
    REVENUE,
    SECONDS,
    TOKENS,
    about,
    figure,
)
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Amount, Currency, Id, Report, Shown, Text, Time
from pricing.api.windows import WindowQuery, until_now
from pricing.attribution import settled
from pricing.calendar_time import length_seconds
from pricing.reports.usage_report import HOUR, Group, UsageQuery, check_edges, usage_report
from pricing.scope import Scope
from pricing.variance import SegmentSales, WindowSales, variance_bridge

router = APIRouter(tags=["economics"])
Reading = Annotated[Call, may("economics:read")]
EFFECTS: Final = ("calendar", "volume", "mix", "hit_ratio", "price")
SEGMENTS: Final = {"model": Group.MODEL, "tenant": Group.TENANT, "project": Group.PROJECT}


class VarianceAsked(WindowQuery):
    """The window that is explained, and the one it is compared with."""

    before_start_at: Time = Field(description="inclusive", examples=["2026-09-01T00:00:00+08:00"])
    before_end_at: Time = Field(description="exclusive", examples=["2026-10-01T00:00:00+08:00"])
    segment: Literal["model", "tenant", "project"] = Field("model", description="what mix is of")
    tenant_id: Id | None = None
    model_id: Text | None = None

    def before(self) -> Window:
        """The window before. Raises RequestInvalid as `window` does."""
        return WindowQuery(start_at=self.before_start_at, end_at=self.before_end_at).window()


class VarianceRow(Shown):
    """The bridge of one currency: before + the five effects = after, to the last digit."""

    currency: Currency
    before_start_at: Time
    before_end_at: Time
    before: Amount = figure("currency of the row, for the window before", LEDGER, "revenue")
    calendar: Amount = figure(MONEY, CHANGE, "more or fewer seconds at the same rate")
    volume: Amount = figure(MONEY, CHANGE, "tokens per second")
    mix: Amount = figure(MONEY, CHANGE, "shares of segments, and of output")
    hit_ratio: Amount = figure(MONEY, CHANGE, "cached share of the input")
    price: Amount = figure(MONEY, CHANGE, "what a line cost")
    after: Amount = figure(MONEY, LEDGER, "revenue")
    change: Amount = figure(MONEY, CHANGE, "after − before")
    change_ratio: float | None = figure("ratio", CHANGE, "change ÷ before; null: nothing before")
    largest_effect: str = Field(description="the effect that moved most", examples=["hit_ratio"])
    before_seconds: float = figure(SECONDS, CALENDAR)
    after_seconds: float = figure(SECONDS, CALENDAR)
    before_tokens: int = figure(TOKENS, REVENUE, "billed")
    after_tokens: int = figure(TOKENS, REVENUE, "billed")
    before_hit_ratio: float | None = figure(RATIO, REVENUE)
    after_hit_ratio: float | None = figure(RATIO, REVENUE)


@router.get(
    "/v1/economics/variance",
    summary="Read why revenue changed",
    response_model=Report[VarianceRow],
    responses=LIST_CONTENT,
)
def get_variance(call: Reading, asked: Annotated[VarianceAsked, Query()]) -> Response:
    """Calendar, volume, mix, hit ratio and price: five effects that sum to the change exactly.

    A window that has not ended counts up to now. Period lines (minimums, discounts on the total)
    have no price per token and are not in it.
    """
    scope = call.scope(asked.tenant_id)
    before, after = (until_now(window, call.at) for window in (asked.before(), asked.window()))
    for window in (asked.before(), asked.window()):
        check_edges(window, [window], HOUR)
    sold = [_sold(call, scope, window, asked) for window in (before, after)]
    rows = [
        _row(currency, before, after, tuple(part.get(currency, {}) for part in sold))
        for currency in sorted({*sold[0], *sold[1]})
    ]
    return many(call.request, VarianceRow, rows, beside=about(VarianceRow, after))


Segments = Mapping[str, SegmentSales]


def _sold(
    call: Call, scope: Scope, window: Window, asked: VarianceAsked
) -> dict[str, dict[str, SegmentSales]]:
    """Billed tokens and money by currency and segment."""
    group = SEGMENTS[asked.segment]
    whole_hours = Window(window.start_at, _hour_after(window))
    query = UsageQuery(
        window=whole_hours,
        groups=frozenset({group}),
        model_id=asked.model_id,
        disposition="billed",
    )
    found: dict[str, dict[str, SegmentSales]] = {}
    for row in call.usage(lambda cursor: usage_report(cursor, scope, query)):
        found.setdefault(row["currency"], {})[row[group] or ""] = SegmentSales(
            uncached_tokens=row["uncached_tokens"] + row["cache_write_tokens"],
            cached_tokens=row["cached_tokens"],
            output_tokens=row["output_tokens"] + row["reasoning_tokens"],
            uncached_amount=row["input_amount"] + row["cache_write_amount"],
            cached_amount=row["cached_amount"],
            output_amount=row["output_amount"] + row["reasoning_amount"],
        )
    return found


def _hour_after(window: Window) -> Any:
    """The end of the window's last hour: usage is kept by the hour."""
    end = window.end_at.replace(minute=0, second=0, microsecond=0)
    return end if end == window.end_at else end + HOUR


def _row(currency: str, before: Window, after: Window, sold: Sequence[Segments]) -> dict[str, Any]:
    sales = [
        WindowSales(length_seconds(window), segments)
        for window, segments in zip((before, after), sold, strict=True)
    ]
    bridge = variance_bridge(*sales)
    effects = settled({name: getattr(bridge, name) for name in EFFECTS})
    tokens = [sum(each.tokens for each in segments.values()) for segments in sold]
    ratios = [_hit_ratio(segments) for segments in sold]
    change = bridge.after - bridge.before
    ends = settled({"before": bridge.before, "after": bridge.after, "change": change})
    return {
        "currency": currency,
        "before_start_at": before.start_at,
        "before_end_at": before.end_at,
        **effects,
        **ends,
        "change_ratio": float(change / bridge.before) if bridge.before else None,
        "largest_effect": max(EFFECTS, key=lambda name: abs(effects[name])),
        "before_seconds": before.seconds(),
        "after_seconds": after.seconds(),
        "before_tokens": tokens[0],
        "after_tokens": tokens[1],
        "before_hit_ratio": ratios[0],
        "after_hit_ratio": ratios[1],
    }


def _hit_ratio(segments: Segments) -> float | None:
    cached = sum(each.cached_tokens for each in segments.values())
    inputs = cached + sum(each.uncached_tokens for each in segments.values())
    return float(Fraction(cached, inputs)) if inputs else None
