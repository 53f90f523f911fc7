"""Jobs: did what should run by itself run?"""

import json
from typing import Any

import streamlit as st

from dashboard.columns import Column
from dashboard.formats import instant
from dashboard.page import Page
from dashboard.reads import ask
from dashboard.table import table

Row = dict[str, Any]
RUNS_MAX = 200


def show(page: Page) -> None:
    """Draw the page."""
    words = page.words
    answer, health = page.reader.read(
        ask("/v1/jobs", rows=False, limit=RUNS_MAX), ask("/health/ready", rows=False)
    )
    rows = [
        run
        | {name: instant(run[name]) for name in ("started_at", "finished_at")}
        | {"outcome": json.dumps(run["outcome"], ensure_ascii=False) if run["outcome"] else None}
        for run in answer["items"]
    ]
    failed = [row for row in rows if row["error"]]
    key = "jobs.failed" if failed else "jobs.fine" if rows else "jobs.none"
    st.subheader(words(key, failed=len(failed), runs=len(rows)), anchor=False)
    _health(page, health)
    if rows:
        columns = [
            Column("job", words("column.job")),
            Column("period", words("column.period")),
            Column("state", words("column.state")),
            Column("attempts", words("column.attempts"), "count"),
            Column("started_at", words("column.started"), "moment"),
            Column("finished_at", words("column.finished"), "moment"),
            Column("error", words("column.error")),
            Column("outcome", words("column.outcome")),
        ]
        table(page, rows, columns, name="jobs")
    _backup(page)


def _health(page: Page, health: Row) -> None:
    words, formats = page.words, page.formats
    details = health.get("details", {})
    figures = [
        (words("jobs.waiting"), formats.count(details.get("waiting_records"))),
        (words("jobs.unsettled"), formats.count(details.get("unsettled_legs"))),
        (words("jobs.pending"), formats.count(details.get("pending_legs"))),
        (words("jobs.settled"), formats.clock(instant(details.get("last_settlement_at")))),
    ]
    for place, (label, value) in zip(st.columns(4), figures, strict=True):
        place.metric(label, value, border=True, height="stretch")
    if details.get("settlement_error"):
        st.error(words("jobs.settlement_error", error=details["settlement_error"]))


def _backup(page: Page) -> None:
    words = page.words
    if "/v1/keys" not in page.rights:  # the operator alone writes jobs
        return
    st.markdown(f"##### {words('jobs.backup')}")
    st.caption(words("jobs.backup_help"))
    if st.button(words("jobs.back_up_now"), icon=":material/backup:"):
        made = page.reader.client().post("/v1/backups", {})
        st.success(words("jobs.backed_up", folder=made["folder"]))
