"""Re-rates of a closed month: what was corrected, for whom, and trying and booking one more."""

from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import quote

import streamlit as st

from dashboard.columns import Column, Link
from dashboard.formats import exact, instant
from dashboard.page import Page
from dashboard.reads import ask, forget
from dashboard.summary import total
from dashboard.table import table

Row = dict[str, Any]
ROUTE: Final = "/v1/rerates"
MAY_RERATE: Final = "/v1/audit"  # finance and operators may read it, and re-rate
RERATE: Final = Link("rerate", ("rerate_id",))
AMOUNTS: Final = ("amount_before", "amount_after", "difference")
ROWS_MAX: Final = 500
SECONDS_MAX: Final = 900.0  # 10 million requests take six minutes
REASON_MAX: Final = 500


def rerates(page: Page, month: str, closed: Sequence[str]) -> None:
    """Those of `month` (YYYY-MM), and a form for the tenants whose month is closed."""
    if ROUTE not in page.rights:
        return
    words = page.words
    (answer,) = page.reader.read(ask(ROUTE, rows=False, limit=ROWS_MAX))
    rows = [_typed(row) for row in answer["items"] if row["month"].startswith(month)]
    may = bool(closed) and MAY_RERATE in page.rights
    if not rows and not may:
        return
    st.markdown(f"##### {words('rerate.title', month=month)}")
    if rows:
        _list(page, rows)
    else:
        st.caption(words("rerate.none"))
    if may:
        with st.expander(words("rerate.form"), icon=":material/restart_alt:"):
            _form(page, month, closed)


def _typed(row: Row) -> Row:
    tenants = ", ".join(row["tenants"]) if row["tenants"] else None
    return row | {"requested_at": instant(row["requested_at"]), "tenants": tenants}


def _list(page: Page, rows: Sequence[Row]) -> None:
    words = page.words
    everybody = words("rerate.everybody")
    columns = [
        Column("requested_at", words("column.time"), "moment"),
        Column("reason", words("column.reason")),
        Column("tenants", words("column.tenant")),
        Column("requested_by", words("column.by")),
    ]
    shown = [row | {"tenants": row["tenants"] or everybody} for row in rows]
    picked = table(page, shown, columns, name="rerates", choose=RERATE)
    if picked is None:
        st.caption(words("rerate.click"))
        return
    path = f"{ROUTE}/{quote(picked['rerate_id'], safe='')}"
    (found,) = page.reader.read(ask(path, rows=False))
    _effects(page, found["items"], name="rerate-effects")


def _effects(page: Page, items: Sequence[Row], *, name: str) -> None:
    """What changes for each tenant; every digit, since later invoices charge it."""
    words, formats = page.words, page.formats
    if not items:
        st.caption(words("rerate.same"))
        return
    rows = [row | {field: exact(row[field]) for field in AMOUNTS} for row in items]
    for currency in sorted({row["currency"] for row in rows if row["currency"]}):
        moved = total(row["difference"] for row in rows if row["currency"] == currency)
        st.markdown(words("rerate.sum", amount=f"**{formats.money_exact(moved, currency)}**"))
    columns = [
        Column("tenant_id", words("column.tenant")),
        Column("currency", words("column.currency")),
        Column("requests", words("column.requests"), "count"),
        Column("amount_before", words("column.before"), "fine"),
        Column("amount_after", words("column.after"), "fine"),
        Column("difference", words("column.difference"), "fine", words("rerate.difference")),
    ]
    table(page, rows, columns, name=name)


def _form(page: Page, month: str, closed: Sequence[str]) -> None:
    """A trial first; what it would book is seen before it is booked."""
    words, kept = page.words, f"rerate_{month}"
    st.caption(words("rerate.help"))
    with st.form(f"rerate_form_{month}", border=False):
        reason = st.text_input(words("quality.reason"), max_chars=REASON_MAX)
        tenants = st.multiselect(words("rerate.tenants"), sorted(closed),
                                 placeholder=words("rerate.everybody"))  # fmt: skip
        policies = st.checkbox(words("rerate.policies"))
        tried = st.form_submit_button(words("rerate.try"), icon=":material/science:")
    if tried and not reason.strip():
        st.warning(words("rerate.why"))
        return
    if tried:
        body = {"month": month, "reason": reason.strip(), "tenants": tenants or None,
                "policies": policies}  # fmt: skip
        st.session_state[kept] = body, _post(page, body | {"trial": True})
    if kept not in st.session_state:
        return
    body, trial = st.session_state[kept]
    st.markdown(words("rerate.would", reason=body["reason"]))
    _effects(page, trial["items"], name="rerate-trial")
    label = words("rerate.book", month=month)
    if trial["items"] and st.button(
        label, type="primary", icon=":material/published_with_changes:"
    ):
        made = _post(page, body)
        del st.session_state[kept]
        forget()
        st.query_params[RERATE.param] = made["rerate_id"]
        st.rerun()


def _post(page: Page, body: Row) -> Row:
    """The answer, however long it takes."""
    with (
        st.spinner(page.words("rerate.runs")),
        page.reader.patient_client(SECONDS_MAX) as client,
    ):
        return client.post(ROUTE, body)
