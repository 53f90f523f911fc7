"""What an investment case is compared with: a saved case, or itself at what a server metered."""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote

import streamlit as st

from dashboard.choices import choice_from_url, choice_to_url
from dashboard.formats import exact
from dashboard.formulas import INVESTMENT, with_formula
from dashboard.page import Page, rows_of, window
from dashboard.problems import explained
from dashboard.reads import ask

Row = dict[str, Any]
CASES: Final = "/v1/roi/cases"
SERVERS: Final = "/v1/servers"
CASES_MAX: Final = 10
SERVERS_MAX: Final = 1_000
TAKES_INPUT: Final = frozenset({"prefill", "unified"})  # a decode server has no hit ratio
FIGURES: Final = (  # text, where it stands in a report, kind
    ("roi.npv", "outlook", "npv", "short"),
    ("roi.irr", "rates", "irr_year", "share"),
    ("roi.payback", "outlook", "payback_months", "months"),
    ("roi.profit", "steady_month", "profit", "short"),
    ("roi.break_even_u", "outlook", "break_even_utilization", "share"),
    ("roi.break_even_price", "outlook", "break_even_input_price", "money"),
)


def versus(page: Page, case: Row) -> tuple[str, Row] | None:
    """The name and the report of what `case` is to be compared with, if anything."""
    words = page.words
    saved, servers = page.reader.read(
        ask(CASES, rows=False, limit=CASES_MAX), ask(SERVERS, limit=SERVERS_MAX)
    )
    names = {f"case {each['case_id']}": each["name"] for each in saved["items"]}
    names |= {
        f"server {each['node_id']}": words("versus.metered", server=each["node_id"])
        for each in rows_of(servers)
        if each["stage"] in TAKES_INPUT
    }
    if not names:
        return None
    choice_from_url("versus", ["", *names], "")
    chosen = st.selectbox(
        words("bar.compare"), ["", *names], key="versus", width=420,
        format_func=lambda each: names.get(each, words("bar.alone")),
    )  # fmt: skip
    choice_to_url("versus", "")
    kind, _, name = (chosen or "").partition(" ")
    with explained(words):
        if kind == "case":
            (found,) = page.reader.read(ask(f"{CASES}/{quote(name, safe='')}", rows=False))
            return names[chosen], found["report"]
        if kind == "server":
            body = {"case": case, "node_ids": [name], **window(page.filters.period)}
            (found,) = page.reader.read(ask("/v1/roi/metered", body=body))
            return names[chosen], found["report"]
    return None


def figures(page: Page, report: Row, beside: tuple[str, Row] | None) -> None:
    """Six figures of the case; exact, and what it is compared with, on hover."""
    money = report["currency"]
    name, other = beside or ("", None)
    if other is not None and other["currency"] != money:
        st.caption(page.words("versus.currencies", name=name))
        other = None
    with st.container(key="figures"):
        places = st.columns(len(FIGURES), gap="small")
    for place, (text, part, field, kind) in zip(places, FIGURES, strict=True):
        now = report[part][field]
        then = other[part][field] if other is not None else None
        hover = _exact(page, now, kind, money)
        if other is not None:
            hover += f"  \n{name}: {_exact(page, then, kind, money)}  \n"
        place.metric(
            page.words(text), _shown(page, now, kind, money), _moved(page, now, then, kind, money),
            delta_color="gray", border=True, height="stretch",
            help=with_formula(page.words, INVESTMENT, hover),
        )  # fmt: skip
    if other is not None:
        st.caption(page.words("versus.note", name=name))


def _shown(page: Page, value: float | None, kind: str, currency: str) -> str:
    formats = page.formats
    kinds: Mapping[str, Any] = {
        "short": lambda: formats.money_short(value, currency),
        "money": lambda: formats.money(value, currency),
        "share": lambda: formats.percent(value),
        "months": lambda: page.words(
            "roi.months", months=formats.count(None if value is None else round(value))
        ),
    }
    text: str = kinds[kind]()
    return text


def _exact(page: Page, value: float | None, kind: str, currency: str) -> str:
    """Every digit that the report has."""
    known = exact(value)
    if known is None or kind in ("short", "money"):
        return page.formats.money_exact(known, currency)
    if kind == "share":
        return f"{known * 100:f} %"
    return page.words("roi.months", months=f"{known:f}")


def _moved(
    page: Page, now: float | None, then: float | None, kind: str, currency: str
) -> str | None:
    """The difference, in the figure's own unit; None where there is nothing to compare with."""
    if now is None or then is None:
        return None
    moved = now - then
    if kind == "share":
        return page.words("figure.points", points=f"{round(moved * 100, 1) + 0.0:+.1f}")  # no −0.0
    sign = "-" if moved < 0 else "+"  # Streamlit reads the ASCII sign
    return sign + _shown(page, abs(moved), kind, currency)
