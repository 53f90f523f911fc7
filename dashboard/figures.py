"""At most six key figures, each with its unit, its change and a sparkline."""

from collections.abc import Callable, Sequence
from decimal import Decimal
from operator import attrgetter
from typing import Any, Final, Literal

import streamlit as st

from dashboard.formats import UNKNOWN, change
from dashboard.formulas import CALENDAR, LEDGER, ONE_SERVER, with_formula
from dashboard.page import Page
from dashboard.summary import Summary, summary

RUN_RATE_SECONDS: Final = 30 * 86_400
SPARKS_MIN: Final = 3
SPARKS_MAX: Final = 60
HOUSE: Final = "/v1/servers"  # who reads servers earns; a tenant pays
Row = dict[str, Any]


def key_figures(page: Page, now: Summary, then: Summary | None, intervals: Sequence[Row]) -> None:
    """Revenue, run-rate, T in and out, hit ratio, money at risk."""
    words, formats, before = page.words, page.formats, page.filters.before
    seconds = Decimal(str(page.filters.period.seconds_elapsed))
    earlier = Decimal(str(before.seconds_elapsed)) if before else Decimal(1)
    steps = _steps(intervals, now.currency)
    with st.container(key="figures"):
        revenue, run_rate, inward, outward, hits, risk = st.columns(6, gap="small")
    with revenue:
        _figure(
            words("figure.revenue" if HOUSE in page.rights else "figure.cost"),
            formats.money_short(now.amount, now.currency),
            _moved(page, now.amount, then.amount if then else None),
            spark=_spark(steps, lambda each: each.amount),
            explained=with_formula(words, LEDGER, formats.money_exact(now.amount, now.currency)),
        )
    with run_rate:
        _figure(
            words("figure.run_rate"),
            formats.money_short(now.amount * RUN_RATE_SECONDS / seconds, now.currency),
            explained=with_formula(words, CALENDAR, words("figure.run_rate_help")),
        )
    for place, key, name in (
        (inward, "figure.input_rate", "input_tokens"),
        (outward, "figure.output_rate", "output_tokens"),
    ):
        rate = getattr(now, name) / seconds
        tokens = words("figure.tokens_help", tokens=formats.count(getattr(now, name)))
        with place:
            _figure(
                words(key),
                formats.short(rate),
                _moved(page, rate, getattr(then, name) / earlier if then else None),
                spark=_spark(steps, attrgetter(name)),
                explained=with_formula(words, ONE_SERVER, tokens),
            )
    cached = words("figure.hit_ratio_help", tokens=formats.count(now.cached_tokens))
    with hits:
        _figure(
            words("figure.hit_ratio"),
            formats.percent(now.hit_ratio),
            points(page, now, then),
            spark=_spark(steps, lambda each: (each.hit_ratio or Decimal(0)) * 100),
            explained=with_formula(words, ONE_SERVER, cached),
        )
    with risk:
        _risk(page, now, then)


def _risk(page: Page, now: Summary, then: Summary | None) -> None:
    words, formats = page.words, page.formats
    whole = words("figure.at_risk_help", amount=formats.money_exact(now.at_risk, now.currency))
    _figure(
        words("figure.at_risk"),
        formats.money_short(now.at_risk, now.currency),
        _moved(page, now.at_risk, then.at_risk if then else None),
        explained=with_formula(words, LEDGER, whole),
        colour="inverse",
    )


def _figure(
    label: str,
    value: str,
    moved: str | None = None,
    *,
    spark: Sequence[float] = (),
    explained: str | None,
    colour: Literal["gray", "inverse"] = "gray",
) -> None:
    st.metric(
        label,
        value,
        moved,
        delta_color=colour,
        help=explained,
        border=True,
        chart_data=list(spark) or None,
        chart_type="area",
        height="stretch",
    )


def _moved(page: Page, now: Any, before: Any) -> str | None:
    moved = change(now, before)
    if moved is None:
        return None
    text = page.formats.percent(moved, signed=True)
    return None if text == UNKNOWN else text.replace("−", "-")  # Streamlit reads the ASCII sign


def points(page: Page, now: Summary, then: Summary | None) -> str | None:
    """The change of the hit ratio in percentage points."""
    if then is None or now.hit_ratio is None or then.hit_ratio is None:
        return None
    moved = (now.hit_ratio - then.hit_ratio) * 100
    return page.words("figure.points", points=f"{moved:+.1f}")


def _steps(intervals: Sequence[Row], currency: str | None) -> list[Summary]:
    by_start: dict[Any, list[Row]] = {}
    for row in intervals:
        by_start.setdefault(row["start_at"], []).append(row)
    return [summary(by_start[at], currency) for at in sorted(by_start)][-SPARKS_MAX:]


def _spark(steps: Sequence[Summary], value: Callable[[Summary], Any]) -> list[float]:
    return [float(value(each)) for each in steps] if len(steps) >= SPARKS_MIN else []
