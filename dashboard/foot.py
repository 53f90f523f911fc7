"""The last lines of a page: how its figures are computed, how fresh they are."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from dashboard.findings import grouped
from dashboard.formats import UNKNOWN, instant
from dashboard.page import Page
from dashboard.reads import ask


def formulas(page: Page, sections: str) -> None:
    """Which sections of docs/formulas.md say what the page's figures are, such as "§9.1"."""
    st.caption(page.words("foot.formulas", sections=sections))


def foot(
    page: Page, findings: Sequence[dict[str, Any]] | None = None, *, sections: str = "§1"
) -> None:
    """Formulas, data as of, metered through, settled through, findings."""
    formulas(page, sections)
    words, formats = page.words, page.formats
    (health,) = page.reader.read(ask("/health/ready", rows=False))
    details = health.get("details", {})
    parts = [words("foot.as_of", at=formats.clock(page.now))]
    metered = instant(details.get("metered_through_at"))
    settled = instant(details.get("settled_through_at"))
    parts.append(words("foot.metered", at=formats.moment(metered) if metered else UNKNOWN))
    parts.append(words("foot.settled", at=formats.moment(settled) if settled else UNKNOWN))
    if details.get("pending_legs"):
        parts.append(words("foot.pending", count=formats.count(details["pending_legs"])))
    if findings is not None:
        parts.append(words("foot.findings", count=len(grouped(findings))))
    parts.append(page.filters.zone.key)
    st.caption(" · ".join(parts))
