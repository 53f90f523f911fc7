"""Charts of an investment case: cash flows, what moves it most, utilisation against hit ratio."""

from datetime import date
from decimal import Decimal
from itertools import accumulate
from typing import Any, Final

import altair as alt
import pandas as pd

from dashboard import charts
from dashboard.columns import Column
from dashboard.downloads import downloads
from dashboard.formulas import INVESTMENT, heading
from dashboard.page import Page

Row = dict[str, Any]
DRIVERS: Final = {
    "hit_ratio": "driver.hit_ratio", "utilization": "driver.utilization",
    "price_input": "driver.price_input", "price_cached": "driver.price_cached",
    "price_output": "driver.price_output", "price_erosion_per_year": "driver.erosion",
    "investment": "driver.investment",
    "capital": "driver.investment", "wacc": "driver.wacc", "opex": "driver.opex",
    "opex_per_month": "driver.opex", "prices": "driver.prices", "ramp_months": "driver.ramp",
    "input_tokens_per_second": "driver.traffic", "kappa": "driver.kappa",
    "energy": "driver.energy", "residual": "driver.residual",
}  # fmt: skip

NOTES: Final = {
    "traffic fixed": "driver.traffic_fixed",
    "compute fixed": "driver.compute_fixed",
}


def cash_flows(page: Page, report: Row) -> None:
    """What is in the till after each month; red until it has paid back."""
    words, formats, palette = page.words, page.formats, page.palette
    heading(words, words("roi.cash"), INVESTMENT)
    flows = [row["amount"] or 0.0 for row in report["cash_flows"]]
    data = pd.DataFrame(
        {
            "at": [date.fromisoformat(row["date"]).isoformat() for row in report["cash_flows"]],
            "sum": list(accumulate(flows)),
            "shown": [formats.money(each, report["currency"]) for each in accumulate(flows)],
        }
    )
    chart = (
        alt.Chart(data, height=260)
        .mark_bar(binSpacing=0)
        .encode(
            x=alt.X(
                "yearmonth(at):T",
                title=None,
                axis=alt.Axis(format="%Y-%m", grid=False, labelOverlap=True, tickCount=8),
            ),
            y=alt.Y("sum:Q", title=None, axis=alt.Axis(labelExpr=formats.axis(), tickCount=5)),
            color=alt.condition(
                "datum.sum < 0", alt.value(palette.risk), alt.value(palette.accent)
            ),
            tooltip=[alt.Tooltip("at:N", title=" "), alt.Tooltip("shown:N", title="  ")],
        )
    )
    charts.draw(chart, palette, key="cash", alt_text=words("roi.cash"))
    columns = [
        Column("date", words("column.day")),
        Column("amount", words("roi.flow", currency=report["currency"]), "money"),
    ]
    downloads(page, report["cash_flows"], columns, "cash-flows")


def tornado(page: Page, report: Row) -> None:
    """NPV at each driver's low and high value, the widest first."""
    words, formats, palette = page.words, page.formats, page.palette
    heading(words, words("roi.tornado"), INVESTMENT)
    rows = [
        {
            "driver": words(DRIVERS[bar["driver"]]) if bar["driver"] in DRIVERS
            else bar["driver"].replace("_", " "),
            "note": bar["note"],
            "low": bar["low"],
            "high": bar["high"],
            "shown": f"{formats.money_short(bar['low'], report['currency'])} … "
            f"{formats.money_short(bar['high'], report['currency'])}",
        }
        for bar in report["tornado"]
        if bar["low"] is not None and bar["high"] is not None
    ]  # fmt: skip
    names = [row["driver"] for row in rows]
    for row in rows:  # traffic fixed and compute fixed are two bars of one driver
        if names.count(row["driver"]) > 1 and row["note"]:
            note = words(NOTES[row["note"]]) if row["note"] in NOTES else row["note"]
            row["driver"] = f"{row['driver']} ({note})"
    base = alt.Chart(pd.DataFrame(rows), height=max(26 * len(rows), 60)).encode(
        y=alt.Y("driver:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False)),
        tooltip=[alt.Tooltip("driver:N", title=" "), alt.Tooltip("shown:N", title="  ")],
    )
    worth = report["outlook"]["npv"]
    rule = alt.Chart(pd.DataFrame({"npv": [worth]})).mark_rule(color=palette.ink).encode(x="npv:Q")
    bars = base.mark_bar(height=13, color=palette.cached).encode(
        x=alt.X("low:Q", title=None, axis=alt.Axis(labelExpr=formats.axis(), tickCount=4)),
        x2="high:Q",
    )
    charts.draw(charts.layered(bars, rule), palette, key="tornado", alt_text=words("roi.tornado"))


def heat_map(page: Page, report: Row) -> None:
    """NPV by utilisation and hit ratio, each cell with its number."""
    words, formats, palette = page.words, page.formats, page.palette
    heading(words, words("roi.heat_map"), INVESTMENT)
    found = report["heat_map"]
    rows = [
        {
            "u": formats.percent(u),
            "r": formats.percent(r),
            "npv": found["npv"][i][j],
            "label": _two_digits(page, found["npv"][i][j]),
            "shown": formats.money(found["npv"][i][j], report["currency"]),
        }
        for i, u in enumerate(found["rows"]["utilization"])
        for j, r in enumerate(found["columns"]["hit_ratio"])
    ]
    most = max((abs(row["npv"]) for row in rows if row["npv"] is not None), default=1.0)
    base = alt.Chart(pd.DataFrame(rows), height=250).encode(
        x=alt.X(
            "r:N", sort=None, title="r", axis=alt.Axis(labelAngle=0, domain=False, ticks=False)
        ),
        y=alt.Y("u:N", sort=None, title="U", axis=alt.Axis(domain=False, ticks=False)),
        tooltip=[alt.Tooltip("shown:N", title=" ")],
    )
    colours = [palette.risk, palette.background, palette.accent]
    scale = alt.Scale(domain=[-most, 0, most], range=colours, interpolate="rgb")
    cells = base.mark_rect().encode(color=alt.Color("npv:Q", scale=scale, legend=None))
    text = base.mark_text(fontSize=10).encode(
        text="label:N",
        color=alt.condition(
            f"abs(datum.npv) > {most * 0.45}",
            alt.value(palette.background),
            alt.value(palette.ink),
        ),
    )
    charts.draw(
        charts.layered(cells, text), palette, key="heat_map", alt_text=words("roi.heat_map")
    )


def _two_digits(page: Page, amount: float | None) -> str:
    """Short enough for a cell on a phone."""
    return page.formats.short(None if amount is None else Decimal(f"{amount:.2g}"))
