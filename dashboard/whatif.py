"""What the window's tokens would have earned at other prices: exact, for reading."""

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import streamlit as st

from dashboard.formats import change
from dashboard.page import Page
from dashboard.summary import LINES, line_money, line_tokens, summary, total

Row = dict[str, Any]
PRICE_MAX = Decimal(10) ** 9


def what_if(page: Page, rows: Sequence[Row]) -> None:
    """Three prices to change, and what the same tokens earn at them. rows: of /v1/usage."""
    words, formats = page.words, page.formats
    now = summary(rows)
    billed = [
        row for row in rows
        if row["disposition"] == "billed" and row["currency"] == now.currency
    ]  # fmt: skip
    tokens = {line: sum(line_tokens(row, line) for row in billed) for line in LINES}
    if not any(tokens.values()):
        return
    st.markdown(f"##### {words('what_if.title')}")
    names = {
        "uncached": words("line.uncached"), "cached": words("line.cached"),
        "output": words("line.output"),
    }  # fmt: skip
    asked: dict[str, Decimal | None] = {}
    with st.container(horizontal=True, vertical_alignment="bottom", key="what_if"):
        for line, name in names.items():
            mean = _mean(total(line_money(row, line) for row in billed), tokens[line])
            label = words("what_if.price", line=name, currency=now.currency or "")
            text = st.text_input(
                label, f"{mean:f}", key=f"what_if_{line}", width=220, bind="query-params"
            )
            asked[line] = price_of(text)
    if None in asked.values():
        st.warning(words("what_if.invalid"))
        return
    amount = revenue_at(tokens, asked)
    moved = change(amount, now.amount)
    st.markdown(
        words(
            "what_if.answer",
            amount=f"**{formats.money(amount, now.currency)}**",
            now=formats.money(now.amount, now.currency),
            share=formats.percent(moved, signed=True),
        )
    )
    st.caption(words("what_if.note"))


def revenue_at(tokens: Mapping[str, int], prices: Mapping[str, Decimal | None]) -> Decimal:
    """Σ tokens × price ÷ 10⁶, exact. prices: per million tokens, by line."""
    return sum(
        ((prices[line] or Decimal(0)) * count for line, count in tokens.items()), Decimal(0)
    ).scaleb(-6)


def price_of(text: str) -> Decimal | None:
    """A price typed by a person; None for what is none."""
    try:
        value = Decimal(text.strip())
    except InvalidOperation:
        return None
    return value if value.is_finite() and 0 <= value <= PRICE_MAX else None


def _mean(amount: Decimal, tokens: int) -> Decimal:
    """The mean price per million tokens with four decimals, to start from."""
    if not tokens:
        return Decimal(0)
    return (amount * 10**6 / tokens).quantize(Decimal("0.0001")).normalize() + Decimal(0)
