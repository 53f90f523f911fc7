"""Prices: what does a request pay, and where does that stand?"""

from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote

import streamlit as st

from dashboard.book_trial import book_trial
from dashboard.columns import Column, Link
from dashboard.formats import exact, instant
from dashboard.model_revenue import model_revenue
from dashboard.page import Page, rows_of
from dashboard.reads import ask
from dashboard.story import LINES
from dashboard.table import table
from dashboard.whatif import what_if

Row = dict[str, Any]
SIZES: Final = (  # tokens that are asked for at first
    ("uncached", "line.uncached", 8_000, 1_000), ("cached", "line.cached", 72_000, 1_000),
    ("output", "line.output", 500, 100),
)  # fmt: skip
BOOK: Final = Link("book", ("book", "revision"))


def show(page: Page) -> None:
    """Draw the page."""
    words = page.words
    period, before = page.filters.period, page.filters.before
    books, models, earlier = page.reader.read(
        ask("/v1/prices", rows=False, limit=500),
        page.usage(period, "model_id"),
        page.usage(before or period, "model_id"),
    )
    rows = [
        book | {name: instant(book[name]) for name in ("created_at", "published_at")}
        for book in books["items"]
    ]
    published = [row for row in rows if row["state"] == "published"]
    st.subheader(
        words("prices.headline", books=len({row["book"] for row in published})), anchor=False
    )
    if not rows:
        st.info(words("prices.empty"), icon=":material/sell:")
        return
    sold = rows_of(models)
    _quote(page, sorted({row["model_id"] for row in sold if row["model_id"]}))
    model_revenue(page, sold, rows_of(earlier) if before else [])
    what_if(page, sold)
    _books(page, rows)


def _quote(page: Page, models: list[str]) -> None:
    words = page.words
    st.markdown(f"##### {words('prices.quote')}")
    with st.container(horizontal=True, vertical_alignment="bottom"):
        model = st.selectbox(
            words("column.model"),
            models,
            accept_new_options=True,
            width=220,
            key="quote_model",
            bind="query-params",
        )
        sizes: dict[str, int] = {
            line: st.number_input(
                words(text), 0, 10**9, start, step, width=160, key=f"quote_{line}",
                bind="query-params",
            )
            for line, text, start, step in SIZES
        }  # fmt: skip
    if not model:
        st.caption(words("prices.choose"))
        return
    found = page.reader.read(
        ask(
            "/v1/prices/quote",
            rows=False,
            model_id=model,
            tenant_id=page.filters.tenant,
            input_tokens=sizes["uncached"] + sizes["cached"],
            output_tokens=sizes["output"],
        )
    )[0]
    if found["reason"]:
        reason = found["detail"] or found["reason"].replace("_", " ")
        st.warning(words("prices.no_price", model=model, reason=reason))
        return
    _answer(page, found, sizes)


def _answer(page: Page, found: Row, sizes: dict[str, int]) -> None:
    words, formats = page.words, page.formats
    unit = {name: exact(value) for name, value in found["per_million_tokens"].items()}
    parts = [
        (sizes["uncached"], unit.get("input")),
        (sizes["cached"], unit.get("cached_input", unit.get("cached"))),
        (sizes["output"], unit.get("output")),
    ]
    if any(tokens and price is None for tokens, price in parts):
        whole = None
    else:
        whole = sum(((price or Decimal(0)) * tokens for tokens, price in parts), Decimal(0))
    cost = formats.money_exact(None if whole is None else whole.scaleb(-6), found["currency"])
    st.markdown(words("prices.answer", amount=f"**{cost}**"))
    st.caption(
        words("prices.per_million")
        + ": "
        + " · ".join(
            f"{words(LINES[name])} {formats.money_exact(value, found['currency'])}"
            for name, value in unit.items()
        )
    )
    rules = " · ".join(f"{rule}: {name}" for rule, name in found["rules"].items())
    st.caption(f"{found['book']} #{found['book_revision']} · {rules}")


def _books(page: Page, rows: list[Row]) -> None:
    words = page.words
    st.markdown(f"##### {words('prices.books')}")
    columns = [
        Column("book", words("column.book")),
        Column("revision", words("column.revision"), "count"),
        Column("state", words("column.state")),
        Column("currency", words("column.currency")),
        Column("published_at", words("column.published"), "moment"),
        Column("published_by", words("column.by")),
    ]
    picked = table(page, rows, columns, name="books", choose=BOOK)
    if not picked:
        st.caption(words("prices.click"))
        return
    path = f"/v1/prices/{quote(picked['book'], safe='')}/{picked['revision']}"
    (found,) = page.reader.read(ask(path, rows=False))
    book_trial(page, found["toml_text"], key=f"{picked['book']}_{picked['revision']}")
