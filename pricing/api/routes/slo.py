"""/v1/slo: who met a latency limit, by request, by token and by revenue."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import Field
from starlette.responses import Response

from pricing.api.call import Call, may
from pricing.api.cost_assumptions import Ratio
from pricing.api.figures import LEDGER, MONEY, RATIO, SECONDS, SERVICE_LEVELS, about, figure
from pricing.api.representation import LIST_CONTENT, many
from pricing.api.shapes import Amount, Report, Shown, Text
from pricing.api.windows import WindowQuery, until_now
from pricing.errors import RequestInvalid
from pricing.reports.service_levels import (
    ITL,
    GroupBy,
    Levels,
    LevelsQuery,
    Measure,
    RequestMeasure,
    Stage,
    service_levels,
)
from pricing.reports.usage_report import HOUR, INTERVALS_MAX, check_edges
from pricing.slo import UNKNOWN, BothMet, Share

router = APIRouter(tags=["economics"])
Reading = Annotated[Call, may("economics:read")]
LIMIT_MAX = 86_400  # seconds
PER_SECOND = "requests per second"
NO_REQUESTS = (
    "Engines count inter-token latency over all their requests together: it is known by token, "
    "not by request or revenue."
)


class LevelsAsked(WindowQuery):
    """Which window, which latency, and the limit that was promised."""

    measure: Measure = Field(
        "ttft", description="ttft, tpot, e2e, queue, or itl: from the engines' histograms, by token"
    )
    limit_seconds: Annotated[float, Field(gt=0, le=LIMIT_MAX)] = Field(examples=[6.0])
    also: RequestMeasure | None = Field(
        None, description="a second measure that the same requests should meet, such as tpot"
    )
    also_limit_seconds: Annotated[float, Field(gt=0, le=LIMIT_MAX)] | None = Field(
        None, examples=[0.05], description="its limit"
    )
    target: Ratio = Field(Decimal("0.99"), description="share that was promised to meet it")
    stage: Stage = Field("delivering", description="whose clock: decode and unified, or prefill")
    group_by: GroupBy = "all"
    model_id: Text | None = None
    pool: Text | None = None
    node_id: Text | None = None


class LevelsRow(Shown):
    """One group. A bucket that the limit cuts lies on either side: a share has low and high."""

    group: str | None = Field(description="model, pool, node, hour, day or 'all'")
    requests: int | None = figure("requests", SERVICE_LEVELS, "measured")
    failed_requests: int | None = figure(
        "requests", SERVICE_LEVELS, "errors, refusals, no answer: missed"
    )
    by_request_reason: str | None = Field(
        description="why nothing is known by request and by revenue"
    )
    output_tokens: int = figure("tokens", SERVICE_LEVELS, "itl: intervals that engines counted")
    p50_seconds: float | None = figure(SECONDS, SERVICE_LEVELS, "upper bound of its bucket")
    p90_seconds: float | None = figure(SECONDS, SERVICE_LEVELS, "upper bound of its bucket")
    p99_seconds: float | None = figure(SECONDS, SERVICE_LEVELS, "upper bound of its bucket")
    by_request_low: float | None = figure(RATIO, SERVICE_LEVELS, "share that surely met it")
    by_request_high: float | None = figure(RATIO, SERVICE_LEVELS)
    by_token_low: float | None = figure(RATIO, SERVICE_LEVELS, "of output tokens")
    by_token_high: float | None = figure(RATIO, SERVICE_LEVELS)
    by_revenue_low: float | None = figure(RATIO, SERVICE_LEVELS, "of revenue; an estimate")
    by_revenue_high: float | None = figure(RATIO, SERVICE_LEVELS)
    goodput_low: float | None = figure(PER_SECOND, SERVICE_LEVELS, "that met the limit")
    goodput_high: float | None = figure(PER_SECOND, SERVICE_LEVELS)
    both_by_request_low: float | None = figure(RATIO, SERVICE_LEVELS, "both limits, at least")
    both_by_request_high: float | None = figure(RATIO, SERVICE_LEVELS, "both limits, at most")
    both_by_token_low: float | None = figure(RATIO, SERVICE_LEVELS, "of output tokens")
    both_by_token_high: float | None = figure(RATIO, SERVICE_LEVELS, "of output tokens")
    both_goodput_low: float | None = figure(PER_SECOND, SERVICE_LEVELS, "that met both limits")
    both_goodput_high: float | None = figure(PER_SECOND, SERVICE_LEVELS)
    is_met: bool | None = Field(
        description="by request, itl by token; null: the bucket of the limit decides"
    )
    currency: str | None = Field(description="null: several, or nothing was billed")
    revenue: Amount | None = figure(MONEY, LEDGER, "of the group's requests, by billing instant")
    revenue_at_risk: Amount | None = figure(MONEY, SERVICE_LEVELS, "of those that may have missed")


@router.get(
    "/v1/slo",
    summary="Read service levels",
    response_model=Report[LevelsRow],
    responses=LIST_CONTENT,
)
def get_levels(call: Reading, asked: Annotated[LevelsAsked, Query()]) -> Response:
    """Attainment by request, by token and by revenue, goodput and revenue at risk.

    Histograms are added and then read; percentiles are never averaged. Of two limits at once they
    say bounds: which requests met both is in no histogram of one measure. Latencies count by
    finish, money by billing instant. A request is measured once, on the server that delivered it.
    Inter-token latency (itl) is known by token alone, with the engines' own edges, for whole hours.
    """
    window = asked.window()
    check_edges(window, [window], HOUR)
    if asked.group_by == "hour" and (window.end_at - window.start_at) / HOUR > INTERVALS_MAX:
        raise RequestInvalid(
            f"The window has more than {INTERVALS_MAX:,} hours.",
            remedy="Ask for a shorter window, or group_by=day.",
        )
    passed = until_now(window, call.at)
    if (asked.also is None) != (asked.also_limit_seconds is None):
        raise RequestInvalid(
            "also and also_limit_seconds belong together.",
            remedy="Give both, such as also=tpot&also_limit_seconds=0.05.",
        )
    if asked.also is not None and asked.measure == ITL:
        raise RequestInvalid(
            "itl knows no requests, so none that met another limit too.",
            remedy="Ask for itl alone; for two limits at once use tpot.",
        )
    stated = asked.model_dump(include=set(LevelsQuery.__dataclass_fields__), exclude_none=True)
    query = LevelsQuery(**stated)
    rows = call.usage(lambda cursor: service_levels(cursor, passed, query))
    shown = [_row(row, asked.target) for row in rows]
    return many(call.request, LevelsRow, shown, beside=about(LevelsRow, passed))


def _row(row: Levels, target: Decimal) -> dict[str, Any]:
    weights = row.histogram.values()
    requests = None if row.by_token else sum(weight.requests for weight in weights)
    shares = {
        "by_request": row.met.by_request,
        "by_token": row.met.by_token,
        "by_revenue": row.met.by_revenue,
        "goodput": row.met.goodput,
        **_both(row.both),
    }
    return {
        "group": row.group,
        "requests": requests,
        "failed_requests": row.failed_requests,
        "by_request_reason": NO_REQUESTS if row.by_token else None,
        "output_tokens": sum(weight.output_tokens for weight in weights),
        **{f"p{n}_seconds": row.percentile(Fraction(n, 100)) for n in (50, 90, 99)},
        **{f"{name}_{end}": value for name, s in shares.items() for end, value in _ends(s).items()},
        "is_met": _is_met(row.met.by_token if row.by_token else row.met.by_request, target),
        "currency": row.currency,
        "revenue": row.revenue,
        "revenue_at_risk": row.met.revenue_at_risk,
    }


def _both(found: BothMet | None) -> dict[str, Share]:
    return {
        f"both_{name}": UNKNOWN if found is None else getattr(found, name)
        for name in ("by_request", "by_token", "goodput")
    }


def _ends(share: Share) -> dict[str, float | None]:
    low, high = share.low, share.high
    return {
        "low": None if low is None else float(low),
        "high": None if high is None else float(high),
    }


def _is_met(share: Share, target: Decimal) -> bool | None:
    """Compared as exact ratios, before anything is rounded."""
    if share.low is None or share.high is None:
        return None
    if share.low >= Fraction(target):
        return True
    return False if share.high < Fraction(target) else None
