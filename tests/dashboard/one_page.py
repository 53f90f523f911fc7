"""What AppTest runs: the page that the URL names, for the key of the environment."""

import os
from datetime import UTC, datetime

import streamlit as st

from dashboard.bar import filter_bar, words_of_visitor
from dashboard.problems import explained
from dashboard.sign_in import ask_for_key, reader_of_visitor, rights_of
from dashboard.views import ENTRIES

words = words_of_visitor()
reader = reader_of_visitor(os.environ)
if reader is None:
    ask_for_key(os.environ, words)
    st.stop()
with explained(words):
    page = filter_bar(reader, rights_of(reader), words, now=datetime.now(UTC))
    next(entry for entry in ENTRIES if entry.path == st.query_params["page"]).show(page)
