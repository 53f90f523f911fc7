"""What each model earned, beside the window before."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dashboard import charts
from dashboard.columns import Column
from dashboard.compared import compared, compared_columns, money_line
from dashboard.page import Page
from dashboard.summary import LINES, line_money, line_tokens, summary, total
from dashboard.table import table

Row = dict[str, Any]


def model_revenue(page: Page, rows: Sequence[Row], before: Sequence[Row]) -> None:
    """Bars with the mark of the window before, and a table. rows: of /v1/usage by model."""
    words, now = page.words, summary(rows)
    models = _models(rows, now.currency)
    if not models:
        return
    st.markdown(f"##### {words('model_revenue.title')}")
    money_line(page, now.amount, summary(before, now.currency).amount, now.currency)
    shown = compared(page, models, _models(before, now.currency), by=("model_id",))
    shown.sort(key=lambda row: (-row["amount"], row["model_id"] or ""))
    _bars(page, shown, now.currency)
    columns = [
        Column("model_id", words("column.model")),
        Column("amount", words("column.amount", currency=now.currency or ""), "money"),
        *compared_columns(page),
        Column("requests", words("column.requests"), "count"),
        *(Column(f"{line}_tokens", words(text), "count") for line, text in (
            ("uncached", "column.uncached_tokens"), ("cached", "column.cached_tokens"),
            ("output", "column.output_tokens"))),
        *(Column(f"{line}_amount", words(text), "money") for line, text in (
            ("uncached", "column.uncached_amount"), ("cached", "column.cached_amount"),
            ("output", "column.output_amount"))),
    ]  # fmt: skip
    table(page, shown, columns, name="models", currency=now.currency)


def _models(rows: Sequence[Row], currency: str | None) -> list[Row]:
    """Billed money and tokens of each model."""
    found: dict[str | None, list[Row]] = {}
    for row in rows:
        if row["disposition"] == "billed" and row["currency"] == currency:
            found.setdefault(row["model_id"], []).append(row)
    return [
        {
            "model_id": model,
            "amount": total(row["amount"] for row in own),
            "requests": sum(row["requests"] for row in own),
            **{f"{name}_tokens": sum(line_tokens(row, name) for row in own) for name in LINES},
            **{f"{name}_amount": total(line_money(row, name) for row in own) for name in LINES},
        }
        for model, own in found.items()
    ]


def _bars(page: Page, models: Sequence[Row], currency: str | None) -> None:
    words, formats, colours = page.words, page.formats, page.palette
    has_before = page.filters.before is not None
    data = []
    for row in models:
        hover = formats.money_exact(row["amount"], currency)
        if has_before:
            earlier = formats.money_exact(row["amount_before"], currency)
            hover += f" · {words('compared.before')} {earlier}"
        data.append({
            "name": row["model_id"] or words("unnamed"),
            "value": float(row["amount"]),
            "tick": float(row["amount_before"] or 0) if has_before else None,
            "label": formats.money(row["amount"], currency),
            "hover": hover,
            "kind": "",
        })  # fmt: skip
    tick = words("compared.before") if has_before else None
    charts.draw(
        charts.bars(data, palette=colours, tick=tick), colours, key="models_bars",
        alt_text=words("model_revenue.title"),
    )  # fmt: skip
    if has_before:
        st.caption(words("model_revenue.mark"))
