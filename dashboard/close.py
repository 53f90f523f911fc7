"""The close of a month: a button, the checklist that blocks it, and what to do about each."""

from typing import Any

import streamlit as st

from dashboard.formats import exact
from dashboard.page import Page

Row = dict[str, Any]
MARKS = {
    "closed": ":material/check_circle:", "already_closed": ":material/check_circle:",
    "blocked": ":material/block:", "not_ended": ":material/hourglass_empty:",
}  # fmt: skip
OUTCOMES = {
    "closed": "close.closed", "already_closed": "close.already_closed", "blocked": "close.blocked",
    "not_ended": "close.not_ended",
}  # fmt: skip


def close_form(page: Page, month: str) -> None:
    """Close `month` (YYYY-MM) and show what the close said."""
    words = page.words
    kept: Row | None = st.session_state.get(f"close_{month}")
    blockers = [b for tenant in (kept or {}).get("tenants", ()) for b in tenant["blockers"]]
    with st.form(f"close_form_{month}", border=False):
        accept: list[str] = []
        reason = ""
        if blockers:
            accept = st.multiselect(words("close.accept"), sorted({b["name"] for b in blockers}))
            reason = st.text_input(words("quality.reason"), max_chars=500)
        label = words("close.close", month=month)
        if st.form_submit_button(label, type="primary", icon=":material/lock:"):
            body = {"month": month, "accept": accept, "reason": reason.strip()}
            st.session_state[f"close_{month}"] = page.reader.client().post("/v1/close", body)
            st.cache_data.clear()
            st.rerun()
    if kept:
        _report(page, kept)


def _report(page: Page, report: Row) -> None:
    words, formats = page.words, page.formats
    for tenant in report["tenants"]:
        outcome = tenant["outcome"]
        text = words(OUTCOMES[outcome]) if outcome in OUTCOMES else outcome
        made = ", ".join(
            f"{each['number']} {formats.money(exact(each['net_amount']), each['currency'])}"
            for each in tenant["documents"]
        )
        st.markdown(f"{MARKS.get(outcome, '')} **{tenant['tenant_id']}** {text} {made}")
        for blocker in tenant["blockers"]:
            risk = formats.money(exact(blocker["amount_max"]), blocker["currency"])
            st.markdown(
                f"- `{blocker['name']}` {blocker['count']} · :red[{risk}] · {blocker['remedy']}"
            )
    for row in report["not_invoiced"]:
        risk = formats.money(exact(row["amount_max"]), row["currency"])
        st.caption(
            words(
                "close.not_invoiced",
                reason=row["reason"].replace("_", " "),
                owner=row["tenant_id"] or words("unattributed"),
                requests=formats.count(row["requests"]),
                amount=risk,
            )
        )
