"""The close of a month that has ended, on its page: what blocks it, and accepting it."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.dashboard.test_pages import button, said

MAY = {"window": "custom", "from": "2024-05-01", "to": "2024-05-31"}


@pytest.fixture
def may(show, past):
    """The page for May 2024: t-alder could be closed, one request of t-birch has no price."""
    return show(past, "invoices", key=past.finance, **MAY)


def test_what_blocks_the_close_is_seen_before_it(may):
    """The one unpriced request, named as it would be accepted, and what to do about it."""
    text = said(may)
    assert "Closed: 0 of 2 tenants · ready: 1 · blocked: 1" in text
    assert "**Unpriced requests 1**" in text
    assert "`t-birch:unpriced`" in text
    assert "Publish a price, or accept it" in text
    assert ":material/check: Held requests 0" in text


def test_nothing_is_accepted_without_a_reason(may):
    """The form asks for it, and nothing is closed."""
    may.multiselect[0].set_value(["t-birch:unpriced"])
    button(may, "Close 2024-05").click().run()
    assert "Say why you accept them" in may.warning[0].value
    assert "Closed: 0 of 2 tenants" in said(may.run())


def test_a_viewer_sees_documents_and_no_form(show, past):
    """pricing/scope.py: invoices:write is finance's and the operator's; a tenant sees its own."""
    test = show(past, "invoices", key=past.tenant, **MAY)
    assert not test.exception
    assert not [each for each in test.button if "Close" in each.label]


def test_the_overview_says_where_the_month_stands(show, past):
    """May: one of two tenants is blocked, by one request without a price."""
    text = said(show(past, "overview", key=past.finance, **MAY))
    assert "**2024-05** is open: 1 of 2 tenants are blocked." in text
    assert "Unpriced requests 1" in text


def test_one_tenants_month_is_shown_where_it_is_filtered(show, past):
    """t-alder alone could be closed."""
    text = said(show(past, "overview", key=past.finance, **MAY, tenant="t-alder"))
    assert "**2024-05** is open: 1 of 1 tenants are ready to close." in text


def test_while_a_month_runs_the_one_before_it_is_told(show, house):
    """Nobody has usage of last month: it is ready, and nothing is said of this one."""
    last = (datetime.now(UTC).replace(day=1) - timedelta(days=1)).strftime("%Y-%m")
    text = said(show(house, "overview", window="month"))
    assert f"**{last}** is open: 2 of 2 tenants are ready to close." in text


def test_who_may_not_close_is_not_told(show, house):
    """pricing/scope.py: a viewer reads neither previews of a close nor the audit log."""
    assert "Where the month stands" not in said(show(house, "overview", key=house.viewer))
