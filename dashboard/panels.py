"""The panels of the overview: over time, servers, tenants, findings."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

import streamlit as st

from dashboard import charts
from dashboard.choices import choice_from_url, choice_to_url
from dashboard.columns import Column
from dashboard.downloads import downloads
from dashboard.findings import grouped, kind_text, remedy_text
from dashboard.formats import change
from dashboard.formulas import LEDGER, heading
from dashboard.page import Page
from dashboard.summary import LINES, Summary, line_money, line_tokens, total

Row = dict[str, Any]
LINE_WORDS: Final = {"uncached": "line.uncached", "cached": "line.cached", "output": "line.output"}
STAGE_LETTERS: Final = {"prefill": "P", "decode": "D", "unified": "U", "gateway": "G"}
STAGE_PLACES: Final = {stage: place for place, stage in enumerate(STAGE_LETTERS)}
TENANTS_SHOWN: Final = 10
FINDINGS_SHOWN: Final = 5


def over_time(page: Page, rows: Sequence[Row], now: Summary) -> None:
    """Money or tokens by hour or day, one line above the other."""
    words, formats, colours = page.words, page.formats, page.palette
    kinds = {"money": words("over_time.money"), "tokens": words("over_time.tokens")}
    with st.container(horizontal=True, vertical_alignment="center", key="over_time_head"):
        st.markdown(f"##### {words('over_time.title')}")
        choice_from_url("show", kinds, "money")
        kind = st.segmented_control(
            words("over_time.show"), list(kinds), required=True, key="show",
            format_func=kinds.__getitem__, label_visibility="collapsed",
        )  # fmt: skip
        choice_to_url("show", "money")
    money = kind != "tokens"
    billed = [r for r in rows if r["disposition"] == "billed" and r["currency"] == now.currency]
    data, items = [], []
    for order, line in enumerate(LINES):
        name, colour = words(LINE_WORDS[line]), getattr(colours, line)
        values = [(r, line_money(r, line) if money else line_tokens(r, line)) for r in billed]
        whole = total(value for _, value in values)
        shown = formats.money_short(whole, now.currency) if money else formats.short(whole)
        items.append((colour, name, shown))
        data += [_bar(page, row, (name, order), value, now if money else None)
                 for row, value in values]  # fmt: skip
    unit = formats.sign(now.currency).strip() if money else words("unit.tokens")
    by_day = page.filters.period.interval == "day"
    charts.colour_key(words("unit.a_day" if by_day else "unit.an_hour", unit=unit), items, colours)
    chart = charts.stacked(
        data,
        series=[name for _, name, _ in items],
        colours=[colour for colour, _, _ in items],
        ticks=formats.ticks(by_day=by_day),
        axis=formats.axis(),
    )
    charts.draw(chart, colours, key="over_time", alt_text=words("over_time.title"))
    _over_time_files(page, billed, now)


def _over_time_files(page: Page, billed: Sequence[Row], now: Summary) -> None:
    words = page.words
    columns = [
        Column("start_at", words("column.time"), "moment"),
        *(Column(f"{line}_amount", f"{words(text)}, {now.currency}", "money")
          for line, text in LINE_WORDS.items()),
        *(Column(f"{line}_tokens", f"{words(text)}, {words('unit.tokens')}", "count")
          for line, text in LINE_WORDS.items()),
    ]  # fmt: skip
    filed = [
        row | {f"{line}_amount": line_money(row, line) for line in LINES}
        | {f"{line}_tokens": line_tokens(row, line) for line in LINES}
        for row in billed
    ]  # fmt: skip
    downloads(page, filed, columns, "over-time")


def _bar(page: Page, row: Row, series: tuple[str, int], value: Any, now: Summary | None) -> Row:
    formats = page.formats
    local = row["start_at"].astimezone(page.filters.zone).replace(tzinfo=None)
    until = row["end_at"].astimezone(page.filters.zone).replace(tzinfo=None)
    return {
        "at": local,
        "until": until,
        "series": series[0],
        "order": series[1],
        "value": float(value),
        "shown": formats.money_exact(value, now.currency) if now else formats.count(value),
        "when": formats.moment(row["start_at"]),
    }


def stage_order(row: Row) -> tuple[int, str]:
    """Prefill before decode, then by name."""
    return STAGE_PLACES.get(row["stage"], len(STAGE_PLACES)), str(row["node_id"])


def servers_bars(page: Page, rows: Sequence[Row], currency: str | None) -> None:
    """What the ledger says each server earned, with the formula's mark."""
    words, formats, colours = page.words, page.formats, page.palette
    heading(words, words("servers.earned"), LEDGER)
    own = sorted((row for row in rows if row["currency"] == currency), key=stage_order)
    if not own:
        st.caption(words("servers.none"))
        return
    stages = {"prefill": colours.uncached, "decode": colours.output}
    data = [
        {
            "name": f"{STAGE_LETTERS.get(row['stage'], '')} {row['node_id'] or words('unnamed')}",
            "value": float(row["amount"]),
            "tick": float(row["formula"]),
            "label": formats.money(row["amount"], row["currency"]),
            "hover": words(
                "servers.hover",
                ledger=formats.money_exact(row["amount"], row["currency"]),
                formula=formats.money_exact(row["formula"], row["currency"]),
                difference=formats.money_exact(row["difference"], row["currency"]),
            ),
            "kind": row["stage"],
        }
        for row in own
    ]
    kinds = {row["stage"]: stages.get(row["stage"], colours.accent) for row in own}
    chart = charts.bars(data, palette=colours, tick="formula", colours=kinds)
    charts.draw(chart, colours, key="servers_bars", alt_text=words("servers.earned"))
    off = [row for row in own if row["difference"]]
    st.caption(words("servers.agree") if not off else words("servers.differ", servers=len(off)))


