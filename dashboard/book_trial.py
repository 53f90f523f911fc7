"""A price book tried on the window: what each tenant and model would have paid, exact."""

from typing import Any, Final

import streamlit as st

from dashboard.columns import Column
from dashboard.formats import change, exact
from dashboard.page import Page, window
from dashboard.reads import ask
from dashboard.table import table

Row = dict[str, Any]
ROUTE: Final = "/v1/prices/what-if"
AMOUNTS: Final = ("amount_before", "amount_after", "difference")
TEXT_MAX: Final = 1_000_000


def book_trial(page: Page, text: str, *, key: str) -> None:
    """The book as text to change, and what the window would have earned under it."""
    words = page.words
    with st.form(f"trial_{key}"):
        changed = st.text_area(words("trial.text"), text, height=420, max_chars=TEXT_MAX)
        asked = st.form_submit_button(words("trial.run"), icon=":material/science:")
    st.caption(words("trial.note"))
    if asked:
        body = {"toml": changed, **window(page.filters.period)}
        (found,) = page.reader.read(ask(ROUTE, body=body))
        _answer(page, found)


def _answer(page: Page, found: Row) -> None:
    words, formats = page.words, page.formats
    for total in found["totals"]:
        before, after = exact(total["amount_before"]), exact(total["amount_after"])
        st.markdown(
            words(
                "what_if.answer",
                amount=f"**{formats.money_exact(after, total['currency'])}**",
                now=formats.money_exact(before, total["currency"]),
                share=formats.percent(change(after, before), signed=True),
            )
        )
    rows = [
        line | {name: exact(line[name]) for name in AMOUNTS}
        for line in found["items"]
        if exact(line["difference"])
    ]
    if not rows:
        st.caption(words("trial.same"))
        return
    columns = [
        Column("tenant_id", words("column.tenant")),
        Column("model_id", words("column.model")),
        Column("line", words("column.line")),
        Column("currency", words("column.currency")),
        Column("amount_before", words("column.before"), "money"),
        Column("amount_after", words("column.after"), "money"),
        Column("difference", words("column.difference"), "money"),
        Column("tokens_before", words("column.tokens"), "count"),
    ]
    table(page, rows, columns, name="trial")
