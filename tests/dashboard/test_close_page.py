"""The close of a month that has ended, on its page: what blocks it, and accepting it."""

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
