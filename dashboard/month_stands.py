"""Where the month stands: open, blocked or closed, in one card with the way to its close."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

import streamlit as st

from dashboard.close import BLOCKERS, PASSING, blockers_of, outcome_of
from dashboard.formats import exact
from dashboard.page import Page
from dashboard.problems import explained
from dashboard.reads import ask
from dashboard.summary import total

Row = dict[str, Any]
ROUTE: Final = "/v1/close"
PAGE: Final = "invoices"
MAY_CLOSE: Final = "/v1/audit"  # finance and operators may read it, and close


def month_stands(page: Page) -> None:
    """The card, for who may close; what the API refuses is said in its place."""
    if MAY_CLOSE not in page.rights:
        return
    with explained(page.words):
        asked = ask(ROUTE, rows=False, month=_month(page), not_invoiced=False)
        (report,) = page.reader.read(asked)
        _card(page, report)


def _month(page: Page) -> str:
    """The month in which the window begins; while the window runs, the one that ended last."""
    first = page.filters.period.start_at.astimezone(page.filters.zone).date().replace(day=1)
    if page.filters.period.running:
        today = page.now.astimezone(page.filters.zone).date()
        first = (today.replace(day=1) - timedelta(days=1)).replace(day=1)
    return f"{first:%Y-%m}"


def _card(page: Page, report: Row) -> None:
    words, month = page.words, report["month"]
    tenants = [
        each for each in report["tenants"]
        if page.filters.tenant in (None, each["tenant_id"])
    ]  # fmt: skip
    if not tenants:
        return
    st.markdown(f"##### {words('stands.title')}")
    with st.container(border=True, gap=None, key="month_stands"):
        st.markdown(_head(page, month, tenants))
        if said := _said(page, tenants):
            st.caption(said)
        if target := page.places.get(PAGE):
            st.page_link(target, label=words("stands.link", month=month),
                         query_params=_window(page, month))  # fmt: skip


def _head(page: Page, month: str, tenants: Sequence[Row]) -> str:
    words = page.words
    by = {name: [t for t in tenants if outcome_of(t) == name]
          for name in ("blocked", "ready", "not_ended")}  # fmt: skip
    if by["blocked"]:
        risks = " ".join(
            f":red[**{page.formats.money(exact(each['amount_max']), each['currency'])}**]"
            for each in blockers_of(by["blocked"]).values()
            if each["amount_max"] is not None
        )
        text = words("stands.blocked", month=month, blocked=len(by["blocked"]),
                     tenants=len(tenants))  # fmt: skip
        return f":material/block: {text} {risks}"
    if by["ready"]:
        text = words("stands.ready", month=month, ready=len(by["ready"]), tenants=len(tenants))
        return f":material/lock_open: {text}"
    if by["not_ended"]:
        return f":material/hourglass_empty: {words('stands.running', month=month)}"
    documents = [made for tenant in tenants for made in tenant["documents"]]
    sums = " + ".join(
        page.formats.money(total(d["net_amount"] for d in documents if d["currency"] == each), each)
        for each in sorted({made["currency"] for made in documents})
    )
    key = "stands.closed" if documents else "stands.closed_empty"
    text = words(key, month=month, documents=len(documents), amount=sums)
    return f":material/check_circle: {text}"


def _said(page: Page, tenants: Sequence[Row]) -> str:
    """What blocks, each kind with its number."""
    counts: dict[str, int] = {}
    for each in blockers_of(tenants).values():
        if each["kind"] == PASSING:
            continue
        kind = page.words(BLOCKERS[each["kind"]]) if each["kind"] in BLOCKERS else each["kind"]
        counts[kind] = counts.get(kind, 0) + each["count"]
    return " · ".join(f"{kind} {page.formats.count(counts[kind])}" for kind in sorted(counts))


def _window(page: Page, month: str) -> dict[str, str]:
    """The month as the filters of the page that is linked to."""
    first = page.filters.period.start_at.astimezone(page.filters.zone).date()
    if not page.filters.period.running and f"{first:%Y-%m}" == month:
        return {}
    return {"window": "last_month"}
