"""Engine counters against metered usage, server by server."""

from typing import Any

import streamlit as st

from dashboard.choices import choices_from_url, choices_to_url
from dashboard.columns import Column
from dashboard.formats import exact
from dashboard.page import Page, window
from dashboard.reads import ask
from dashboard.table import table

Row = dict[str, Any]


def reconciliation(page: Page) -> None:
    """What the engines counted, what was metered, and the gap by cause."""
    words, formats = page.words, page.formats
    asked, grain = window(page.filters.period), _grain(page)
    (answer,) = page.reader.read(ask("/v1/reconciliation", rows=False, **asked, by=grain))
    rows = [
        row
        | {"causes": " · ".join(f"{c['cause'].replace('_', ' ')} {c['tokens']:,}"
                                for c in row["explained"] if c["tokens"])}
        | {name: exact(row[name]) for name in ("amount_min", "amount_max")}
        for row in answer["items"]
    ]  # fmt: skip
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
        *([Column("hour_at", words("column.hour"), "moment")] if "hour" in grain else []),
        *([Column("model_id", words("column.model"))] if "model" in grain else []),
        Column("measure", words("reconciled.measure")),
        Column("counted", words("reconciled.counted"), "count"),
        Column("metered", words("reconciled.metered"), "count"),
        Column("gap", words("reconciled.gap"), "count"),
        Column("causes", words("reconciled.causes")),
        Column("amount_max", words("column.at_risk", currency=currency or ""), "money"),
    ]
    table(page, rows, columns, name="reconciliation", currency=currency)


def _grain(page: Page) -> list[str]:
    """Title, and what is told apart: models, and hours of a window that has few of them."""
    words = page.words
    kinds = {"hour": words("column.hour"), "model": words("column.model")}
    if page.filters.period.interval == "day":
        del kinds["hour"]
    with st.container(horizontal=True, vertical_alignment="center", key="reconciled_head"):
        st.markdown(f"##### {words('reconciled.title')}")
        choices_from_url("apart", kinds)
        chosen = st.pills(
            words("reconciled.by"), list(kinds), selection_mode="multi",
            format_func=kinds.__getitem__, label_visibility="collapsed", key="apart",
        )  # fmt: skip
        choices_to_url("apart")
    return list(chosen)
