"""Server × hour: which machine earned when; a click opens one server's day."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final, cast

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import charts
from dashboard.choices import choice_from_url, choice_to_url
from dashboard.formulas import ONE_SERVER, heading
from dashboard.page import Page
from dashboard.periods import HOUR, Period
from dashboard.reads import Ask, ask
from dashboard.server_day import server_day
from dashboard.summary import total

Row = dict[str, Any]
ROUTE: Final = "/v1/economics/hours"
DAYS_MAX: Final = 7  # narrower cells could not be told apart
ROW_PIXELS: Final = 22
FIELDS: Final = ("at", "until", "name", "node_id", "day", "value", "shown", "when", "kind")
USED, NOTHING, SILENT = "used", "nothing", "silent"


def hours_asked(period: Period) -> Ask:
    """The question for the last days of `period`, at most a week of them."""
    start, end = _span(period)
    return ask(ROUTE, start_at=start.isoformat(), end_at=end.isoformat())


def silent_since(findings: Sequence[Row]) -> dict[str, datetime]:
    """Node → when a sidecar that has gone silent was last heard."""
    return {
        row["node_id"]: row["last_at"]
        for row in findings
        if row["kind"] == "silent_node" and row["last_at"] is not None
    }


def heat_map(
    page: Page,
    servers: Sequence[Row],
    hours: Sequence[Row],
    silent_since: Mapping[str, datetime],
    currency: str | None,
) -> None:
    """Cells of `servers`, in their order. silent_since: node → when it was last heard."""
    words, formats = page.words, page.formats
    start, end = _span(page.filters.period)
    kinds = {"utilization": words("heat.utilization"), "revenue": words("heat.revenue")}
    rated = any(row["utilization_ratio"] is not None for row in hours)
    with st.container(horizontal=True, vertical_alignment="center", key="heat_head"):
        heading(words, words("heat.title"), ONE_SERVER)
        first = "utilization" if rated else "revenue"
        choice_from_url("heat", kinds, first)
        kind = st.segmented_control(
            words("over_time.show"), list(kinds), required=True, key="heat",
            format_func=kinds.__getitem__, label_visibility="collapsed",
        )  # fmt: skip
        choice_to_url("heat", first)
    own = [row for row in hours if row["currency"] in (currency, None)]
    cells = list(_cells(page, servers, own, silent_since, revenue=kind == "revenue"))
    span = words("heat.span", first=formats.moment(start), last=formats.moment(end))
    st.caption(f"{span} {words('heat.click')}")
    if kind == "utilization" and not rated:
        st.caption(words("heat.unrated"))
    names = list(dict.fromkeys(cell["name"] for cell in cells))
    if names:
        chart = _chart(page, cells, names, revenue=kind == "revenue")
        choose = any(cell["kind"] == USED for cell in cells)  # where nothing is, nothing is chosen
        title = words("heat.title")
        _choose(charts.draw(chart, page.palette, key="hours", alt_text=title, choose=choose))
    server_day(page, own)


def _span(period: Period) -> tuple[datetime, datetime]:
    end = min(period.end_at, period.elapsed_until.replace(minute=0, second=0, microsecond=0) + HOUR)
    return max(period.start_at, end - timedelta(days=DAYS_MAX)), end


def _cells(
    page: Page,
    servers: Sequence[Row],
    hours: Sequence[Row],
    silent_since: Mapping[str, datetime],
    *,
    revenue: bool,
) -> Iterator[Row]:
    words = page.words
    start, end = _span(page.filters.period)
    by_cell: dict[tuple[Any, datetime], list[Row]] = {}
    for row in hours:
        by_cell.setdefault((row["node_id"], row["hour_start_at"]), []).append(row)
    times = [start + place * HOUR for place in range((end - start) // HOUR)]
    columns = [(at, _hour(page, at)) for at in times]  # once, not for each server
    for node_id in dict.fromkeys(row["node_id"] for row in servers):
        server = {"name": node_id or words("unnamed"), "node_id": node_id}
        for at, hour in columns:
            found = by_cell.get((node_id, at), [])
            last_heard = silent_since.get(node_id)
            if found:
                kind, value, shown = USED, *_value(page, found, revenue=revenue)
            elif last_heard is not None and at >= last_heard:
                kind, value, shown = SILENT, None, words("heat.silent")
            else:
                kind, value, shown = NOTHING, None, words("heat.nothing")
            yield {**hour, **server, "kind": kind, "value": value, "shown": shown}


def _value(page: Page, found: Sequence[Row], *, revenue: bool) -> tuple[float | None, str]:
    """For the colour, and exact for hover."""
    formats = page.formats
    amount = total(row["revenue"] for row in found)
    ratios = [row["utilization_ratio"] for row in found]
    known = [ratio for ratio in ratios if ratio is not None]
    used = Decimal(str(sum(known))) if known else None
    shown = f"{formats.money_exact(amount, found[0]['currency'])} · U {formats.percent(used)}"
    return (float(amount) if revenue else None if used is None else float(used)), shown


def _hour(page: Page, at: datetime) -> Row:
    """What all cells of one hour share."""
    zone = page.filters.zone
    return {
        "at": at.astimezone(zone).replace(tzinfo=None),
        "until": (at + HOUR).astimezone(zone).replace(tzinfo=None),
        "day": page.formats.day(at),
        "when": page.formats.moment(at),
    }


def _chart(
    page: Page, cells: Sequence[Row], names: Sequence[str], *, revenue: bool
) -> charts.Chart:
    palette, formats = page.palette, page.formats
    hours = (cells[-1]["until"] - cells[0]["at"]) / timedelta(hours=1)
    data = pd.DataFrame(cells, columns=list(FIELDS))
    base = alt.Chart(data, height=ROW_PIXELS * len(names) + charts.AXIS_PIXELS).encode(
        x=alt.X(
            "at:T",
            title=None,
            axis=alt.Axis(
                format=formats.ticks(by_day=hours > 48), grid=False, tickCount=7,  # noqa: PLR2004
                labelOverlap=True,
            ),
        ),
        y=alt.Y("name:N", sort=list(names), title=None,
                axis=alt.Axis(domain=False, ticks=False)),
        tooltip=[
            alt.Tooltip("name:N", title=" "), alt.Tooltip("when:N", title="  "),
            alt.Tooltip("shown:N", title="   "),
        ],
    )  # fmt: skip
    layers: dict[str, Callable[[], alt.Chart]] = {
        USED: lambda: _filled(base, page, cells, revenue=revenue),
        NOTHING: lambda: base.transform_filter(f"datum.kind == '{NOTHING}'").mark_point(
            shape="circle", size=3, filled=True, color=palette.muted, xOffset=2
        ),
        # the striped row: strokes that lean, in the colour of risk, where a sidecar is silent
        SILENT: lambda: base.transform_filter(f"datum.kind == '{SILENT}'").mark_text(
            text="╱", fontSize=ROW_PIXELS - 6, align="left", color=palette.risk
        ),
    }
    kinds = {cell["kind"] for cell in cells}
    return charts.layered(*(draw() for kind, draw in layers.items() if kind in kinds))


def _filled(base: alt.Chart, page: Page, cells: Sequence[Row], *, revenue: bool) -> alt.Chart:
    palette = page.palette
    top = max([cell["value"] or 0.0 for cell in cells if revenue] or [0.0]) or 1.0
    scale = alt.Scale(
        domain=[0, top if revenue else 1], clamp=True, range=[palette.rule, palette.accent]
    )
    clicked = alt.selection_point(name="cell", fields=["node_id", "day"], toggle=False)
    known = base.transform_filter(f"datum.kind == '{USED}' && datum.value != null")
    colour = alt.Color("value:Q", scale=scale, legend=None)
    cells_of = known.mark_rect(stroke=None).encode(x2="until:T", color=colour)
    return cast("alt.Chart", cells_of.add_params(clicked))


def _choose(selected: Mapping[str, Any]) -> None:
    """A click on a cell names a server and a day in the URL."""
    for each in selected.get("cell", []):
        chosen = str(each["node_id"]), str(date.fromisoformat(each["day"]))
        if chosen != st.session_state.get("heat_chosen"):
            st.session_state["heat_chosen"] = chosen
            st.query_params["server"], st.query_params["day"] = chosen
