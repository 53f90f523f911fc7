"""Data quality: is every token metered, owned and priced?"""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Final

import streamlit as st

from dashboard.columns import Column, Link
from dashboard.compared import change_line
from dashboard.findings import Group, grouped, kind_text, remedy_text
from dashboard.foot import foot
from dashboard.formats import instant
from dashboard.page import Page, window
from dashboard.problems import explained
from dashboard.reads import ask, forget
from dashboard.reconciled import reconciliation
from dashboard.summary import summary
from dashboard.table import table

Row = dict[str, Any]
MEMBERS_MAX: Final = 200
FINDING: Final = Link("finding", ("finding_id", "tenant_id"))
RECORD: Final = Link("record", ("quarantine_id",))


def show(page: Page) -> None:
    """Draw the page."""
    period = page.filters.period
    before = page.filters.before or period
    findings, usage, earlier = page.read(
        ask("/v1/findings", **window(period), tenant_id=page.filters.tenant),
        page.usage(period),
        page.usage(before),
    )
    groups = grouped(findings)
    st.subheader(_headline(page, groups, usage), anchor=False)
    change_line(page, page.formats.percent(_billed_share(earlier)))
    for place, group in enumerate(groups):
        _group(page, group, place)
    accepted = [row for row in findings if row["decision"] == "accepted"]
    if accepted:
        _accepted(page, accepted)
    if "/v1/reconciliation" in page.rights:
        with explained(page.words):
            reconciliation(page)
    if "/v1/quarantine" in page.rights:
        _quarantine(page)
    foot(page, findings)


def _billed_share(usage: Sequence[Row]) -> Decimal | None:
    whole = sum(row["requests"] for row in usage)
    billed = sum(row["requests"] for row in usage if row["disposition"] == "billed")
    return Decimal(billed) / whole if whole else None


def _headline(page: Page, groups: Sequence[Group], usage: Sequence[Row]) -> str:
    words, formats = page.words, page.formats
    now = summary(usage)
    if not now.requests:
        return words("quality.nothing")
    if not groups:
        return words("quality.clean", requests=formats.count(now.requests))
    return words(
        "quality.headline",
        share=formats.percent(_billed_share(usage)),
        requests=formats.count(now.requests),
        kinds=len(groups),
        amount=formats.money(now.at_risk, now.currency),
    )


def _group(page: Page, group: Group, place: int) -> None:
    words, formats = page.words, page.formats
    risk = formats.money(group.amount_max, group.currency) if group.amount_max else ""
    count = words("findings.count", count=formats.count(group.requests))
    with st.container(border=True):
        head = f"**{kind_text(words, group)}** · {count}"
        st.markdown(f"{head} · :red[**{risk}**]" if risk else head)
        st.caption(remedy_text(words, group))
        with st.expander(words("quality.rows", count=len(group.members))):
            columns = [
                Column("tenant_id", words("column.tenant")),
                Column("model_id", words("column.model")),
                Column("node_id", words("column.server")),
                Column("field", words("column.field")),
                Column("requests", words("column.requests"), "count"),
                Column("input_tokens", words("column.input_tokens"), "count"),
                Column("output_tokens", words("column.output_tokens"), "count"),
                Column(
                    "amount_max", words("column.at_risk", currency=group.currency or ""), "money"
                ),
                Column("last_at", words("column.last"), "moment"),
            ]
            rows = list(group.members[:MEMBERS_MAX])
            name = f"finding-{place}-{group.reason}"
            picked = table(page, rows, columns, name=name, currency=group.currency, choose=FINDING)
            if picked:
                _accept(page, picked)


def _accept(page: Page, row: Row) -> None:
    words = page.words
    with st.form(f"accept_{row['finding_id']}"):
        reason = st.text_input(words("quality.reason"), max_chars=500)
        if st.form_submit_button(words("quality.accept")) and reason.strip():
            body = {"decision": "accepted", "reason": reason.strip(), "tenant_id": row["tenant_id"]}
            page.reader.client().post(f"/v1/findings/{row['finding_id']}/decisions", body)
            _again(words("quality.accepted"))


def _accepted(page: Page, rows: Sequence[Row]) -> None:
    words = page.words
    with st.expander(words("quality.accepted_rows", count=len(rows))):
        columns = [
            Column("reason", words("column.reason")),
            Column("tenant_id", words("column.tenant")),
            Column("requests", words("column.requests"), "count"),
            Column("decision_reason", words("column.why")),
            Column("decided_by", words("column.by")),
            Column("decided_at", words("column.time"), "moment"),
        ]
        table(page, list(rows), columns, name="accepted")


def _quarantine(page: Page) -> None:
    words = page.words
    st.markdown(f"##### {words('quality.quarantine')}")
    (answer,) = page.reader.read(ask("/v1/quarantine", rows=False, limit=MEMBERS_MAX))
    rows = [row | {"received_at": instant(row["received_at"])} for row in answer["items"]]
    if not rows:
        st.caption(words("quality.quarantine_empty"))
        return
    columns = [
        Column("received_at", words("column.time"), "moment"),
        Column("kind", words("column.kind")),
        Column("field", words("column.field")),
        Column("reason", words("column.reason")),
        Column("node_id", words("column.server")),
        Column("tenant_id", words("column.tenant")),
        Column("sender", words("column.sender")),
    ]
    picked = table(page, rows, columns, name="quarantine", choose=RECORD)
    if picked:
        st.code(picked["record"], language="json", wrap_lines=True)
        _discard(page, picked)


def _discard(page: Page, row: Row) -> None:
    words = page.words
    with st.form(f"discard_{row['quarantine_id']}"):
        decision = "kept_first" if row["kind"] == "conflict" else "discarded"
        reason = st.text_input(words("quality.reason"), max_chars=500)
        label = (
            words("quality.keep_first") if decision == "kept_first" else words("quality.discard")
        )
        if st.form_submit_button(label) and reason.strip():
            path = f"/v1/quarantine/{row['quarantine_id']}/decisions"
            page.reader.client().post(path, {"decision": decision, "reason": reason.strip()})
            _again(words("quality.accepted"))


def _again(text: str) -> None:
    forget()
    st.toast(text)
    st.rerun()
