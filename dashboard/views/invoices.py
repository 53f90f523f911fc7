"""Invoices and close: what blocks the close of the month, and what was issued?"""

from datetime import timedelta
from typing import Any, Final
from urllib.parse import quote

import streamlit as st

from dashboard.close import close_form
from dashboard.formats import exact, instant
from dashboard.page import Page
from dashboard.reads import ask
from dashboard.summary import total
from dashboard.table import Column, table

Row = dict[str, Any]
ROWS_MAX: Final = 500
AMOUNTS: Final = ("net_amount", "tax_amount", "gross_amount", "exact_amount")


def show(page: Page) -> None:
    """Draw the page for the month in which the window begins."""
    words, formats = page.words, page.formats
    month = f"{page.filters.period.start_at.astimezone(page.filters.zone):%Y-%m}"
    (answer,) = page.reader.read(
        ask("/v1/invoices", rows=False, month=month, tenant_id=page.filters.tenant, limit=ROWS_MAX)
    )
    rows = [_typed(row) for row in answer["items"]]
    valid = [row for row in rows if row["state"] != "void"]
    drafts = [row for row in valid if row["state"] == "draft"]
    currencies = sorted({row["currency"] for row in valid})
    sums = " + ".join(
        formats.money(total(r["gross_amount"] for r in valid if r["currency"] == each), each)
        for each in currencies
    )
    key = "invoices.headline" if valid else "invoices.none"
    text = words(key, month=month, documents=len(valid), drafts=len(drafts), amount=sums)
    st.subheader(text, anchor=False)
    if "/v1/audit" in page.rights:  # finance and operators may close
        close_form(page, month)
    if rows:
        _documents(page, rows)


def _typed(row: Row) -> Row:
    return (
        row
        | {name: exact(row[name]) for name in AMOUNTS}
        | {name: instant(row[name]) for name in ("made_at", "issued_at", "paid_at")}
    )


def _documents(page: Page, rows: list[Row]) -> None:
    words = page.words
    st.markdown(f"##### {words('invoices.documents')}")
    columns = [
        Column("number", words("column.number")),
        Column("kind", words("column.kind")),
        Column("tenant_id", words("column.tenant")),
        Column("state", words("column.state")),
        Column("payment", words("column.payment")),
        Column("currency", words("column.currency")),
        Column("net_amount", words("column.net"), "money"),
        Column("tax_amount", words("column.tax"), "money"),
        Column("gross_amount", words("column.gross"), "money"),
        Column("due_on", words("column.due")),
        Column("issued_at", words("column.issued"), "moment"),
    ]
    picked = table(page, rows, columns, name="invoices", choose=True)
    if picked:
        _document(page, picked)
    else:
        st.caption(words("invoices.click"))


def _document(page: Page, row: Row) -> None:
    words, formats = page.words, page.formats
    path = f"/v1/invoices/{quote(row['number'], safe='')}"
    (found,) = page.reader.read(ask(path, rows=False))
    gross = formats.money(row["gross_amount"], row["currency"])
    st.markdown(f"##### {row['number']} · {row['tenant_id']} · {gross}")
    lines = [
        line | {name: exact(line[name]) for name in ("unit_price", "amount", "rounded_amount")}
        for line in found["lines"]
    ]
    columns = [
        Column("kind", words("column.kind")),
        Column("model_id", words("column.model")),
        Column("line", words("column.line")),
        Column("tokens", words("column.tokens"), "count"),
        Column("unit_price", words("column.unit_price", currency=row["currency"]), "fine"),
        Column("amount", words("column.exact", currency=row["currency"]), "fine"),
        Column("rounded_amount", words("column.amount", currency=row["currency"]), "money"),
        Column("entry", words("story.entry")),
    ]
    table(page, lines, columns, name="invoice-lines", currency=row["currency"])
    _actions(page, row, path)


def _actions(page: Page, row: Row, path: str) -> None:
    words = page.words
    with st.container(horizontal=True):
        if st.button(words("invoices.verify"), icon=":material/verified:"):
            found = page.reader.client().get(f"{path}/verification")
            faults = [fault for check in found["checks"] for fault in check["faults"]]
            if found["is_whole"]:
                st.success(words("invoices.whole", checks=len(found["checks"])))
            else:
                st.error("  \n".join(faults))
        if row["state"] == "draft" and "/v1/audit" in page.rights:
            if st.button(words("invoices.issue"), icon=":material/approval:", type="primary"):
                page.reader.client().post(f"{path}/issue", {})
                st.cache_data.clear()
                st.rerun()
            st.caption(words("invoices.issue_help"))
        if row["issued_at"] and row["issued_at"] < page.now + timedelta(days=1):
            st.caption(words("invoices.bytes", path=f"GET {path}/documents/pdf"))
