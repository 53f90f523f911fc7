"""Where docs/formulas.md says how a figure is computed: each figure's tooltip ends with it."""

from typing import Final

import streamlit as st

from dashboard.texts import Words

PAGE: Final = "docs/formulas.md"

# anchors of its headings
ONE_SERVER: Final = "11-one-server"
LEDGER: Final = "12-the-ledger-and-the-formula-are-one"
CALENDAR: Final = "13-calendar"
MIX: Final = "2-one-throughput-for-a-mix-of-contexts"
WORTH: Final = "3-what-a-server-is-worth"
COST: Final = "5-what-a-server-costs"
SHARES: Final = "6-whose-cost-it-is"
CHANGE: Final = "7-why-revenue-changed"
INVESTMENT: Final = "8-investment-estimates"
HITS: Final = "91-two-questions-with-opposite-answers"
KAPPA: Final = "93-κ-measured-estimate"
LEVELS: Final = "11-service-levels"
SERVERS: Final = "121-servers"
KV_LINKS: Final = "124-kv-transfer"


def with_formula(words: Words, formula: str | None, text: str | None = None) -> str | None:
    """`text` and where the formula is; without a formula, `text` as it is."""
    if formula is None:
        return text
    link = words("foot.formula", place=f"{PAGE}#{formula}")
    return f"{text} {link}" if text else link


def headline(words: Words, text: str, formula: str) -> None:
    """The first line of a page, with the formula of its figures."""
    st.subheader(text, anchor=False, help=with_formula(words, formula))


def heading(words: Words, text: str, formula: str | None = None) -> None:
    """The heading of a part of a page, with the formula of what it shows."""
    st.markdown(f"##### {text}", help=with_formula(words, formula))


def small_print(words: Words, text: str, formula: str) -> None:
    """Figures in small print, with their formula."""
    st.caption(text, help=with_formula(words, formula))
