"""Which pages each role sees: what docs/dashboard.md promises, by the API's own answers."""

import pytest

from dashboard.reads import Reader
from dashboard.sign_in import LISTS
from dashboard.views import ENTRIES

HOUSE = {
    "overview", "servers", "cache", "slo", "quality", "jobs", "tenants", "invoices", "prices",
    "roi", "capacity",
}  # fmt: skip
SEEN = {
    "key": HOUSE | {"settings"},  # the operator's
    "viewer": HOUSE,
    "tenant": {"mine", "invoices"},
}


def pages(server, key):
    """The paths of the pages that the navigation offers to this key."""
    rights = Reader(server.url, key).allowed(LISTS)
    return {entry.path for entry in ENTRIES if entry.suits(rights)}


@pytest.mark.parametrize("role", SEEN)
def test_a_role_sees_its_pages_and_no_others(house, role):
    """Operator: all but a tenant's own; viewer: no settings; tenant: its usage and documents."""
    assert pages(house, getattr(house, role)) == SEEN[role]


def test_finance_sees_all_but_the_settings(past):
    """Keys are the operator's."""
    assert pages(past, past.finance) == HOUSE


def test_a_gateway_is_shown_nothing_of_the_house(house):
    """It may write usage and read none: the page of one's own says that there is nothing."""
    assert pages(house, house.gateway) == {"mine"}


def test_every_page_is_somebodys():
    """A page that no role sees would be dead."""
    assert {entry.path for entry in ENTRIES} == HOUSE | {"settings", "mine"}


@pytest.mark.parametrize("path", sorted(HOUSE - {"invoices"}))
def test_a_hidden_page_tells_a_tenant_nothing(show, house, path):
    """Who types its address all the same is refused by the API, or sees its own part alone."""
    test = show(house, path, key=house.tenant, window="today")
    assert not test.exception
    shown = [*test.subheader, *test.markdown, *test.caption, *test.metric]
    assert not [each for each in shown if "t-birch" in str(each.value)]
    assert not [each for each in test.dataframe if "t-birch" in each.value.to_csv()]
