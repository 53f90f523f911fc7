"""Servers: what does each machine earn?"""

from typing import Any, Final

import streamlit as st

from dashboard.columns import Column
from dashboard.compared import compared, compared_columns
from dashboard.foot import foot
from dashboard.formulas import LEDGER, ONE_SERVER, heading, headline
from dashboard.heat_map import heat_map, hours_asked, silent_since
from dashboard.margin import margins
from dashboard.page import Page, window
from dashboard.panels import servers_bars, stage_order
from dashboard.problems import explained
from dashboard.reads import ask
from dashboard.summary import main_currency, total
from dashboard.table import table

Row = dict[str, Any]
REVENUE: Final = "/v1/revenue/servers"
ECONOMICS: Final = "/v1/economics/servers"
STAGES: Final = {
    "prefill": "stage.prefill", "decode": "stage.decode", "unified": "stage.unified",
    "gateway": "stage.gateway",
}  # fmt: skip


def show(page: Page) -> None:
    """Draw the page."""
    period = page.filters.period
    asks = [
        ask(REVENUE, **window(period)),
        ask("/v1/revenue/unbilled", **window(period)),
        ask("/v1/servers", limit=1000),
        ask("/v1/findings", **window(period)),
        ask(REVENUE, **window(page.filters.before or period)),
    ]
    if ECONOMICS in page.rights:
        asks.append(hours_asked(period))
    earned, unbilled, registered, findings, earlier, *hours = page.read(*asks)
    rows = _with_idle([row for row in earned if _inside(page, row)], registered, page)
    rows = compared(page, rows, earlier, by=("node_id", "stage", "pool", "currency"))
    if not rows:
        st.info(page.words("servers.empty"), icon=":material/dns:")
        foot(page, sections="§1, §3, §5")
        return
    currency = main_currency(earned)
    headline(page.words, _headline(page, rows, currency), LEDGER)
    servers_bars(page, [row for row in rows if row["currency"]], currency)
    for found in hours:
        heat_map(page, rows, found, silent_since(findings), currency)
    _table(page, rows, currency)
    if ECONOMICS in page.rights:
        with explained(page.words):
            margins(page)
    _unbilled(page, [row for row in unbilled if row["requests"]], currency)
    foot(page, sections="§1, §3, §5")


def _inside(page: Page, row: Row) -> bool:
    return page.filters.pool in (None, row["pool"])


def _with_idle(earned: list[Row], registered: list[Row], page: Page) -> list[Row]:
    """Servers with revenue, and the registered ones in service that earned nothing."""
    known = {row["node_id"] for row in earned}
    period = page.filters.period
    idle = [
        {"node_id": each["node_id"], "stage": each["stage"], "pool": each["pool"],
         "hardware": each["hardware"], "currency": None, "requests": 0}
        for each in registered
        if each["node_id"] not in known
        and each["in_service_from"] < period.elapsed_until
        and (each["in_service_until"] is None or each["in_service_until"] > period.start_at)
        and _inside(page, each)
    ]  # fmt: skip
    return sorted([*earned, *idle], key=stage_order)


def _headline(page: Page, rows: list[Row], currency: str | None) -> str:
    words, formats = page.words, page.formats
    own = [row for row in rows if row["currency"] == currency and currency]
    if not own:
        return words("servers.nothing", servers=len(rows))
    best = max(own, key=lambda row: row["amount"])
    whole = total(row["amount"] for row in own)
    text = words(
        "servers.headline",
        servers=len({row["node_id"] for row in own}),
        amount=formats.money(whole, currency),
        best=best["node_id"] or words("unnamed"),
        share=formats.percent(best["amount"] / whole) if whole else formats.percent(None),
    )
    idle = [row["node_id"] for row in rows if not row["requests"]]
    return text + (words("servers.idle", servers=", ".join(map(str, idle))) if idle else "")


def _table(page: Page, rows: list[Row], currency: str | None) -> None:
    words = page.words
    heading(words, words("servers.table"))
    shown = [
        row | {"stage": words(STAGES[row["stage"]]) if row["stage"] in STAGES else row["stage"]}
        for row in rows
    ]
    columns = [
        Column("node_id", words("column.server")),
        Column("stage", words("column.stage")),
        Column("amount", words("column.ledger", currency=currency or ""), "money", formula=LEDGER),
        Column(
            "formula", words("column.formula", currency=currency or ""), "money", formula=ONE_SERVER
        ),
        Column(
            "difference",
            words("column.difference"),
            "money",
            words("servers.difference_help"),
            formula=LEDGER,
        ),
        *compared_columns(page),
        Column("input_tokens_per_second", words("column.input_rate"), "rate", formula=ONE_SERVER),
        Column("output_tokens_per_second", words("column.output_rate"), "rate", formula=ONE_SERVER),
        Column("hit_ratio", words("column.hit_ratio"), "ratio", formula=ONE_SERVER),
        Column(
            "utilization_ratio",
            words("column.utilization"),
            "ratio",
            words("servers.u_help"),
            formula=ONE_SERVER,
        ),
        Column("requests", words("column.requests"), "count", formula=LEDGER),
        Column("pool", words("column.pool")),
        Column("hardware", words("column.hardware")),
    ]
    table(page, shown, columns, name="servers", currency=currency)


def _unbilled(page: Page, rows: list[Row], currency: str | None) -> None:
    words = page.words
    if not rows:
        return
    heading(words, words("servers.unbilled"), LEDGER)
    st.caption(words("servers.unbilled_help"))
    columns = [
        Column("node_id", words("column.server")),
        Column("disposition", words("column.disposition")),
        Column("reason", words("column.reason")),
        Column("requests", words("column.requests"), "count", formula=LEDGER),
        Column("input_tokens", words("column.input_tokens"), "count", formula=LEDGER),
        Column("output_tokens", words("column.output_tokens"), "count", formula=LEDGER),
        Column(
            "amount_max", words("column.at_risk", currency=currency or ""), "money", formula=LEDGER
        ),
    ]
    table(page, rows, columns, name="unbilled", currency=currency)
