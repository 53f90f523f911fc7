"""At most six key figures, each with its unit, its change and a sparkline."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Final

import streamlit as st

from dashboard.formats import UNKNOWN, change
from dashboard.page import Page
from dashboard.summary import Summary, summary

RUN_RATE_SECONDS: Final = 30 * 86_400
SPARKS_MIN: Final = 3
SPARKS_MAX: Final = 60
Row = dict[str, Any]


def key_figures(page: Page, now: Summary, then: Summary | None, intervals: Sequence[Row]) -> None:
    """Revenue, run-rate, T in and out, hit ratio, money at risk."""
    words, formats, period = page.words, page.formats, page.filters.period
    seconds = Decimal(str(period.seconds_elapsed))
    before = page.filters.before
    earlier = Decimal(str(before.seconds_elapsed)) if before and then else None
    steps = _steps(intervals, now.currency)
    with st.container(horizontal=True, key="figures"):
        _figure(
            words("figure.revenue"),
            formats.money_short(now.amount, now.currency),
            _moved(page, now.amount, then and then.amount),
            _spark(steps, lambda each: each.amount),
            formats.money_exact(now.amount, now.currency),
        )
        _figure(
            words("figure.run_rate"),
            formats.money_short(now.amount * RUN_RATE_SECONDS / seconds, now.currency),
            None,
            [],
            words("figure.run_rate_help"),
        )
        _figure(
            words("figure.input_rate"),
            formats.short(now.input_tokens / seconds),
            _moved(
                page, now.input_tokens / seconds, _per(then.input_tokens if then else None, earlier)
            ),
            _spark(steps, lambda each: each.input_tokens),
            words("figure.tokens_help", tokens=formats.count(now.input_tokens)),
        )
        _figure(
            words("figure.output_rate"),
            formats.short(now.output_tokens / seconds),
            _moved(
                page,
                now.output_tokens / seconds,
                _per(then.output_tokens if then else None, earlier),
            ),
            _spark(steps, lambda each: each.output_tokens),
            words("figure.tokens_help", tokens=formats.count(now.output_tokens)),
        )
        _figure(
            words("figure.hit_ratio"),
            formats.percent(now.hit_ratio),
            _points(page, now, then),
            _spark(steps, lambda each: (each.hit_ratio or Decimal(0)) * 100),
            words("figure.hit_ratio_help", tokens=formats.count(now.cached_tokens)),
        )
        _figure(
            words("figure.at_risk"),
            formats.money_short(now.at_risk, now.currency),
            _moved(page, now.at_risk, then and then.at_risk),
            [],
            words("figure.at_risk_help", amount=formats.money_exact(now.at_risk, now.currency)),
            worse_up=True,
        )


def _figure(
    label: str,
    value: str,
    moved: str | None,
    spark: list[float],
    explained: str,
    *,
    worse_up: bool = False,
) -> None:
    st.metric(
        label,
        value,
        moved,
        delta_color="inverse" if worse_up else "normal",
        help=explained,
        border=True,
        chart_data=spark or None,
        chart_type="area",
    )


def _per(tokens: int | None, seconds: Decimal | None) -> Decimal | None:
    return None if tokens is None or seconds is None else tokens / seconds


def _moved(page: Page, now: Any, before: Any) -> str | None:
    moved = change(now, before)
    if moved is None:
        return None
    text = page.formats.percent(moved, signed=True)
    return None if text == UNKNOWN else text.replace("−", "-")  # Streamlit reads the ASCII sign


def _points(page: Page, now: Summary, then: Summary | None) -> str | None:
    """The change of the hit ratio in percentage points."""
    if then is None or now.hit_ratio is None or then.hit_ratio is None:
        return None
    points = (now.hit_ratio - then.hit_ratio) * 100
    return page.words("figure.points", points=f"{points:+.1f}")


def _steps(intervals: Sequence[Row], currency: str | None) -> list[Summary]:
    by_start: dict[Any, list[Row]] = {}
    for row in intervals:
        by_start.setdefault(row["start_at"], []).append(row)
    return [summary(by_start[at], currency) for at in sorted(by_start)][-SPARKS_MAX:]


def _spark(steps: Sequence[Summary], value: Callable[[Summary], Any]) -> list[float]:
    return [float(value(each)) for each in steps] if len(steps) >= SPARKS_MIN else []
