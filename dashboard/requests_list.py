"""Requests one by one; a click opens the story."""

import streamlit as st

from dashboard.columns import Column, Link
from dashboard.formats import exact, instant
from dashboard.page import Page, window
from dashboard.reads import ask
from dashboard.table import table

ROWS_MAX = 200


def requests_list(page: Page, *, tenant_id: str | None, project_id: str | None) -> None:
    """The first requests of the window; whose tenant is None are found among all."""
    words = page.words
    answer = page.reader.read(
        ask(
            "/v1/requests",
            rows=False,
            **window(page.filters.period),
            tenant_id=tenant_id,
            project_id=project_id,
            model_id=page.filters.model,
            limit=ROWS_MAX,
        )
    )[0]
    rows = [
        item | {"billing_at": instant(item["billing_at"]), "amount": exact(item["amount"])}
        for item in answer["items"]
    ]
    owner = " / ".join(part for part in (tenant_id, project_id) if part) or words("unattributed")
    currency = next((row["currency"] for row in rows if row["currency"]), "")
    st.markdown(f"##### {words('requests.title', owner=owner)}")
    if answer["next_cursor"]:
        st.caption(words("requests.first", count=ROWS_MAX))
    columns = [
        Column("billing_at", words("column.time"), "moment"),
        Column("model_id", words("column.model")),
        Column("disposition", words("column.disposition")),
        Column("amount", words("column.amount", currency=currency), "fine"),
        Column("uncached_tokens", words("column.uncached_tokens"), "count"),
        Column("cached_tokens", words("column.cached_tokens"), "count"),
        Column("output_tokens", words("column.output_tokens"), "count"),
        Column("flags", words("column.flags")),
        Column("request_id", words("column.request")),
    ]
    picked = table(page, rows, columns, name="requests", choose=Link("request", ("request_id",)))
    if picked:  # it stands in the URL now, which opens its story
        st.rerun()
