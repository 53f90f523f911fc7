"""The checklist until the first token arrives."""

import streamlit as st

from dashboard.formats import instant
from dashboard.page import Page
from dashboard.reads import ask


def checklist(page: Page) -> bool:
    """Draw what is still to do; False once usage has been metered."""
    prices, servers, health = page.reader.read(
        ask("/v1/prices", rows=False, limit=1),
        ask("/v1/servers", rows=False, limit=1),
        ask("/health/ready", rows=False),
    )
    if instant(health.get("details", {}).get("metered_through_at")):
        return False
    words = page.words
    st.subheader(words("first_run.title"))
    steps = (
        (True, words("first_run.server"), ""),
        (bool(prices["items"]), words("first_run.prices"), "tokentill prices check prices.toml"),
        (
            bool(servers["items"]),
            words("first_run.servers"),
            "tokentill keys create --role node --node p01 --name p01",
        ),
        (False, words("first_run.sidecar"), "tokentill sidecar run --config sidecar.toml"),
    )
    for done, text, command in steps:
        st.markdown(f"{':material/check_circle:' if done else ':material/circle:'} {text}")
        if command and not done:
            st.code(command, language="bash")
    return True
