"""My usage: what did we use, what will it cost, why? For a tenant's own key."""

from typing import Any, Final

import streamlit as st

from dashboard.columns import Column, Link
from dashboard.compared import compared, compared_columns
from dashboard.figures import key_figures
from dashboard.foot import foot
from dashboard.headline import earned
from dashboard.page import Page
from dashboard.panels import over_time
from dashboard.requests_list import requests_list
from dashboard.story import story
from dashboard.summary import LINES, line_money, line_tokens, summary, total
from dashboard.table import table

Row = dict[str, Any]
ROW: Final = Link("row", ("project_id", "model_id"))


def show(page: Page) -> None:
    """Draw the page, or the one request that the URL names."""
    if request_id := st.query_params.get("request"):
        story(page, request_id)
        return
    period, before = page.filters.period, page.filters.before or page.filters.period
    groups = ("tenant_id", "project_id", "model_id")
    hours, earlier, projects, projects_before = page.read(
        page.usage(period, interval=period.interval),
        page.usage(before),
        page.usage(period, *groups, disposition="billed"),
        page.usage(before, *groups, disposition="billed"),
    )
    if not hours:
        st.info(page.words("mine.empty"), icon=":material/hourglass_empty:")
        foot(page)
        return
    now = summary(hours)
    then = summary(earlier, now.currency) if page.filters.before else None
    st.subheader(earned(page, now, then, own=True), anchor=False)
    key_figures(page, now, then, hours)
    over_time(page, hours, now)
    projects = compared(page, projects, projects_before, by=(*groups, "currency"))
    picked = _projects(page, projects, now.currency)
    if picked:
        requests_list(page, tenant_id=picked["tenant_id"], project_id=picked["project_id"])
    else:
        st.caption(page.words("mine.click"))
    foot(page)


def _projects(page: Page, rows: list[Row], currency: str | None) -> Row | None:
    words = page.words
    st.markdown(f"##### {words('mine.projects')}")
    lines = [
        row
        | {f"{name}_tokens": line_tokens(row, name) for name in LINES}
        | {f"{name}_amount": line_money(row, name) for name in LINES}
        | {"amount": total([row["amount"]])}
        for row in rows
    ]
    lines.sort(key=lambda line: (-line["amount"], line["project_id"] or ""))
    columns = [
        Column("project_id", words("column.project")),
        Column("model_id", words("column.model")),
        Column("amount", words("column.amount", currency=currency or ""), "money"),
        *compared_columns(page),
        Column("requests", words("column.requests"), "count"),
        Column("uncached_tokens", words("column.uncached_tokens"), "count"),
        Column("cached_tokens", words("column.cached_tokens"), "count"),
        Column("output_tokens", words("column.output_tokens"), "count"),
        Column("uncached_amount", words("column.uncached_amount"), "money"),
        Column("cached_amount", words("column.cached_amount"), "money"),
        Column("output_amount", words("column.output_amount"), "money"),
    ]
    return table(page, lines, columns, name="projects", currency=currency, choose=ROW)
