"""Who is asking: the key of the environment, a key that a visitor types, or a provider's token."""

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
    "/v1/rerates",
)  # fmt: skip


def reader_of_visitor(environment: Mapping[str, str]) -> Reader | None:
    """The reader of this visitor; None where there is no credential, or the API refused it."""
    url = environment.get("TOKENTILL_API_URL") or URL_DEFAULT
    fixed = environment.get("TOKENTILL_API_KEY")
    secret = fixed or st.session_state.get("api_key") or _token()
    if not secret:
        return None
    reader = Reader(url, secret)
    refused = st.session_state.get("refused") == reader.credential
    return None if refused and not fixed else reader


def rights_of(reader: Reader) -> frozenset[str]:
    """The lists that the key may read; a credential that is refused is asked for anew."""
    try:
        return reader.allowed(LISTS)
    except ApiError as error:
        if error.status == UNAUTHORIZED:
            st.session_state["refused"] = reader.credential
            st.session_state.pop("api_key", None)
        raise


def sign_out(words: Words) -> None:
    """A button that forgets the key that was typed, or ends the session of the provider."""
    typed = "api_key" in st.session_state
    if not (typed or _token()):
        return
    if st.button(words("sign_in.out"), icon=":material/logout:"):
        st.session_state.clear()
        if typed:
            st.rerun()
        st.logout()


def ask_for_key(environment: Mapping[str, str], words: Words) -> None:
    """The provider's button where there is one, and a form for a key; then the run begins anew."""
    url = environment.get("TOKENTILL_API_URL") or URL_DEFAULT
    _, middle, _ = st.columns([1, 2, 1])
    with middle:
        st.markdown(f"#### {words('sign_in.title')}")
        st.caption(words("sign_in.where", url=url))
        if "is_logged_in" in st.user:  # only where a provider is configured
            if _token():
                st.warning(words("sign_in.ended"))
            if st.button(words("sign_in.provider"), type="primary", icon=":material/login:"):
                st.login()
        with st.form("sign_in"):
            key = st.text_input(
                words("sign_in.key"), type="password", autocomplete="current-password"
            )
            sent = st.form_submit_button(words("sign_in.enter"))
            st.caption(words("sign_in.how"))
    if sent and key.strip():
        st.session_state["api_key"] = key.strip()
        st.session_state.pop("refused", None)
        st.rerun()


def _token() -> str | None:
    """The token that the provider gave for the API; the access token before the one of identity."""
    if not st.user.get("is_logged_in"):
        return None
    return st.user.tokens.get("access") or st.user.tokens.get("id")
