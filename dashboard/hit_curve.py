"""κ as the servers measured it, and revenue at other hit ratios."""

from typing import Any, Final

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import charts
from dashboard.formats import exact
from dashboard.formulas import HITS, KAPPA, heading, small_print
from dashboard.page import Page, window
from dashboard.reads import ask

Row = dict[str, Any]
ROUTE: Final = "/v1/economics/cache"


def measured(page: Page, model: str | None, currency: str | None) -> Row | None:
    """What the API says a hit of `model` is worth, with κ by regression; None if it cannot."""
    if ROUTE not in page.rights or model is None:
        return None
    answer = page.reader.read(
        ask(ROUTE, rows=False, **window(page.filters.period), model_id=model)
    )[0]
    return next((row for row in answer["items"] if row["currency"] == currency), None)


def kappa_line(page: Page, found: Row) -> None:
    """κ with its interval and the break-evens, or why it is not measured."""
    words, formats = page.words, page.formats
    if found["kappa_source"] != "measured":
        st.caption(words("kappa.unknown", reason=found["kappa_reason"] or ""))
        return
    price = exact(found["break_even_cached_price"])
    shown = None if price is None else round(price, 4)
    told = words(
        "kappa.measured",
        kappa=_three(found["kappa"]),
        low=_three(found["kappa_low"]),
        high=_three(found["kappa_high"]),
        rows=formats.count(found["kappa_rows"]),
        even=_three(found["break_even_kappa"]),
        price=formats.money_exact(shown, found["currency"]),
    )
    small_print(words, told, KAPPA)


def hit_curve(page: Page, model: str, kappa: float, found: Row) -> None:
    """The window's input revenue at hit ratios from 0 to 1, both questions."""
    words, formats, palette = page.words, page.formats, page.palette
    answer = page.reader.read(
        ask(
            f"{ROUTE}/toggle", rows=False, **window(page.filters.period), model_id=model,
            kappa=f"{kappa:.2f}",
        )
    )[0]  # fmt: skip
    names = {"traffic_fixed": words("kappa.traffic"), "compute_fixed": words("kappa.compute")}
    rows = [
        {
            "ratio": row["hit_ratio"],
            "money": float(row[name]),
            "name": names[name],
            "shown": f"r {formats.percent(row['hit_ratio'])} · "
            f"{formats.money(exact(row[name]), found['currency'])}",
        }
        for row in answer["items"]
        if row["currency"] == found["currency"]
        for name in names
        if row[name] is not None
    ]
    if not rows:
        return
    heading(words, words("kappa.curve"), HITS)
    colours = [palette.cost, palette.accent]
    items = [(colour, name, "") for colour, name in zip(colours, names.values(), strict=True)]
    charts.colour_key(formats.sign(found["currency"]).strip(), items, palette)
    lines = (
        alt.Chart(pd.DataFrame(rows), height=240)
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X("ratio:Q", title="r", axis=alt.Axis(format=".0%", grid=False, tickCount=10)),
            y=alt.Y("money:Q", title=None, axis=alt.Axis(labelExpr=formats.axis(), tickCount=4)),
            color=alt.Color(
                "name:N",
                scale=alt.Scale(domain=list(names.values()), range=colours),
                legend=None,
            ),
            tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("shown:N", title="  ")],
        )
    )
    here = alt.Chart(pd.DataFrame({"ratio": [found["hit_ratio"]]}))
    rule = here.mark_rule(color=palette.ink, strokeDash=[4, 3]).encode(x="ratio:Q")
    chart = charts.layered(lines, rule)
    charts.draw(chart, palette, key="hit_curve", alt_text=words("kappa.curve"))


def _three(number: float | None) -> str:
    return "—" if number is None else f"{number:.3f}"
