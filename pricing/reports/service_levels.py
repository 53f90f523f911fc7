"""Service levels of a window by group: histograms, failures and money (docs/formulas.md §11)."""

from collections import defaultdict
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final, Literal

import duckdb

from metering.windows import Window
from pricing.calendar_time import SECONDS_PER_HOUR, length_seconds
from pricing.formula import SECONDS_PER_DAY, Exact
from pricing.reports.rows import read_rows
from pricing.slo import (
    Attainment,
    BothMet,
    Bucket,
    Histogram,
    Weight,
    attainment,
    both_limits,
    log_spaced,
    percentile_seconds,
    token_attainment,
    with_revenue,
)

GroupBy = Literal["all", "model", "pool", "node", "hour", "day"]
RequestMeasure = Literal["ttft", "tpot", "e2e", "queue"]  # one latency a request
Measure = Literal[RequestMeasure, "itl"]
ITL: Final = "itl"  # one latency a token: engines count it over all requests together
Stage = Literal["delivering", "prefill"]
SECONDS_OF: dict[GroupBy, int] = {"hour": SECONDS_PER_HOUR, "day": SECONDS_PER_DAY}


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelsQuery:
    """What is asked. stage: whose clock; delivering: decode and unified servers.

    also, also_limit_seconds: a second limit that the same requests should meet; None: one alone.
    """

    measure: Measure
    limit_seconds: float
    also: RequestMeasure | None = None
    also_limit_seconds: float = 0.0
    stage: Stage = "delivering"
    group_by: GroupBy = "all"
    model_id: str | None = None
    pool: str | None = None
    node_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """One group: who met the limit, percentiles in seconds, what was billed (one currency).

    by_token: the measure counts tokens and no requests; then nothing is known by request.
    """

    group: str | None
    histogram: Histogram
    by_token: bool = False
    failed_requests: int | None
    currency: str | None
    revenue: Decimal | None
    met: Attainment
    both: BothMet | None = None

    def percentile(self, ratio: Exact) -> float | None:
        """Upper bound in seconds of the bucket that holds the request (token) at `ratio`."""
        return percentile_seconds(self.histogram, ratio, by_token=self.by_token)


def service_levels(
    cursor: duckdb.DuckDBPyConnection, window: Window, query: LevelsQuery
) -> list[Levels]:
    """Levels of each group of the query; money where all of a group was billed in one currency."""
    asked = {
        "group_by": query.group_by,
        "model_id": query.model_id,
        "pool": query.pool,
        "node_id": query.node_id,
    }
    histograms = _histograms(cursor, window, query.measure, query.stage, asked)
    if query.measure == ITL:
        return [_token_levels(group, query, found) for group, found in histograms.items()]
    others = _histograms(cursor, window, query.also, query.stage, asked)
    failed: dict[str | None, int] = defaultdict(int)
    money: dict[str | None, dict[str, Decimal]] = defaultdict(dict)
    for row in read_rows(cursor, "slo_money", window, **asked):
        failed[row["group_name"]] += row["failed_requests"]
        if row["currency"] is not None and row["amount"]:
            money[row["group_name"]][row["currency"]] = row["amount"]
    delivering = query.stage == "delivering"
    return [
        _levels(
            group,
            query,
            histograms.get(group, {}),
            seconds=SECONDS_OF.get(query.group_by) or length_seconds(window),
            failed=failed[group] if delivering else 0,
            money=money[group] if delivering else {},
            other=others.get(group, {}),
        )
        for group in sorted({*histograms, *failed}, key=lambda name: name or "")
        if histograms.get(group) or failed[group]
    ]


def _histograms(
    cursor: duckdb.DuckDBPyConnection,
    window: Window,
    measure: Measure | None,
    stage: Stage,
    asked: dict[str, str | None],
) -> dict[str | None, dict[Bucket, Weight]]:
    """Counts by group and bucket; none where no measure is asked for."""
    found: dict[str | None, dict[Bucket, Weight]] = defaultdict(dict)
    if measure is None:
        return found
    for row in read_rows(cursor, "latency_groups", window, measure=measure, stage=stage, **asked):
        weight = Weight(row["requests"], row["output_tokens"])
        found[row["group_name"]][_bucket(row)] = weight
    return found


def _bucket(row: dict[str, Any]) -> Bucket:
    if row["up_to_seconds"] is None:
        return log_spaced(row["bucket"])
    return Bucket(row["above_seconds"], row["up_to_seconds"])


def _token_levels(group: str | None, query: LevelsQuery, histogram: Histogram) -> Levels:
    return Levels(
        group=group,
        histogram=histogram,
        by_token=True,
        failed_requests=None,
        currency=None,
        revenue=None,
        met=token_attainment(histogram, query.limit_seconds),
    )


def _levels(  # noqa: PLR0913 - what one group is made of
    group: str | None,
    query: LevelsQuery,
    histogram: Histogram,
    *,
    seconds: Exact,
    failed: int,
    money: dict[str, Decimal],
    other: Histogram,
) -> Levels:
    currency, revenue = next(iter(money.items())) if len(money) == 1 else (None, None)
    seen = histogram if revenue is None else with_revenue(histogram, revenue)
    met = attainment(seen, query.limit_seconds, window_seconds=seconds, failed_requests=failed)
    if not histogram:  # only failures: nothing met the limit, and no money hangs on it
        met = replace(met, revenue_at_risk=None)
    return Levels(
        group=group,
        histogram=histogram,
        failed_requests=failed,
        currency=currency,
        revenue=revenue,
        met=met,
        both=None
        if query.also is None
        else both_limits(
            (histogram, query.limit_seconds),
            (other, query.also_limit_seconds),
            window_seconds=seconds,
            failed_requests=failed,
        ),
    )
