"""Engine counters against metered usage, server by server."""

from typing import Any

import streamlit as st

from dashboard.formats import exact
from dashboard.page import Page, window
from dashboard.reads import ask
from dashboard.table import Column, table

Row = dict[str, Any]


def reconciliation(page: Page) -> None:
    """What the engines counted, what was metered, and the gap by cause."""
    words, formats = page.words, page.formats
    answer = page.reader.read(ask("/v1/reconciliation", rows=False, **window(page.filters.period)))[
        0
    ]
    rows = [
        row
        | {"causes": " · ".join(f"{c['cause'].replace('_', ' ')} {c['tokens']:,}"
                                for c in row["explained"] if c["tokens"])}
        | {name: exact(row[name]) for name in ("amount_min", "amount_max")}
        for row in answer["items"]
    ]  # fmt: skip
    st.markdown(f"##### {words('reconciled.title')}")
    counted = [row for row in rows if row["counted"] is not None]
    if not counted:
        st.caption(words("reconciled.none"))
        return
    tokens = sum(row["counted"] for row in counted)
    gap = sum(abs(row["gap"] or 0) for row in counted)
    share = formats.percent(1 - gap / tokens if tokens else None)
    st.caption(words("reconciled.share", share=share, servers=len(counted)))
    currency = counted[0]["currency"]
    columns = [
        Column("node_id", words("column.server")),
        Column("measure", words("reconciled.measure")),
        Column("counted", words("reconciled.counted"), "count"),
        Column("metered", words("reconciled.metered"), "count"),
        Column("gap", words("reconciled.gap"), "count"),
        Column("causes", words("reconciled.causes")),
        Column("amount_max", words("column.at_risk", currency=currency or ""), "money"),
    ]
    table(page, rows, columns, name="reconciliation", currency=currency)
