"""Invoices and close: what blocks the close of the month, and what was issued?"""

from datetime import timedelta
from functools import partial
from typing import Any, Final
from urllib.parse import quote

import streamlit as st

from dashboard.close import close_form
from dashboard.columns import Column, Link
from dashboard.formats import exact, instant
from dashboard.page import Page
from dashboard.reads import ask, forget
from dashboard.rerates import rerates
from dashboard.story import LINES
from dashboard.summary import total
from dashboard.table import table

Row = dict[str, Any]
DOCUMENT: Final = Link("document", ("number",))
ROUTE: Final = "/v1/invoices"
ROWS_MAX: Final = 500
FORMATS: Final = ("pdf", "xlsx")
AMOUNTS: Final = ("net_amount", "tax_amount", "gross_amount", "exact_amount")


def show(page: Page) -> None:
    """Draw the page for the month in which the window begins."""
    words = page.words
    start = page.filters.period.start_at.astimezone(page.filters.zone)
    month = f"{start:%Y-%m}"
    earlier = f"{start.replace(day=1) - timedelta(days=1):%Y-%m}"
    asked: Row = {"tenant_id": page.filters.tenant, "limit": ROWS_MAX}
    answer, before = page.reader.read(
        ask(ROUTE, rows=False, month=month, **asked),
        ask(ROUTE, rows=False, month=earlier, **asked),
    )
    rows = [_typed(row) for row in answer["items"]]
    valid = [row for row in rows if row["state"] != "void"]
    drafts = [row for row in valid if row["state"] == "draft"]
    key = "invoices.headline" if valid else "invoices.none"
    sums = _sums(page, valid)
    text = words(key, month=month, documents=len(valid), drafts=len(drafts), amount=sums)
    st.subheader(text, anchor=False)
    then = [_typed(row) for row in before["items"] if row["state"] != "void"]
    if then and page.filters.before:
        st.caption(words("invoices.before", month=earlier, amount=_sums(page, then),
                         documents=len(then)))  # fmt: skip
    closed = []
    if "/v1/audit" in page.rights:  # finance and operators may close
        closed = close_form(page, month)
    if rows:
        _documents(page, rows)
    rerates(page, month, closed)


def _sums(page: Page, rows: list[Row]) -> str:
    """Gross amounts, currency by currency."""
    formats = page.formats
    return " + ".join(
        formats.money(total(r["gross_amount"] for r in rows if r["currency"] == each), each)
        for each in sorted({row["currency"] for row in rows})
    )


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
    picked = table(page, rows, columns, name="invoices", choose=DOCUMENT)
    if picked:
        _document(page, picked)
    else:
        st.caption(words("invoices.click"))


def _document(page: Page, row: Row) -> None:
    words, formats = page.words, page.formats
    path = f"{ROUTE}/{quote(row['number'], safe='')}"
    (found,) = page.reader.read(ask(path, rows=False))
    gross = formats.money(row["gross_amount"], row["currency"])
    st.markdown(f"##### {row['number']} · {row['tenant_id']} · {gross}")
    lines = [
        line
        | {name: exact(line[name]) for name in ("unit_price", "amount", "rounded_amount")}
        | {"line": words(LINES[line["line"]]) if line["line"] in LINES else line["line"]}
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
                forget()
                st.rerun()
            st.caption(words("invoices.issue_help"))
        if row["issued_at"]:
            for ending in FORMATS:  # fetched at the click, never before it
                st.download_button(
                    ending.upper(),
                    partial(page.reader.client().get_bytes, f"{path}/documents/{ending}"),
                    f"{row['number']}.{ending}",
                    key=f"document_{ending}",
                    icon=":material/download:",
                    on_click="ignore",
                )
        else:
            st.caption(words("invoices.not_issued"))
