"""Charts: no frame, direct labels, bars from zero; values are rounded for the eye only."""

import html
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import altair as alt
import pandas as pd
import streamlit as st

from dashboard.palette import Palette

Row = Mapping[str, Any]
Chart = alt.Chart | alt.LayerChart
FONT: Final = (
    "system-ui, 'Noto Sans', 'Noto Sans SC', 'Noto Sans CJK SC', 'PingFang SC', sans-serif"
)
BAR_PIXELS: Final = 26
AXIS_PIXELS: Final = 34  # below a chart whose height counts its axis


def dressed(chart: Chart, palette: Palette) -> Chart:
    """The chart in the dashboard's look."""
    made = (
        chart.configure(font=FONT, background="transparent")
        .configure_view(stroke=None)
        .configure_axis(
            labelColor=palette.muted,
            titleColor=palette.muted,
            gridColor=palette.rule,
            domainColor=palette.rule,
            tickColor=palette.rule,
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
        )
        .configure_legend(labelColor=palette.ink, titleColor=palette.muted, labelFontSize=12)
    )
    return cast("Chart", made)


def draw(
    chart: Chart, palette: Palette, *, key: str, alt_text: str, choose: bool = False
) -> dict[str, Any]:
    """Show the chart at the width of its place; what was clicked, by selection, if one chooses."""
    shown = st.altair_chart(
        dressed(chart, palette),
        theme=None,
        width="stretch",
        key=key,
        alt=alt_text,
        on_select="rerun" if choose else "ignore",
    )
    return cast("dict[str, Any]", shown)["selection"] if choose else {}


def stacked(
    rows: Sequence[Row],
    *,
    series: Sequence[str],
    colours: Sequence[str],
    ticks: str,
    axis: str,
    height: int = 260,
) -> Chart:
    """Amounts over time, one above the other. ticks: format of times; axis: label of an amount.

    rows: at, until, series, value, order; shown and when for hover.
    """
    data = pd.DataFrame(rows, columns=["at", "until", "series", "value", "shown", "order", "when"])
    made = (
        alt.Chart(data, height=height)
        .mark_bar(orient="vertical", stroke=None)
        .encode(
            x=alt.X(
                "at:T",
                title=None,
                axis=alt.Axis(format=ticks, grid=False, labelOverlap=True, tickCount=8),
            ),
            x2="until:T",
            y=alt.Y(
                "value:Q", title=None, stack="zero", axis=alt.Axis(tickCount=4, labelExpr=axis)
            ),
            color=alt.Color(
                "series:N",
                scale=alt.Scale(domain=list(series), range=list(colours)),
                legend=None,
            ),
            order="order:Q",
            tooltip=[
                alt.Tooltip("when:N", title=" "),
                alt.Tooltip("series:N", title="  "),
                alt.Tooltip("shown:N", title="   "),
            ],
        )
    )
    return cast("Chart", made)


def layered(*layers: alt.Chart) -> Chart:
    """One on top of the other, the first at the bottom."""
    return cast("Chart", alt.layer(*layers))


def bars(
    rows: Sequence[Row],
    *,
    palette: Palette,
    tick: str | None = None,
    colours: Mapping[str, str] | None = None,
) -> Chart:
    """Horizontal bars with their value beside them. rows: name, value, label, hover, kind, tick.

    tick: what the mark across the bar means, for hover; None draws none.
    """
    data = pd.DataFrame(rows, columns=["name", "value", "label", "hover", "kind", "tick"])
    data["end"] = data[["value", "tick"]].astype(float).max(axis=1)  # where the label begins
    kinds = colours or {"": palette.accent}
    most = max([float(each) for each in data["end"].fillna(0)] or [0.0]) or 1.0
    height = BAR_PIXELS * max(len(data), 1) + BAR_PIXELS
    base = alt.Chart(data, height=height).encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False)),
        tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("hover:N", title="  ")],
    )
    scale = alt.Scale(domain=[0, most * 1.45])
    place = alt.X("value:Q", axis=None, scale=scale)
    layers: list[alt.Chart] = [
        base.mark_bar(height=14, cornerRadiusEnd=2).encode(
            x=place,
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=list(kinds), range=list(kinds.values())),
                legend=None,
            ),
        ),
        base.mark_text(align="left", dx=8, fontSize=12, color=palette.ink).encode(
            x=alt.X("end:Q", axis=None, scale=scale), text="label:N"
        ),
    ]
    if tick:
        layers.insert(
            1,
            base.mark_tick(thickness=2, size=20, color=palette.ink).encode(
                x=alt.X("tick:Q", axis=None, scale=scale)
            ),
        )
    return layered(*layers)


def colour_key(unit: str, items: Sequence[tuple[str, str, str]], palette: Palette) -> None:
    """One line that names the unit, and the colours with totals. items: colour, name, total."""
    parts = [f'<span style="color:{palette.muted};margin-right:1.4em">{html.escape(unit)}</span>']
    parts += [
        f'<span style="display:inline-flex;align-items:center;gap:.4em;margin-right:1.4em">'
        f'<span style="width:.75em;height:.75em;background:{colour};border-radius:2px"></span>'
        f'<span style="color:{palette.muted}">{html.escape(name)}</span> <b>{total}</b></span>'
        for colour, name, total in items
    ]
    st.html(f'<div style="font-size:.9rem;line-height:1.8">{"".join(parts)}</div>')
