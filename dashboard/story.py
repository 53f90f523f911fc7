"""One request: its legs on a time line, its lines of money, the price and why."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import quote

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import charts
from dashboard.columns import Column
from dashboard.formats import exact, instant
from dashboard.page import Page
from dashboard.reads import ask
from dashboard.table import table

Row = dict[str, Any]
LINES: Final = {
    "input": "story.input", "uncached_input": "story.input", "cached_input": "story.cached_input",
    "cached": "story.cached_input",
    "cached_explicit": "story.cached_explicit", "cache_write": "story.cache_write",
    "cache_write_1h": "story.cache_write_1h", "output": "story.output",
    "reasoning": "story.reasoning",
}  # fmt: skip


def story(page: Page, request_id: str) -> None:
    """Draw the story, and the way back."""
    words, formats = page.words, page.formats
    if st.button(words("story.back"), icon=":material/arrow_back:", type="tertiary"):
        del st.query_params["request"]
        st.rerun()
    found = page.reader.read(ask(f"/v1/requests/{quote(request_id, safe='')}", rows=False))[0]
    owner = " / ".join(x for x in (found["tenant_id"], found["project_id"]) if x)
    key = "story.billed" if found["disposition"] == "billed" else "story.not_billed"
    st.subheader(
        words(
            key,
            amount=formats.money_exact(exact(found["amount"]), found["currency"]),
            owner=owner or words("unattributed"),
            reason=(found["reason"] or found["disposition"]).replace("_", " "),
            model=found["model_id"],
            at=formats.moment(instant(found["billing_at"])),
        ),
        anchor=False,
    )
    st.caption(found["request_id"])
    if found["flags"]:
        st.markdown(" ".join(f":orange-badge[{flag.replace('_', ' ')}]" for flag in found["flags"]))
    _time_line(page, found["legs"])
    left, right = st.columns([3, 2], gap="large")
    with left:
        _lines(page, found)
    with right:
        _price(page, found["price"])
    _legs(page, found)


def _spans(page: Page, legs: Sequence[Row]) -> list[Row]:
    """What each engine worked on, in seconds from the first start; prefill before decode."""
    words, formats = page.words, page.formats
    timed = [
        (leg, start, end) for leg in legs
        if (start := instant(leg["started_at"])) and (end := instant(leg["finished_at"]))
    ]  # fmt: skip
    zero = min((start for _, start, _ in timed), default=None)
    spans: list[Row] = []
    for leg, start, end in sorted(timed, key=lambda each: each[2]):
        if zero is None:
            break
        if leg["stage"] == "decode" and leg["ttft_seconds"]:  # until then it waited for the KV
            start = min(start + timedelta(seconds=leg["ttft_seconds"]), end)  # noqa: PLW2901
        name = f"{leg['stage']} {leg['node_id'] or ''}".strip()
        spans.append(_span(name, leg["stage"], zero, (start, end)))
        if transfer := leg["kv_transfer_seconds"]:
            after = (end, end + timedelta(seconds=transfer))
            spans.append(_span(words("story.kv"), "kv", zero, after))
    return [span | {"label": formats.seconds(span["seconds"])} for span in spans]


def _span(name: str, kind: str, zero: datetime, ends: tuple[datetime, datetime]) -> Row:
    begin, until = ((at - zero).total_seconds() for at in ends)
    return {"name": name, "kind": kind, "from": begin, "until": until, "seconds": until - begin}


def _time_line(page: Page, legs: Sequence[Row]) -> None:
    words, palette = page.words, page.palette
    spans = _spans(page, legs)
    if not spans:
        return
    st.markdown(f"##### {words('story.time_line')}")
    data = pd.DataFrame(spans)
    colours = {
        "prefill": palette.uncached, "decode": palette.output, "kv": palette.cached,
        "unified": palette.accent, "gateway": palette.cost,
    }  # fmt: skip
    kinds = {kind: colours.get(kind, palette.accent) for kind in data["kind"].unique()}
    whole = max(float(data["until"].max()), 0.001)
    base = alt.Chart(data, height=34 * data["name"].nunique() + 30).encode(
        y=alt.Y("name:N", sort=None, title=None, axis=alt.Axis(domain=False, ticks=False)),
        x=alt.X(
            "from:Q",
            title=words("unit.seconds"),
            scale=alt.Scale(domain=[0, whole * 1.2], nice=False),
            axis=alt.Axis(grid=False),
        ),
        tooltip=[alt.Tooltip("name:N", title=" "), alt.Tooltip("label:N", title="  ")],
    )
    chart = charts.layered(
        base.mark_bar(height=16, cornerRadius=2).encode(
            x2="until:Q",
            color=alt.Color(
                "kind:N",
                scale=alt.Scale(domain=list(kinds), range=list(kinds.values())),
                legend=None,
            ),
        ),
        base.mark_text(align="left", dx=6, color=palette.ink).encode(x="until:Q", text="label:N"),
    )
    charts.draw(chart, palette, key="time_line", alt_text=words("story.time_line"))


def _lines(page: Page, found: Row) -> None:
    words = page.words
    st.markdown(f"##### {words('story.lines')}")
    rows = [
        {
            "line": words(LINES[line["line"]]) if line["line"] in LINES else line["line"],
            "tokens": line["tokens"],
            "unit_price": exact(line["unit_price"]),
            "amount": exact(line["amount"]),
            "node_id": line["node_id"],
        }
        for line in found["lines"]
    ]
    money = found["currency"] or ""
    columns = [
        Column("line", words("column.line")),
        Column("tokens", words("column.tokens"), "count"),
        Column("unit_price", words("column.unit_price", currency=money), "fine"),
        Column("amount", words("column.amount", currency=money), "fine"),
        Column("node_id", words("column.earned_by")),
    ]
    table(page, rows, columns, name="lines", currency=found["currency"])


def _price(page: Page, price: Row) -> None:
    words = page.words
    st.markdown(f"##### {words('story.price')}")
    if not price:
        st.caption(words("story.no_price"))
        return
    known = {
        "book": words("story.book"), "book_revision": words("story.revision"),
        "entry": words("story.entry"), "context_tier": words("story.context_tier"),
        "band": words("story.band"), "contract": words("story.contract"),
    }  # fmt: skip
    for name, value in price.items():
        st.markdown(f"{known.get(name, name)}: `{value}`")


def _legs(page: Page, found: Row) -> None:
    words = page.words
    st.markdown(f"##### {words('story.legs')}")
    times = ("started_at", "finished_at")
    rows = [leg | {name: instant(leg[name]) for name in times} for leg in found["legs"]]
    columns = [
        Column("stage", words("column.stage")),
        Column("node_id", words("column.server")),
        Column("status", words("column.status")),
        Column("started_at", words("column.started"), "moment"),
        Column("finished_at", words("column.finished"), "moment"),
        Column("input_tokens", words("column.input_tokens"), "count"),
        Column("cached_input_tokens", words("column.cached_tokens"), "count"),
        Column("output_tokens", words("column.output_tokens"), "count"),
        Column("source", words("column.source")),
        Column("source_position", words("column.position")),
    ]
    table(page, rows, columns, name="legs")
    st.markdown(f"##### {words('story.history')}")
    history = [
        row | {"settled_at": instant(row["settled_at"]), "amount": exact(row["amount"])}
        for row in found["history"]
    ]
    columns = [
        Column("settled_at", words("column.time"), "moment"),
        Column("revision", words("column.revision"), "count"),
        Column("sign", words("column.sign"), "count"),
        Column("cause", words("column.cause")),
        Column("disposition", words("column.disposition")),
        Column("reason", words("column.reason")),
        Column("amount", words("column.amount", currency=found["currency"] or ""), "fine"),
    ]
    table(page, history, columns, name="history", currency=found["currency"])
