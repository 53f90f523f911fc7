"""One run: who asks, in which language, about which window, on which page."""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import streamlit as st

from dashboard.bar import filter_bar, words_of_visitor
from dashboard.page import Page
from dashboard.problems import explained
from dashboard.sign_in import ask_for_key, reader_of_visitor, rights_of, sign_out
from dashboard.texts import Words
from dashboard.views import ENTRIES, Entry

ICON: Final = Path(__file__).with_name("mark.svg")
REFRESH_SECONDS: Final = 30
STYLE: Final = """<style>
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
    """Sign in, filter, navigate, show."""
    st.set_page_config(page_title="tokentill", page_icon=str(ICON), layout="wide")
    st.html(STYLE)
    words = words_of_visitor()
    reader = reader_of_visitor(os.environ)
    with explained(words):
        if reader is None:
            _front_door(words)
            return
        rights = rights_of(reader)
        page = filter_bar(reader, rights, words, now=datetime.now(UTC))
        able = [entry for entry in ENTRIES if entry.suits(rights)]
        groups: dict[str, list[st.Page]] = {}
        for entry in able:
            shown = _page(entry, words, _shown(entry, page), first=able[0])
            groups.setdefault(words(entry.group), []).append(shown)
        chosen = st.navigation(groups)
        with st.sidebar:
            sign_out(words)
        chosen.run()


def _front_door(words: Words) -> None:
    """Every address leads to the form, and from there to itself."""

    def door() -> None:
        ask_for_key(os.environ, words)

    home = next(entry for entry in ENTRIES if entry.path == "overview")
    pages = [_page(entry, words, door, first=home) for entry in ENTRIES]
    st.navigation(pages, position="hidden").run()


def _page(entry: Entry, words: Words, show: Callable[[], None], *, first: Entry) -> st.Page:
    return st.Page(
        show,
        title=words(entry.title),
        icon=entry.icon,
        url_path=entry.path,
        default=entry is first,
    )


def _shown(entry: Entry, page: Page) -> Callable[[], None]:
    """The view, drawn anew by itself while its window still runs."""
    every = REFRESH_SECONDS if entry.refreshes and page.filters.period.running else None

    @st.fragment(run_every=every)
    def show() -> None:
        with explained(page.words):
            entry.show(page.at(datetime.now(UTC)))

    return show
