"""Cost and margin of servers, where their cost assumptions are stated."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dashboard.columns import Column
from dashboard.formats import exact
from dashboard.formulas import COST, SHARES, WORTH, heading, small_print
from dashboard.page import Page, window
from dashboard.reads import ask
from dashboard.table import table

Row = dict[str, Any]
MONEY = (
    "net_revenue", "cost", "profit", "idle_cost", "failed_cost", "cost_per_million_input",
    "cost_per_million_uncached", "cost_per_million_cached", "cost_per_million_output",
)  # fmt: skip


def margins(page: Page) -> None:
    """A table of what servers earn and cost; or what is missing to know it."""
    words, formats = page.words, page.formats
    answer = page.reader.read(
        ask("/v1/economics/servers", rows=False, **window(page.filters.period))
    )[0]
    rows = [row | {name: exact(row[name]) for name in MONEY} for row in answer["items"]]
    known = [row for row in rows if row["cost"] is not None]
    heading(words, words("margin.title"), WORTH)
    missing = [row["group"] for row in rows if row["cost"] is None]
    if missing:
        st.caption(words("margin.missing", servers=", ".join(missing)))
    if not known:
        return
    for currency in sorted({row["currency"] for row in known if row["currency"]}):
        _table(page, [row for row in known if row["currency"] == currency], currency)
    paybacks = [row["payback_months"] for row in known if row["payback_months"]]
    if paybacks:
        longest = formats.count(round(max(paybacks)))
        small_print(words, words("margin.payback", months=longest), WORTH)


def _table(page: Page, rows: Sequence[Row], currency: str) -> None:
    words = page.words
    columns = [
        Column("group", words("column.server")),
        Column("net_revenue", words("margin.revenue", currency=currency), "money", formula=WORTH),
        Column("cost", words("margin.cost", currency=currency), "money", formula=COST),
        Column("profit", words("margin.profit", currency=currency), "money", formula=WORTH),
        Column("gross_margin", words("margin.gross"), "ratio", formula=WORTH),
        Column("margin_on_cost", words("margin.on_cost"), "ratio", formula=WORTH),
        Column("idle_cost", words("margin.idle"), "money", formula=SHARES),
        Column("failed_cost", words("margin.failed"), "money", formula=SHARES),
        Column("cost_per_million_uncached", words("margin.per_uncached"), "fine", formula=WORTH),
        Column("cost_per_million_output", words("margin.per_output"), "fine", formula=WORTH),
        Column("break_even_utilization_ratio", words("margin.break_even"), "ratio", formula=WORTH),
    ]
    table(page, rows, columns, name=f"margins-{currency}", currency=currency)
