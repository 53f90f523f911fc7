"""Overview: what does the cluster earn, and what needs a person?"""

from itertools import chain
from typing import Final

import streamlit as st

from dashboard.figures import key_figures
from dashboard.first_run import checklist
from dashboard.foot import foot
from dashboard.headline import earned
from dashboard.month_stands import month_stands
from dashboard.page import Page, Row, owners_and_models, window
from dashboard.panels import findings_list, over_time, servers_bars, tenants_bars
from dashboard.periods import Period
from dashboard.reads import Ask, ask
from dashboard.summary import summary

VARIANCE: Final = "/v1/economics/variance"


def show(page: Page) -> None:
    """Draw the page."""
    hours, owners, earlier, servers, findings, *bridge = page.read(*_asks(page))
    if not hours:
        if not checklist(page):
            st.info(page.words("empty.window"), icon=":material/hourglass_empty:")
            month_stands(page)
        foot(page, findings)
        return
    now = summary(hours)
    then = summary(earlier, now.currency) if page.filters.before else None
    causes = {row["currency"]: row["largest_effect"] for row in chain(*bridge)}
    st.subheader(earned(page, now, then, cause=causes.get(now.currency)), anchor=False)
    key_figures(page, now, then, hours)
    left, right = st.columns([3, 2], gap="large")
    with left:
        over_time(page, hours, now)
    with right:
        place = st.container()
        findings_list(page, findings)
    left, right = st.columns(2, gap="large")
    with left:
        servers_bars(page, servers, now.currency)
    with right:
        tenants = [row for row in owners if _inside(page, row)]
        tenants_bars(page, tenants, earlier if page.filters.before else [], now)
    foot(page, findings)
    with place:  # last: everything else is there before a close is tried out
        month_stands(page)


def _asks(page: Page) -> list[Ask]:
    period, before = page.filters.period, page.filters.before or page.filters.period
    asks = [
        page.usage(period, interval=period.interval),
        owners_and_models(period),
        page.usage(before, "tenant_id"),
        ask("/v1/revenue/servers", **window(period)),
        ask("/v1/findings", **window(period), tenant_id=page.filters.tenant),
    ]
    if VARIANCE in page.rights and page.filters.before:
        asks.append(_bridge(page, page.filters.before))
    return asks


def _inside(page: Page, row: Row) -> bool:
    filters = page.filters
    return filters.tenant in (None, row["tenant_id"]) and filters.model in (None, row["model_id"])


def _bridge(page: Page, before: Period) -> Ask:
    """Why revenue changed, in effects that add up."""
    return ask(
        VARIANCE,
        **window(page.filters.period),
        before_start_at=before.start_at.isoformat(),
        before_end_at=before.end_at.isoformat(),
        tenant_id=page.filters.tenant,
        model_id=page.filters.model,
    )
