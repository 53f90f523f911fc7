"""One server's day, hour by hour: what it worked on and what it earned."""

from collections.abc import Sequence
from datetime import date
from typing import Any, Final

import streamlit as st

from dashboard import charts
from dashboard.columns import Column
from dashboard.formulas import ONE_SERVER, heading
from dashboard.page import Page
from dashboard.summary import total
from dashboard.table import table

Row = dict[str, Any]
SERIES: Final = {"uncached": "line.uncached", "cached": "line.cached", "output": "line.output"}


def server_day(page: Page, hours: Sequence[Row]) -> None:
    """The server and the day that the URL names; nothing where it names none."""
    server, day = st.query_params.get("server"), _day(st.query_params.get("day"))
    if server is None or day is None:
        return
    words, formats, palette = page.words, page.formats, page.palette
    zone = page.filters.zone
    rows = [
        row for row in hours
        if row["node_id"] == server and row["hour_start_at"].astimezone(zone).date() == day
    ]  # fmt: skip
    title = words("server_day.title", server=server, day=day.isoformat())
    heading(words, title, ONE_SERVER)
    if not rows:
        st.caption(words("server_day.none"))
        return
    currency = rows[0]["currency"]
    names = {line: words(key) for line, key in SERIES.items()}
    items = [
        (getattr(palette, line), name, formats.short(sum(_tokens(row)[line] for row in rows)))
        for line, name in names.items()
    ]
    charts.colour_key(words("unit.an_hour", unit=words("unit.tokens")), items, palette)
    chart = charts.stacked(
        [bar for row in rows for bar in _bars(page, row, names)],
        series=list(names.values()),
        colours=[colour for colour, _, _ in items],
        axis=formats.axis(),
        ticks="%H:%M",
        height=180,
    )
    charts.draw(chart, palette, key="server_day", alt_text=title)
    columns = [
        Column("hour_start_at", words("column.hour"), "moment"),
        Column("revenue", words("column.amount", currency=currency), "money"),
        Column("requests", words("column.requests"), "count"),
        Column("input_tokens", words("column.input_tokens"), "count"),
        Column("cached_input_tokens", words("column.cached_tokens"), "count"),
        Column("output_tokens", words("column.output_tokens"), "count"),
        Column("hit_ratio", words("column.hit_ratio"), "ratio"),
        Column("utilization_ratio", words("column.utilization"), "ratio", words("servers.u_help")),
    ]
    earned = formats.money_exact(total(row["revenue"] for row in rows), currency)
    st.caption(words("server_day.earned", amount=earned))
    table(page, rows, columns, name=f"{server}-{day}", currency=currency)


def _tokens(row: Row) -> dict[str, int]:
    return {
        "uncached": row["input_tokens"] - row["cached_input_tokens"],
        "cached": row["cached_input_tokens"],
        "output": row["output_tokens"],
    }


def _bars(page: Page, row: Row, names: dict[str, str]) -> list[Row]:
    zone = page.filters.zone
    at = row["hour_start_at"].astimezone(zone).replace(tzinfo=None)
    return [
        {
            "at": at,
            "until": at.replace(minute=59, second=59),
            "series": name,
            "order": order,
            "value": float(_tokens(row)[line]),
            "shown": page.formats.count(_tokens(row)[line]),
            "when": page.formats.moment(row["hour_start_at"]),
        }
        for order, (line, name) in enumerate(names.items())
    ]


def _day(text: str | None) -> date | None:
    try:
        return date.fromisoformat(text or "")
    except ValueError:
        return None
