"""Sign-in by an OpenID Connect provider on loopback, through `st.login` to the API's own check."""

import re
from types import SimpleNamespace

import httpx
import pytest
from playwright.sync_api import expect

from dashboard.landing import COOKIE
from tests.dashboard.browser.conftest import settled, showing
from tests.dashboard.browser.provider import CLIENT_ID, Provider
from tests.dashboard.conftest import free_port, furnish, serving, talk

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def signing(tmp_path_factory):
    """A house without usage and a dashboard that trust one provider: provider, url."""
    folder, provider, port = tmp_path_factory.mktemp("oidc"), Provider(), free_port()
    file = folder / "sign-in.toml"
    file.write_text(
        f'[auth]\nredirect_uri = "http://127.0.0.1:{port}/oauth2callback"\n'
        'cookie_secret = "of-these-tests-alone-0123456789abcdef"\nexpose_tokens = ["access"]\n'
        f'client_id = "{CLIENT_ID}"\nclient_secret = "known to both"\n'
        f'server_metadata_url = "{provider.issuer}/.well-known/openid-configuration"\n',
        encoding="utf-8",
    )
    with serving(folder, TOKENTILL_OIDC_ISSUER=provider.issuer) as house:
        with talk(house) as api:
            furnish(api, ("u01",), "2024-05-01T00:00:00Z")
        with showing(house, folder, "--sign-in", str(file), port=port) as found:
            yield SimpleNamespace(provider=provider, url=found.url)
    provider.shutdown()
    provider.server_close()


def enter(tab, who):
    """Through the provider's page, back to the dashboard."""
    tab.get_by_role("button", name="Sign in with your organisation").click()
    tab.get_by_role("link", name=who).click()


def pages(tab):
    """Names of the pages in the navigation."""
    expect(tab.get_by_test_id("stSidebarNavLink").first).to_be_attached()
    return {re.sub(r"^\w+\s*\n", "", text) for text in
            tab.get_by_test_id("stSidebarNavLink").all_inner_texts()}  # fmt: skip


def test_an_operator_enters_and_leaves(signing, tab_of):
    """The role of the token opens the operator's pages; after signing out the form is back."""
    tab = tab_of(signing.url)
    enter(tab, "olga")
    expect(tab.get_by_text("Four steps to the first priced token")).to_be_visible()
    assert {"Overview", "Settings and keys", "Jobs"} <= pages(settled(tab))
    tab.get_by_role("button", name="Sign out").click()
    expect(tab.locator("input[type=password]")).to_be_visible()


def test_a_tenant_sees_its_own_page_alone(signing, tab_of):
    """The tenant comes from the token (V10): its usage, its invoices, nothing of the house."""
    tab = tab_of(signing.url)
    enter(tab, "tim")
    expect(tab.get_by_text("No usage in this window.")).to_be_visible()
    assert pages(tab) == {"My usage", "Invoices and close"}


def test_an_account_without_a_role_is_told_so(signing, tab_of):
    """The API refuses the token; the page says what to do and offers the form again."""
    tab = tab_of(signing.url)
    enter(tab, "nobody")
    tab.get_by_role("button", name="Try again").click()
    expect(tab.get_by_text("your account has no role here")).to_be_visible()
    expect(tab.locator("input[type=password]")).to_be_visible()


def kept_link(tab):
    """The cookie that holds where the visitor wanted to go."""
    return [each["value"] for each in tab.context.cookies() if each["name"] == COOKIE]


def test_the_link_that_was_asked_for_opens_after_sign_in(signing, tab_of):
    """Page and filters come back from the provider; what no page knows does not, nor the cookie."""
    tab = tab_of(f"{signing.url}/jobs?window=30d&next=https://example.com")
    enter(tab, "olga")
    expect(tab.get_by_text("Waiting for their half")).to_be_visible()
    expect(tab).to_have_url(f"{signing.url}/jobs?window=30d")
    expect(settled(tab).get_by_text("Waiting for their half")).to_be_visible()
    assert kept_link(tab) == []


@pytest.mark.parametrize("link", ["https%3A%2F%2Fexample.com", "%2F%2Fexample.com%2Fjobs"])
def test_a_cookie_cannot_lead_elsewhere(signing, tab_of, link):
    """Whoever can write the cookie gets the first page of this host, as without it."""
    tab = tab_of(signing.url)
    expect(tab.locator("input[type=password]")).to_be_visible()
    tab.get_by_role("button", name="Sign in with your organisation").click()
    tab.context.add_cookies([{"name": COOKIE, "value": link, "url": signing.url}])
    tab.get_by_role("link", name="olga").click()
    expect(tab.get_by_text("Four steps to the first priced token")).to_be_visible()
    expect(tab).to_have_url(f"{signing.url}/overview")


def test_a_page_that_the_role_lacks_leads_to_its_first_one(signing, tab_of):
    """A tenant who follows an operator's link to the settings sees its own usage."""
    tab = tab_of(f"{signing.url}/settings?window=30d")
    enter(tab, "tim")
    expect(tab.get_by_text("No usage in this window.")).to_be_visible()
    expect(tab).to_have_url(f"{signing.url}/mine")


def test_an_upload_without_the_token_of_xsrf_is_refused(signing):
    """XSRF protection is on: a file sent from another page carries no such token."""
    answer = httpx.put(f"{signing.url}/_stcore/upload_file/session/file", files={"f": b"x"})
    assert answer.status_code == httpx.codes.FORBIDDEN
