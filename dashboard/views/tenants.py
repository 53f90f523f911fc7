"""Tenants: who pays what, down to one project, one request and its legs."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dashboard.foot import foot
from dashboard.page import Page, window
from dashboard.reads import ask
from dashboard.requests_list import requests_list
from dashboard.story import story
from dashboard.summary import LINES, Summary, line_money, line_tokens, summary, total
from dashboard.table import Column, table

Row = dict[str, Any]


def show(page: Page) -> None:
    """Draw the page, or the one request that the URL names."""
    if request_id := st.query_params.get("request"):
        story(page, request_id)
        return
    (rows,) = page.read(
        ask("/v1/chargeback", **window(page.filters.period), tenant_id=page.filters.tenant)
    )
    rows = [row for row in rows if page.filters.model in (None, row["model_id"])]
    if not rows:
        st.info(page.words("empty.window"), icon=":material/hourglass_empty:")
        foot(page)
        return
    now = summary(rows)
    st.subheader(_headline(page, rows, now), anchor=False)
    picked = _table(page, rows, now)
    if picked:
        requests_list(page, tenant_id=picked["tenant"], project_id=picked["project"])
    else:
        st.caption(page.words("tenants.click"))
    foot(page)


def _headline(page: Page, rows: Sequence[Row], now: Summary) -> str:
    words, formats = page.words, page.formats
    tenants = {row["tenant_id"] for row in rows if row["tenant_id"]}
    unowned = total(
        row["amount_max"] for row in rows
        if row["tenant_id"] is None and row["currency"] == now.currency
    )  # fmt: skip
    text = words(
        "tenants.headline", tenants=len(tenants), amount=formats.money(now.amount, now.currency)
    )
    if unowned:
        return text + words("tenants.unowned", amount=formats.money(unowned, now.currency))
    return text + words("tenants.all_owned")


def _table(page: Page, rows: Sequence[Row], now: Summary) -> Row | None:
    """One line a tenant, project and cost centre; answers the one that was clicked."""
    words = page.words
    groups: dict[tuple[Any, Any, Any], list[Row]] = {}
    for row in rows:
        key = (row["tenant_id"], row["project_id"], row["cost_centre_id"])
        groups.setdefault(key, []).append(row)
    lines = [_line(page, key, members, now) for key, members in groups.items()]
    lines.sort(key=lambda line: (-line["amount"], line["tenant_id"]))
    money = now.currency or ""
    columns = [
        Column("tenant_id", words("column.tenant")),
        Column("project_id", words("column.project")),
        Column("cost_centre_id", words("column.cost_centre")),
        Column("amount", words("column.amount", currency=money), "money"),
        Column("at_risk", words("column.at_risk", currency=money), "money"),
        Column("requests", words("column.requests"), "count"),
        Column("uncached_tokens", words("column.uncached_tokens"), "count"),
        Column("cached_tokens", words("column.cached_tokens"), "count"),
        Column("output_tokens", words("column.output_tokens"), "count"),
        Column("hit_ratio", words("column.hit_ratio"), "ratio"),
        Column("uncached_amount", words("column.uncached_amount"), "money"),
        Column("cached_amount", words("column.cached_amount"), "money"),
        Column("output_amount", words("column.output_amount"), "money"),
    ]
    return table(page, lines, columns, name="tenants", currency=now.currency, choose=True)


def _line(page: Page, key: tuple[Any, Any, Any], members: Sequence[Row], now: Summary) -> Row:
    found = summary(members, now.currency)
    billed = [
        row for row in members
        if row["disposition"] == "billed" and row["currency"] == now.currency
    ]  # fmt: skip
    return {
        "tenant": key[0],
        "project": key[1],
        "tenant_id": key[0] or page.words("unattributed"),
        "project_id": key[1],
        "cost_centre_id": key[2],
        "amount": found.amount,
        "at_risk": found.at_risk,
        "requests": found.requests,
        "hit_ratio": found.hit_ratio,
        **{f"{n}_tokens": sum(line_tokens(row, n) for row in members) for n in LINES},
        **{f"{n}_amount": total(line_money(row, n) for row in billed) for n in LINES},
    }
