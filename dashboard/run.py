"""One run: who asks, in which language, about which window, on which page."""

import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

import streamlit as st

from dashboard.bar import filter_bar, words_of_visitor
from dashboard.landing import forget, recalled, remember
from dashboard.page import Page
from dashboard.palette import palette
from dashboard.problems import explained
from dashboard.sign_in import ask_for_key, reader_of_visitor, rights_of, sign_out
from dashboard.texts import Words
from dashboard.views import ENTRIES, Entry

ICON: Final = Path(__file__).with_name("mark.svg")
REFRESH_SECONDS: Final = 30
# captions, which Streamlit draws too pale to read; and text on a filled button
STYLE: Final = """<style>
[data-testid="stCaptionContainer"], [data-testid="stCaptionContainer"] p {color: MUTED; opacity: 1}
[data-testid="stBaseButton-primary"] p, [data-testid="stBaseButton-primaryFormSubmit"] p,
[data-testid="stBaseButton-primaryFormSubmit"] span {color: ON_ACCENT}
[data-testid="stMetricValue"], [data-testid="stMetricDelta"] {font-variant-numeric: tabular-nums}
[data-testid="stMetricValue"] {font-size: 1.55rem}
.block-container {padding: 3.2rem 2rem 2rem; max-width: 1500px}
@media (max-width: 640px) {
  .block-container {padding: 4.2rem 1rem 1rem}
  .st-key-filters > div {flex: 1 1 44% !important; width: 44% !important}
  .st-key-figures [data-testid="stColumn"] {flex: 1 1 44% !important; min-width: 44% !important}
}
h3 {font-size: 1.45rem !important; line-height: 1.35 !important}
[data-testid="stMetricLabel"] {font-size: .85rem}
</style>"""


def run() -> None:
    """Sign in, navigate, filter, show."""
    st.set_page_config(page_title="tokentill", page_icon=str(ICON), layout="wide")
    colours = palette(st.context.theme.type)
    st.html(STYLE.replace("MUTED", colours.muted).replace("ON_ACCENT", colours.background))
    words = words_of_visitor()
    reader = reader_of_visitor(os.environ)
    with explained(words):
        if reader is None:
            _front_door(words)
            return
        rights = rights_of(reader)
        shown: list[Page] = []  # the page of this run, once the filters are known
        able = [entry for entry in ENTRIES if entry.suits(rights)]
        pages = {entry: _page(entry, words, partial(_show, entry, shown)) for entry in able}
        groups: dict[str, list[st.Page]] = {}
        for entry, page in pages.items():
            groups.setdefault(words(entry.group), []).append(page)
        landing = _landing(lambda: None)
        chosen = st.navigation({"": [landing], **groups})
        with st.sidebar:
            sign_out(words)
        places = {entry.path: page for entry, page in pages.items()}
        if chosen is landing:
            path, params = recalled({"", *places}) or ("", {})
            target = places.get(path, pages[able[0]])
            st.switch_page(target, query_params=params | st.query_params.to_dict())
        shown.append(filter_bar(reader, rights, words, now=datetime.now(UTC)).with_places(places))
        chosen.run()
        forget()


def _front_door(words: Words) -> None:
    """Every address leads to the form, and from there to itself."""

    def door() -> None:
        ask_for_key(os.environ, words)

    pages = [_page(entry, words, door) for entry in ENTRIES]
    asked = st.navigation([_landing(door), *pages], position="hidden")
    asked.run()
    if "is_logged_in" in st.user:  # a provider would send the visitor back without the address
        remember(asked.url_path)


def _landing(show: Callable[[], None]) -> st.Page:
    """The address without a page; each page has one of its own."""
    return st.Page(show, title="tokentill", url_path="start", default=True, visibility="hidden")


def _page(entry: Entry, words: Words, show: Callable[[], None]) -> st.Page:
    return st.Page(show, title=words(entry.title), icon=entry.icon, url_path=entry.path)


def _show(entry: Entry, shown: Sequence[Page]) -> None:
    """The view, drawn anew by itself while its window still runs."""
    (page,) = shown
    every = REFRESH_SECONDS if entry.refreshes and page.filters.period.running else None

    @st.fragment(run_every=every)
    def view() -> None:
        with explained(page.words):
            entry.show(page.at(datetime.now(UTC)))

    view()