def tenants_bars(page: Page, rows: Sequence[Row], before: Sequence[Row], now: Summary) -> None:
    """The ten tenants that paid most, their share and change. rows, before: of /v1/usage."""
    words, formats, colours = page.words, page.formats, page.palette
    st.markdown(f"##### {words('tenants.top')}")
    amounts, earlier = _by_tenant(rows, now), _by_tenant(before, now)
    if not amounts:
        st.caption(words("tenants.none"))
        return
    whole = total(amounts.values())
    ranked = sorted(amounts, key=lambda name: (-amounts[name], name or ""))
    data = []
    for tenant in ranked[:TENANTS_SHOWN]:
        amount = amounts[tenant]
        parts = [formats.money(amount, now.currency)]
        parts += [formats.percent(amount / whole)] if whole else []
        moved = change(amount, earlier.get(tenant))
        parts += [formats.percent(moved, signed=True)] if moved is not None else []
        data.append({
            "name": tenant or words("unattributed"),
            "value": float(amount),
            "label": "  ·  ".join(parts),
            "hover": formats.money_exact(amount, now.currency),
            "kind": "",
        })  # fmt: skip
    charts.draw(
        charts.bars(data, palette=colours), colours, key="tenants_bars",
        alt_text=words("tenants.top"),
    )  # fmt: skip
    rest = ranked[TENANTS_SHOWN:]
    if rest:
        others = formats.money(total(amounts[name] for name in rest), now.currency)
        st.caption(words("tenants.rest", tenants=len(rest), amount=others))


def _by_tenant(rows: Sequence[Row], now: Summary) -> Mapping[str | None, Decimal]:
    amounts: dict[str | None, Decimal] = {}
    for row in rows:
        if row["disposition"] == "billed" and row["currency"] == now.currency:
            name = row["tenant_id"]
            amounts[name] = total([amounts.get(name), row["amount"]])
    return amounts


def findings_list(page: Page, rows: Sequence[Row]) -> None:
    """What needs a person, worst first, each with what to do."""
    words, formats = page.words, page.formats
    st.markdown(f"##### {words('findings.title')}")
    groups = grouped(rows)
    if not groups:
        st.success(words("findings.none"), icon=":material/check_circle:")
        return
    for group in groups[:FINDINGS_SHOWN]:
        risk = formats.money(group.amount_max, group.currency) if group.amount_max else ""
        with st.container(border=True, gap=None):
            head = f"**{kind_text(words, group)}**"
            st.markdown(f"{head} :red[**{risk}**]" if risk else head)
            st.caption(
                words("findings.count", count=formats.count(group.requests))
                + " · " + remedy_text(words, group)
            )  # fmt: skip
    if len(groups) > FINDINGS_SHOWN:
        st.caption(words("findings.more", count=len(groups) - FINDINGS_SHOWN))
