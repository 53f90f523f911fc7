"""Tenants: who pays what, down to one project, one request and its legs."""

from collections.abc import Sequence
from typing import Any, Final

import streamlit as st

from dashboard.columns import Column, Link
from dashboard.compared import compared, compared_columns, money_line
from dashboard.foot import foot
from dashboard.formulas import LEDGER, ONE_SERVER, headline
from dashboard.page import Page, window
from dashboard.reads import ask
from dashboard.requests_list import requests_list
from dashboard.story import story
from dashboard.summary import LINES, Summary, line_money, line_tokens, summary, total
from dashboard.table import table

Row = dict[str, Any]
CHARGEBACK: Final = "/v1/chargeback"
ROW: Final = Link("row", ("tenant_id", "project_id", "cost_centre_id"))


def show(page: Page) -> None:
    """Draw the page, or the one request that the URL names."""
    if request_id := st.query_params.get("request"):
        story(page, request_id)
        return
    filters = page.filters
    rows, before = (
        [row for row in found if filters.model in (None, row["model_id"])]
        for found in page.read(
            ask(CHARGEBACK, **window(filters.period), tenant_id=filters.tenant),
            ask(CHARGEBACK, **window(filters.before or filters.period), tenant_id=filters.tenant),
        )
    )
    if not rows:
        st.info(page.words("empty.window"), icon=":material/hourglass_empty:")
        foot(page)
        return
    now = summary(rows)
    headline(page.words, _headline(page, rows, now), LEDGER)
    money_line(page, now.amount, summary(before, now.currency).amount, now.currency)
    picked = _table(page, rows, before, now)
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


def _lines(page: Page, rows: Sequence[Row], now: Summary) -> list[Row]:
    """One line a tenant, project and cost centre."""
    groups: dict[tuple[Any, Any, Any], list[Row]] = {}
    for row in rows:
        key = (row["tenant_id"], row["project_id"], row["cost_centre_id"])
        groups.setdefault(key, []).append(row)
    return [_line(page, key, members, now) for key, members in groups.items()]


def _table(page: Page, rows: Sequence[Row], before: Sequence[Row], now: Summary) -> Row | None:
    """Every line beside the window before; answers the one that was clicked."""
    words = page.words
    lines = compared(
        page, _lines(page, rows, now), _lines(page, before, now),
        by=("tenant", "project", "cost_centre_id"),
    )  # fmt: skip
    lines.sort(key=lambda line: (-line["amount"], line["tenant_id"]))
    money = now.currency or ""
    columns = [
        Column("tenant_id", words("column.tenant")),
        Column("project_id", words("column.project")),
        Column("cost_centre_id", words("column.cost_centre")),
        Column("amount", words("column.amount", currency=money), "money", formula=LEDGER),
        *compared_columns(page),
        Column("at_risk", words("column.at_risk", currency=money), "money", formula=LEDGER),
        Column("requests", words("column.requests"), "count", formula=LEDGER),
        Column("uncached_tokens", words("column.uncached_tokens"), "count", formula=LEDGER),
        Column("cached_tokens", words("column.cached_tokens"), "count", formula=LEDGER),
        Column("output_tokens", words("column.output_tokens"), "count", formula=LEDGER),
        Column("hit_ratio", words("column.hit_ratio"), "ratio", formula=ONE_SERVER),
        Column("uncached_amount", words("column.uncached_amount"), "money", formula=LEDGER),
        Column("cached_amount", words("column.cached_amount"), "money", formula=LEDGER),
        Column("output_amount", words("column.output_amount"), "money", formula=LEDGER),
    ]
    return table(page, lines, columns, name="tenants", currency=now.currency, choose=ROW)


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
