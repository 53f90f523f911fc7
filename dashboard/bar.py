"""The filter bar: window, comparison, model, pool, tenant; kept in the URL."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import chain
from typing import Any, Final

import streamlit as st

from dashboard.filters import DEFAULTS, NAMES, Filters, chosen_days, filters_of, view_of
from dashboard.formats import Formats
from dashboard.page import Page, owners_and_models, rows_of
from dashboard.palette import palette
from dashboard.periods import PRESETS, usable_zone
from dashboard.reads import Reader, ask
from dashboard.texts import LANGUAGES, Words, language_of

PRESET_WORDS: Final = {
    "today": "bar.today", "month": "bar.month", "last_month": "bar.last_month", "30d": "bar.days30",
    "custom": "bar.custom",
}  # fmt: skip
ROWS_MAX: Final = 1_000
SERVERS: Final = "/v1/servers"


def words_of_visitor() -> Words:
    """The language of the URL, else of the last run, else of the browser."""
    view = st.session_state.get("view", {})
    asked = st.query_params.get("lang") or view.get("lang")
    return Words(language_of(asked, st.context.locale))


def filter_bar(reader: Reader, rights: frozenset[str], words: Words, *, now: datetime) -> Page:
    """Draw the bar and answer the page that it describes."""
    view = _take_over_url()
    tenants = _tenants(reader, rights)
    zone = usable_zone(view.get("zone") or _common_zone(tenants) or st.context.timezone)
    provisional = filters_of(view, now=now, zone=zone)
    with st.container(horizontal=True, vertical_alignment="bottom", key="filters"):
        view = _draw(
            view, words, options=_options(reader, provisional, tenants, rights=rights), now=now
        )
    _keep(view)
    return Page(
        words=words,
        formats=Formats(words.language, zone),
        filters=filters_of(view, now=now, zone=zone),
        reader=reader,
        palette=palette(st.context.theme.type),
        rights=rights,
        now=now,
    )


def _take_over_url() -> dict[str, str]:
    """The view so far; what the URL says newly goes before what the widgets said."""
    kept: dict[str, str] = st.session_state.get("view", {})
    url = {name: st.query_params[name] for name in NAMES if name in st.query_params}
    if url and url != kept:
        kept = view_of(kept | url)
        for name in ("window", "compare", "model", "pool", "tenant"):
            st.session_state[f"bar_{name}"] = kept.get(name, DEFAULTS.get(name, ""))
    return kept


def _tenants(reader: Reader, rights: frozenset[str]) -> list[dict[str, Any]]:
    if "/v1/tenants" not in rights:
        return []
    (page,) = reader.read(ask("/v1/tenants", rows=False, limit=ROWS_MAX))
    items: list[dict[str, Any]] = page["items"]
    return items


def _common_zone(tenants: list[dict[str, Any]]) -> str | None:
    """The billing zone, where all tenants share one."""
    zones = {tenant["billing_zone"] for tenant in tenants}
    return zones.pop() if len(zones) == 1 else None


def _options(
    reader: Reader,
    filters: Filters,
    tenants: list[dict[str, Any]],
    *,
    rights: frozenset[str],
) -> dict[str, list[str]]:
    """What can be chosen: models and tenants of the window, registered tenants and pools."""
    asks = [owners_and_models(filters.period)]
    if SERVERS in rights:
        asks.append(ask(SERVERS, limit=ROWS_MAX))
    rows, *servers = map(rows_of, reader.read(*asks))
    named = {row["tenant_id"] for row in rows} | {tenant["tenant_id"] for tenant in tenants}
    return {
        "model": sorted({row["model_id"] for row in rows if row["model_id"]}),
        "pool": sorted({row["pool"] for row in chain(*servers) if row["pool"]}),
        "tenant": sorted(name for name in named if name),
    }


def _draw(
    view: Mapping[str, str], words: Words, *, options: dict[str, list[str]], now: datetime
) -> dict[str, str]:
    chosen: dict[str, str | None] = dict(view)
    chosen["window"] = _choice("window", words("bar.window"), view, list(PRESETS), {
        name: words(key) for name, key in PRESET_WORDS.items()
    })  # fmt: skip
    if chosen["window"] == "custom":
        days = chosen_days(view) or ((now - timedelta(days=7)).date(), now.date())
        picked = st.date_input(words("bar.days"), days, key="bar_days", width=230)
        first, last = (picked[0], picked[-1]) if picked else days
        chosen |= {"from": first.isoformat(), "to": last.isoformat()}
    compared = {"before": words("bar.before"), "none": words("bar.alone")}
    chosen["compare"] = _choice("compare", words("bar.compare"), view, list(compared), compared)
    labels = {
        "model": words("bar.model"), "pool": words("bar.pool"), "tenant": words("bar.tenant"),
    }  # fmt: skip
    for name, label in labels.items():
        known = options[name] + [v for v in [view.get(name)] if v and v not in options[name]]
        if len(known) > 1 or view.get(name):
            everything = {"": words("bar.all")}
            chosen[name] = _choice(name, label, view, ["", *known], everything)
    with st.popover(LANGUAGES[words.language], icon=":material/language:"):
        for code, name in LANGUAGES.items():
            if st.button(name, key=f"bar_lang_{code}", type="tertiary"):
                st.query_params["lang"] = code
                st.rerun()
    chosen["lang"] = st.query_params.get("lang") or view.get("lang")
    return view_of({name: value for name, value in chosen.items() if value})


def _choice(
    name: str, label: str, view: Mapping[str, str], options: list[Any], shown: Mapping[Any, str]
) -> Any:
    key = f"bar_{name}"
    if st.session_state.get(key, ...) not in options:
        st.session_state[key] = view.get(name, DEFAULTS.get(name, ""))
    return st.selectbox(
        label, options, key=key, format_func=lambda value: shown.get(value, value), width=185
    )


def _keep(view: dict[str, str]) -> None:
    st.session_state["view"] = view
    for name in NAMES:
        if name in st.query_params and name not in view:
            del st.query_params[name]
    for name, value in view.items():
        if st.query_params.get(name) != value:
            st.query_params[name] = value
