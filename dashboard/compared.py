"""Rows and amounts beside those of the window before."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import streamlit as st

from dashboard.columns import Column
from dashboard.formats import change
from dashboard.formulas import CHANGE, LEDGER
from dashboard.page import Page
from dashboard.summary import total

Row = dict[str, Any]


def compared(
    page: Page, rows: Sequence[Row], before: Sequence[Row], *, by: tuple[str, ...]
) -> list[Row]:
    """`rows` with the amount of the window before and the change; as they are without one."""
    if page.filters.before is None:
        return list(rows)
    amounts: dict[tuple[Any, ...], Decimal] = {}
    for row in before:
        key = tuple(row.get(name) for name in by)
        amounts[key] = total([amounts.get(key), row.get("amount")])
    found = []
    for row in rows:
        earlier = amounts.get(tuple(row.get(name) for name in by))
        moved = change(row.get("amount"), earlier)
        found.append(row | {"amount_before": earlier, "change": moved})
    return found


def compared_columns(page: Page) -> list[Column]:
    """The two columns of a comparison; none where there is none."""
    words, before = page.words, page.filters.before
    if before is None:
        return []
    first, last = page.formats.moment(before.start_at), page.formats.moment(before.end_at)
    window = words("compared.window", first=first, last=last)
    return [
        Column("amount_before", words("compared.before"), "money", window, formula=LEDGER),
        Column("change", words("compared.change"), "change", window, formula=CHANGE),
    ]


def change_line(page: Page, shown: str | None, moved: str | None = None) -> None:
    """One line: what the window before had, and by how much this one differs. shown: as text."""
    words, before = page.words, page.filters.before
    if before is None or shown is None:
        return
    first, last = page.formats.moment(before.start_at), page.formats.moment(before.end_at)
    text = words("compared.line", amount=shown, first=first, last=last)
    st.caption(f"{text} ({moved})" if moved else text)


def money_line(page: Page, now: Decimal, before: Decimal, currency: str | None) -> None:
    """The same for money."""
    formats, moved = page.formats, change(now, before)
    share = None if moved is None else formats.percent(moved, signed=True)
    change_line(page, formats.money(before, currency), share)
