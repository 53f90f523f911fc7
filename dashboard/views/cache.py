"""Cache: what is a hit worth, and who hits?"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import charts
from dashboard.cache_value import cache_value
from dashboard.columns import Column
from dashboard.compared import change_line
from dashboard.figures import points
from dashboard.foot import foot
from dashboard.formulas import HITS, LEDGER, ONE_SERVER, heading, headline, small_print
from dashboard.hit_curve import hit_curve, kappa_line, measured
from dashboard.page import Page
from dashboard.problems import explained
from dashboard.summary import LINES, Summary, line_money, summary, total
from dashboard.table import table

Row = dict[str, Any]


def show(page: Page) -> None:
    """Draw the page."""
    period = page.filters.period
    over_time, tenants, earlier = page.read(
        page.usage(period, interval=period.interval),
        page.usage(period, "tenant_id", "model_id"),
        page.usage(page.filters.before or period, "tenant_id"),
    )
    now = summary(over_time)
    if not now.input_tokens:
        st.info(page.words("empty.window"), icon=":material/hourglass_empty:")
        foot(page, sections="§9")
        return
    billed = [
        row for row in tenants
        if row["disposition"] == "billed" and row["currency"] == now.currency
    ]  # fmt: skip
    model = page.filters.model or _most_used(billed)
    found = measured(page, model, now.currency)
    kappa = _answer(page, billed, now, found)
    then = summary(earlier, now.currency)
    change_line(page, page.formats.percent(then.hit_ratio), points(page, now, then))
    left, right = st.columns(2, gap="large")
    with left:
        _ratio_over_time(page, over_time)
    with right:
        _by_line(page, billed, now)
    if found and model:
        with explained(page.words):
            hit_curve(page, model, kappa, found)
    _by_tenant(page, tenants, earlier, now)
    foot(page, sections="§9")


def _most_used(billed: Sequence[Row]) -> str | None:
    tokens: dict[str, int] = {}
    for row in billed:
        tokens[row["model_id"]] = tokens.get(row["model_id"], 0) + row["cached_tokens"]
    return max(sorted(tokens), key=lambda name: tokens[name], default=None)


def _answer(page: Page, billed: Sequence[Row], now: Summary, found: Row | None) -> float:
    """The first line; answers κ as it was measured or chosen."""
    words, formats = page.words, page.formats
    place = st.container()
    start = round(min((found or {}).get("kappa") or 0.02, 0.5), 2)
    kappa = st.slider(
        words("cache.kappa"), 0.0, 0.5, start, 0.01, help=words("cache.kappa_help"),
        key="kappa", bind="query-params",
    )  # fmt: skip
    seconds = Decimal(str(page.filters.period.seconds_elapsed))
    value = cache_value(billed, seconds=seconds, kappa=Decimal(str(kappa)))
    with place:
        if value.traffic_fixed is None or value.compute_fixed is None:
            unknown = words("cache.unknown", ratio=formats.percent(now.hit_ratio))
            headline(words, unknown, ONE_SERVER)
            return kappa
        answer = words(
            "cache.headline",
            ratio=formats.percent(now.hit_ratio),
            traffic=formats.money_short(value.traffic_fixed, now.currency),
            compute=formats.money_short(value.compute_fixed, now.currency),
        )
        headline(words, answer, HITS)
        prices = words(
            "cache.prices",
            input=formats.money(value.input_price, now.currency),
            cached=formats.money(value.cached_price, now.currency),
        )
        small_print(words, prices, HITS)
        if found:
            kappa_line(page, found)
    return kappa


def _ratio_over_time(page: Page, rows: Sequence[Row]) -> None:
    words, palette = page.words, page.palette
    heading(words, words("cache.over_time"), ONE_SERVER)
    points: dict[Any, list[Row]] = {}
    for row in rows:
        points.setdefault(row["start_at"], []).append(row)
    data = pd.DataFrame(
        [
            {
                "at": at.astimezone(page.filters.zone).replace(tzinfo=None),
                "ratio": float(found.hit_ratio),
                "shown": page.formats.percent(found.hit_ratio),
                "when": page.formats.moment(at),
            }
            for at in sorted(points)
            if (found := summary(points[at])).hit_ratio is not None
        ],
        columns=["at", "ratio", "shown", "when"],
    )
    by_day = page.filters.period.interval == "day"
    line = alt.Chart(data, height=240).encode(
        x=alt.X(
            "at:T", title=None, axis=alt.Axis(format=page.formats.ticks(by_day=by_day), grid=False)
        ),
        y=alt.Y(
            "ratio:Q",
            title=None,
            scale=alt.Scale(zero=False, nice=True),
            axis=alt.Axis(format=".0%", tickCount=4),
        ),
        tooltip=[alt.Tooltip("when:N", title=" "), alt.Tooltip("shown:N", title="  ")],
    )
    chart = charts.layered(
        line.mark_line(color=palette.accent, strokeWidth=2),
        line.mark_point(color=palette.accent, filled=True, size=24),
    )
    charts.draw(chart, palette, key="ratio", alt_text=words("cache.over_time"))


def _by_line(page: Page, billed: Sequence[Row], now: Summary) -> None:
    words, formats, palette = page.words, page.formats, page.palette
    heading(words, words("cache.by_line"), LEDGER)
    names = {
        "uncached": words("line.uncached"), "cached": words("line.cached"),
        "output": words("line.output"),
    }  # fmt: skip
    amounts = {line: total(line_money(row, line) for row in billed) for line in LINES}
    whole = total(amounts.values())
    rows = [
        {
            "name": names[line],
            "value": float(amount),
            "label": f"{formats.money(amount, now.currency)}  ·  "
            f"{formats.percent(amount / whole if whole else None)}",
            "hover": formats.money_exact(amount, now.currency),
            "kind": line,
        }
        for line, amount in amounts.items()
    ]
    colours = {line: getattr(palette, line) for line in LINES}
    chart = charts.bars(rows, palette=palette, colours=colours)
    charts.draw(chart, palette, key="by_line", alt_text=words("cache.by_line"))


def _sums(rows: Sequence[Row], currency: str | None) -> dict[Any, Summary]:
    by_tenant: dict[Any, list[Row]] = {}
    for row in rows:
        by_tenant.setdefault(row["tenant_id"], []).append(row)
    return {name: summary(found, currency) for name, found in by_tenant.items()}


def _by_tenant(page: Page, rows: Sequence[Row], earlier: Sequence[Row], now: Summary) -> None:
    words = page.words
    heading(words, words("cache.by_tenant"))
    sums, before = _sums(rows, now.currency), _sums(earlier, now.currency)
    shown = [
        {
            "tenant_id": name or words("unattributed"),
            "hit_ratio": found.hit_ratio,
            "before": before[name].hit_ratio if name in before else None,
            "cached_tokens": found.cached_tokens,
            "input_tokens": found.input_tokens,
            "amount": found.amount,
        }
        for name, found in sorted(sums.items(), key=lambda each: -each[1].input_tokens)
    ]
    money = now.currency or ""
    before_columns = [Column("before", words("compared.before"), "ratio", formula=ONE_SERVER)]
    columns = [
        Column("tenant_id", words("column.tenant")),
        Column("hit_ratio", words("column.hit_ratio"), "ratio", formula=ONE_SERVER),
        *(before_columns if page.filters.before else []),
        Column("cached_tokens", words("column.cached_tokens"), "count", formula=LEDGER),
        Column("input_tokens", words("column.input_tokens"), "count", formula=LEDGER),
        Column("amount", words("column.amount", currency=money), "money", formula=LEDGER),
    ]
    table(page, shown, columns, name="cache", currency=now.currency)
