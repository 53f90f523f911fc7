"""SLO: who met the limit, by request, by token and by revenue?"""

from typing import Any, Final

import streamlit as st

from dashboard.choices import choice_from_url, choice_to_url
from dashboard.columns import Column
from dashboard.compared import change_line
from dashboard.foot import foot
from dashboard.formats import exact
from dashboard.formulas import LEDGER, LEVELS, headline
from dashboard.page import Page, window
from dashboard.reads import ask
from dashboard.table import table

Row = dict[str, Any]
ROUTE: Final = "/v1/slo"
MEASURES: Final = {"ttft": "slo.ttft", "tpot": "slo.tpot", "itl": "slo.itl", "e2e": "slo.e2e",
                   "queue": "slo.queue"}  # fmt: skip
LIMITS: Final = {"ttft": 6.0, "tpot": 0.05, "itl": 0.05, "e2e": 60.0, "queue": 1.0}
ANSWERS: Final = {  # is_met → by request, by token
    True: ("slo.met", "slo.token_met"),
    False: ("slo.missed", "slo.token_missed"),
    None: ("slo.open", "slo.token_open"),
}
GROUPS: Final = {"model": "column.model", "pool": "column.pool", "node": "column.server",
                 "day": "column.day", "hour": "column.hour"}  # fmt: skip

MEASURE: Final = next(iter(MEASURES))  # asked for at first
GROUP: Final = next(iter(GROUPS))


def show(page: Page) -> None:
    """Draw the page."""
    words = page.words
    place = st.container()
    with st.container(horizontal=True, vertical_alignment="bottom", key="slo_asked"):
        measures = {name: words(key) for name, key in MEASURES.items()}
        choice_from_url("measure", measures, MEASURE)
        measure = st.selectbox(
            words("slo.measure"), list(measures), format_func=measures.__getitem__, width=220,
            key="measure",
        )  # fmt: skip
        choice_to_url("measure", MEASURE)
        limit = st.number_input(
            words("slo.limit"), 0.001, 3600.0, LIMITS[measure], format="%.3f", width=150,
            key=f"limit_{measure}", bind="query-params",
        )  # fmt: skip
        target = st.number_input(
            words("slo.target"), 50.0, 100.0, 99.0, 0.1, width=150, key="target",
            bind="query-params",
        )  # fmt: skip
        groups = {name: words(key) for name, key in GROUPS.items()}
        choice_from_url("by", groups, GROUP)
        group = st.selectbox(
            words("slo.group"), list(groups), format_func=groups.__getitem__, width=150, key="by"
        )
        choice_to_url("by", GROUP)
    asked = {
        **window(page.filters.period), "measure": measure, "limit_seconds": limit,
        "target": f"{target / 100:.4f}", "model_id": page.filters.model, "pool": page.filters.pool,
    }  # fmt: skip
    before = asked | window(page.filters.before or page.filters.period)
    whole, parts, earlier = page.reader.read(
        ask(ROUTE, rows=False, **asked),
        ask(ROUTE, rows=False, **asked, group_by=group),
        ask(ROUTE, rows=False, **before),
    )
    with place:
        _headline(page, whole["items"], measures[measure], limit)
        then = _largest(earlier["items"])
        change_line(page, page.formats.percent(_kept(then)) if then else None)
    if parts["items"]:
        _table(page, parts["items"], groups[group])
    foot(page, sections="§11")


def _largest(items: list[Row]) -> Row | None:
    rows = [row for row in items if _kept(row) is not None]
    return max(rows, key=lambda each: each["requests"] or each["output_tokens"], default=None)


def _kept(row: Row) -> float | None:
    """The share that surely met the limit: of requests, of tokens where requests are not known."""
    share: float | None = row["by_request_low" if row["requests"] is not None else "by_token_low"]
    return share


def _headline(page: Page, items: list[Row], measure: str, limit: float) -> None:
    words, formats = page.words, page.formats
    row = _largest(items)
    if row is None:
        st.subheader(words("slo.none"), anchor=False)
        return
    by_request, by_token = ANSWERS[row["is_met"]]
    told = {
        "share": formats.percent(_kept(row)),
        "measure": measure,
        "limit": formats.seconds(limit),
    }
    if row["requests"] is None:
        answer = words(by_token, **told, tokens=formats.count(row["output_tokens"]))
    else:
        answer = words(
            by_request,
            **told,
            requests=formats.count(row["requests"] + row["failed_requests"]),
            amount=formats.money(exact(row["revenue_at_risk"]), row["currency"]),
        )
    headline(words, answer, LEVELS)
    st.caption(words("slo.note"))
    if row["requests"] is None:
        st.caption(words("slo.itl_note"))


def _table(page: Page, items: list[Row], group: str) -> None:
    words = page.words
    money = ("revenue", "revenue_at_risk")
    rows = [row | {name: exact(row[name]) for name in money} for row in items]
    currency = next((row["currency"] for row in rows if row["currency"]), "")
    columns = [
        Column("group", group),
        Column("by_request_low", words("slo.by_request"), "ratio", formula=LEVELS),
        Column("by_token_low", words("slo.by_token"), "ratio", formula=LEVELS),
        Column("by_revenue_low", words("slo.by_revenue"), "ratio", formula=LEVELS),
        Column("requests", words("column.requests"), "count", formula=LEVELS),
        Column("failed_requests", words("slo.failed"), "count", formula=LEVELS),
        Column("p50_seconds", "p50 s", "second", formula=LEVELS),
        Column("p90_seconds", "p90 s", "second", formula=LEVELS),
        Column("p99_seconds", "p99 s", "second", formula=LEVELS),
        Column("revenue", words("column.amount", currency=currency), "money", formula=LEDGER),
        Column(
            "revenue_at_risk", words("column.at_risk", currency=currency), "money", formula=LEVELS
        ),
    ]
    table(page, rows, columns, name="slo", currency=currency or None)
