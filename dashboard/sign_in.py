"""Who is asking: the key of the environment, or the one a visitor types."""

from collections.abc import Mapping
from typing import Final

import streamlit as st

from dashboard.reads import Reader
from dashboard.texts import Words
from pricing.client import ApiError

URL_DEFAULT: Final = "http://127.0.0.1:8080"
UNAUTHORIZED: Final = 401
# What pages read; a key sees the pages whose every list it may read.
LISTS: Final = (
    "/v1/tenants", "/v1/servers", "/v1/prices", "/v1/quarantine", "/v1/jobs", "/v1/policies",
    "/v1/keys", "/v1/audit", "/v1/invoices", "/v1/economics/servers", "/v1/slo",
    "/v1/reconciliation", "/v1/economics/cache", "/v1/economics/variance", "/v1/roi/cases",
)  # fmt: skip


def reader_of_visitor(environment: Mapping[str, str]) -> Reader | None:
    """The reader of this visitor; None where there is no key yet."""
    url = environment.get("TOKENTILL_API_URL") or URL_DEFAULT
    key = environment.get("TOKENTILL_API_KEY") or st.session_state.get("api_key")
    return Reader(url, key) if key else None


def rights_of(reader: Reader) -> frozenset[str]:
    """The lists that the key may read; a key that is no longer valid is asked for again."""
    try:
        return reader.allowed(LISTS)
    except ApiError as error:
        if error.status == UNAUTHORIZED:
            st.session_state.pop("api_key", None)
        raise


def sign_out(words: Words) -> None:
    """A button that forgets the key that was typed."""
    if "api_key" in st.session_state and st.button(words("sign_in.out"), icon=":material/logout:"):
        st.session_state.clear()
        st.rerun()


def ask_for_key(environment: Mapping[str, str], words: Words) -> None:
    """A form for the key; with one the run begins anew."""
    url = environment.get("TOKENTILL_API_URL") or URL_DEFAULT
    _, middle, _ = st.columns([1, 2, 1])
    with middle, st.form("sign_in"):
        st.markdown(f"#### {words('sign_in.title')}")
        st.caption(words("sign_in.where", url=url))
        key = st.text_input(words("sign_in.key"), type="password", autocomplete="current-password")
        sent = st.form_submit_button(words("sign_in.enter"), type="primary")
        st.caption(words("sign_in.how"))
    if sent and key.strip():
        st.session_state["api_key"] = key.strip()
        st.rerun()
