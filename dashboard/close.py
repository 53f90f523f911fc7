"""The close of a month: what blocks it, what to do about each, and the button."""

import time
from collections.abc import Sequence
from typing import Any, Final

import streamlit as st

from dashboard.columns import Column
from dashboard.formats import exact
from dashboard.page import Page
from dashboard.reads import ask, forget
from dashboard.table import table

Row = dict[str, Any]
ROUTE: Final = "/v1/close"
PASSING: Final = "unsettled"  # the settler's turn comes several times a second
PAUSES: Final = (0.2, 0.3, 0.5, 1.0, 2.0)
MARKS: Final = {
    "closed": ":material/check_circle:", "already_closed": ":material/check_circle:",
    "ready": ":material/radio_button_unchecked:", "blocked": ":material/block:",
    "not_ended": ":material/hourglass_empty:",
}  # fmt: skip
OUTCOMES: Final = {
    "closed": "close.closed", "already_closed": "close.already_closed", "blocked": "close.blocked",
    "ready": "close.ready", "not_ended": "close.not_ended",
}  # fmt: skip
BLOCKERS: Final = {
    "unpriced": "blocker.unpriced", "held": "blocker.held", "pending": "blocker.pending",
    "conflict": "blocker.conflict", "both_sources": "blocker.both_sources",
    "node": "blocker.node", "unreconciled": "blocker.unreconciled",
    "unsettled": "blocker.unsettled",
}  # fmt: skip
REMEDIES: Final = {
    "unpriced": "cure.unpriced", "held": "cure.held", "pending": "cure.pending",
    "conflict": "cure.conflict", "both_sources": "cure.both_sources", "node": "cure.node",
    "unreconciled": "cure.unreconciled", "unsettled": "cure.unsettled",
}  # fmt: skip


def close_form(page: Page, month: str) -> list[str]:
    """How the close of `month` (YYYY-MM) stands, and a form that does it; who is closed."""
    words = page.words
    (report,) = page.reader.read(ask(ROUTE, rows=False, month=month))
    tenants = report["tenants"]
    states = {name: [t for t in tenants if outcome_of(t) == name] for name in OUTCOMES}
    st.markdown(f"##### {words('close.title', month=month)}")
    counts = {name: len(found) for name, found in states.items()}
    st.markdown(words("close.stands", done=counts["already_closed"], tenants=len(tenants),
                      ready=counts["ready"], blocked=counts["blocked"],
                      running=counts["not_ended"]))  # fmt: skip
    blockers = blockers_of(tenants)
    _checklist(page, blockers)
    if states["ready"] or states["blocked"]:
        _form(page, month, blockers)
    if told := st.session_state.get(f"closed_{month}"):
        _report(page, told)
    _not_invoiced(page, report["not_invoiced"])
    return [tenant["tenant_id"] for tenant in states["already_closed"]]


def outcome_of(tenant: Row) -> str:
    """How the tenant's month stands; a wait for the settler is over by itself and blocks nobody."""
    kinds = {each["kind"] for each in tenant["blockers"]}
    outcome: str = tenant["outcome"]
    return "ready" if outcome == "blocked" and kinds == {PASSING} else outcome


def blockers_of(tenants: Sequence[Row]) -> dict[str, Row]:
    """Each blocker of these tenants once, by the name with which it is accepted."""
    return {each["name"]: each for tenant in tenants for each in tenant["blockers"]}


def _checklist(page: Page, blockers: dict[str, Row]) -> None:
    words, formats = page.words, page.formats
    blocking = {each["kind"] for each in blockers.values()}
    fine = [words(text) for kind, text in BLOCKERS.items() if kind not in blocking]
    st.caption(" · ".join(f":material/check: {text} 0" for text in fine))
    for kind in sorted(blocking):
        found = [each for each in blockers.values() if each["kind"] == kind]
        count = formats.count(sum(each["count"] for each in found))
        risks = [
            f":red[{formats.money(exact(each['amount_max']), each['currency'])}]"
            for each in found
            if each["amount_max"] is not None
        ]
        text = words(BLOCKERS[kind]) if kind in BLOCKERS else kind
        remedy = words(REMEDIES[kind]) if kind in REMEDIES else found[0]["remedy"]
        owners = ", ".join(f"`{each['name']}`" for each in found)
        st.markdown(f":material/close: **{text} {count}** {' '.join(risks)} · {owners}  \n{remedy}")


def _form(page: Page, month: str, blockers: dict[str, Row]) -> None:
    words = page.words
    may = sorted(name for name, each in blockers.items() if each["kind"] != PASSING)
    with st.form(f"close_form_{month}", border=False):
        accept: list[str] = []
        reason = ""
        if may:
            accept = st.multiselect(words("close.accept"), may, placeholder=words("close.choose"))
            reason = st.text_input(words("quality.reason"), max_chars=500)
        label = words("close.close", month=month)
        if not st.form_submit_button(label, type="primary", icon=":material/lock:"):
            return
    if accept and not reason.strip():
        st.warning(words("close.why"))
        return
    body = {"month": month, "accept": accept, "reason": reason.strip()}
    st.session_state[f"closed_{month}"] = _close(page, body)
    forget()
    st.rerun()


def _close(page: Page, body: Row) -> Row:
    """The report of the close; while usage that has just come in is settled, it is tried again."""
    for pause_seconds in PAUSES:
        report = page.reader.client().post(ROUTE, body)
        if not any(each["kind"] == PASSING for each in blockers_of(report["tenants"]).values()):
            break
        time.sleep(pause_seconds)
    return report


def _report(page: Page, report: Row) -> None:
    """What the last close of this visit said."""
    words, formats = page.words, page.formats
    for tenant in report["tenants"]:
        outcome = tenant["outcome"]
        text = words(OUTCOMES[outcome]) if outcome in OUTCOMES else outcome
        made = ", ".join(
            f"{each['number']} {formats.money(exact(each['net_amount']), each['currency'])}"
            for each in tenant["documents"]
        )
        st.markdown(f"{MARKS.get(outcome, '')} **{tenant['tenant_id']}** {text} {made}")


def _not_invoiced(page: Page, rows: list[Row]) -> None:
    """Usage of the month that no document bills."""
    if not rows:
        return
    words = page.words
    with st.expander(words("close.not_invoiced", rows=len(rows))):
        shown = [row | {"amount_max": exact(row["amount_max"])} for row in rows]
        columns = [
            Column("tenant_id", words("column.tenant")),
            Column("reason", words("column.reason")),
            Column("requests", words("column.requests"), "count"),
            Column("currency", words("column.currency")),
            Column("amount_max", words("close.at_most"), "money"),
        ]
        table(page, shown, columns, name="not-invoiced")
