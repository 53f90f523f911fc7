"""Choices that stand in the URL by their own names: a link means the same in every language.

Streamlit's own binding writes the text that is shown, which the language changes.
"""

from collections.abc import Collection

import streamlit as st


def choice_from_url(name: str, options: Collection[str], default: str) -> None:
    """Before the widget with the key `name`: what the URL asks for, else `default`."""
    if st.session_state.get(name) not in options:
        asked = st.query_params.get(name)
        st.session_state[name] = asked if asked in options else default


def choice_to_url(name: str, default: str) -> None:
    """After the widget: what was chosen; the default needs no word."""
    _keep(name, st.session_state[name], default)


def choices_from_url(name: str, options: Collection[str]) -> None:
    """The same for several at once, of which there may be none."""
    known = st.session_state.get(name)
    if known is None or not set(known) <= set(options):
        asked = st.query_params.get(name, "").split()
        st.session_state[name] = [each for each in options if each in asked]


def choices_to_url(name: str) -> None:
    """The names, in order, with a space between them."""
    _keep(name, " ".join(st.session_state[name]), "")


def _keep(name: str, value: str, default: str) -> None:
    if value == default:
        st.query_params.pop(name, None)
    elif st.query_params.get(name) != value:
        st.query_params[name] = value
