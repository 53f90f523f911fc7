"""Finance in the browser: where the month stands, the close, the documents, and what they hold."""

import io
import re
from pathlib import Path

import openpyxl
import pypdf
import pytest
from playwright.sync_api import expect

from tests.dashboard.browser.conftest import click_first_row, settled, showing, sign_in

pytestmark = pytest.mark.slow
JUNE = "window=custom&from=2024-06-01&to=2024-06-30"


@pytest.fixture(scope="module")
def books(past, tmp_path_factory):
    """The dashboard of the house of 2024."""
    with showing(past, tmp_path_factory.mktemp("books")) as found:
        yield found


def downloaded(tab, name):
    """The file behind the last button of this name."""
    with tab.expect_download() as download:
        tab.get_by_test_id("stDownloadButton").get_by_role("button", name=name).last.click()
    return Path(download.value.path()).read_bytes()


def test_a_month_is_closed_and_its_documents_are_read(books, past, tab_of):
    """June: t-alder 72 × 0.1 = 7.20 CNY; t-birch 48 × 0.1 = 4.80, one request without a price.

    The blocker is accepted with a reason, both documents are drafts, the first is issued; PDF and
    XLSX open in other programs and hold the amount.
    """
    tab = sign_in(tab_of(f"{books.url}/invoices?{JUNE}"), past.finance)
    expect(tab.get_by_text("ready: 1 · blocked: 1")).to_be_visible()
    tab.get_by_role("combobox", name="Accept these blockers").click()
    tab.get_by_role("option", name="t-birch:unpriced").click()
    tab.keyboard.press("Escape")
    tab.get_by_label("Reason, kept on record").fill("the model was a trial")
    tab.get_by_role("button", name="Close 2024-06").click()
    expect(tab.locator("h3").first).to_contain_text("2 documents, ¥12.00; 2 of them are drafts")
    click_first_row(tab, settled(tab).locator(".st-key-table_invoices"))
    expect(tab).to_have_url(re.compile("document=INV-000001"))
    tab.get_by_role("button", name="Issue", exact=True).click()
    expect(tab.get_by_text("1 of them are drafts")).to_be_visible()
    expect(tab.get_by_role("button", name="PDF")).to_be_visible()
    text = pypdf.PdfReader(io.BytesIO(downloaded(settled(tab), "PDF"))).pages[0].extract_text()
    assert "INV-000001" in text
    assert "7.20" in text
    book = openpyxl.load_workbook(io.BytesIO(downloaded(tab, "XLSX")))
    values = {cell for sheet in book for row in sheet.iter_rows(values_only=True) for cell in row}
    assert 7.2 in values or "7.20" in values


def test_the_overview_leads_to_the_months_close(books, past, tab_of):
    """May is blocked; one click opens its close, with the same month in the address."""
    may = "window=custom&from=2024-05-01&to=2024-05-31"
    tab = sign_in(tab_of(f"{books.url}/overview?{may}"), past.finance)
    expect(tab.get_by_text("2024-05 is open: 1 of 2 tenants are blocked.")).to_be_visible()
    settled(tab).get_by_test_id("stPageLink").get_by_role("link").click()
    expect(tab.get_by_text("Close of 2024-05")).to_be_visible()
    expect(tab).to_have_url(re.compile(r"/invoices\?.*from=2024-05-01"))


def test_the_link_opens_the_same_document(books, past, tab_of):
    """The address alone leads another person to the document."""
    link = f"{books.url}/invoices?{JUNE}&document=INV-000002"
    tab = sign_in(tab_of(link), past.key)
    expect(tab.get_by_text("INV-000002 · t-birch · ¥4.80")).to_be_visible()


def test_what_a_price_change_would_earn(books, past, tab_of):
    """The owner: 120 requests of 0.04 M uncached at 4 instead of 2: 12 + 0.08 × 120 = ¥21.60."""
    tab = sign_in(tab_of(f"{books.url}/prices?{JUNE}"), past.key)
    tab.get_by_label("Uncached input, CNY per million").fill("4")
    tab.keyboard.press("Enter")
    expect(tab.get_by_text("¥21.60 instead of ¥12.00")).to_be_visible()
    expect(tab).to_have_url(re.compile("what_if_uncached=4"))


def test_a_cell_of_the_heat_map_opens_the_servers_day(books, past, tab_of):
    """u02 on 10 June: twelve hours of one request at 0.1 CNY."""
    day = "window=custom&from=2024-06-10&to=2024-06-10"
    tab = sign_in(tab_of(f"{books.url}/servers?{day}"), past.key)
    expect(tab.get_by_text("Server by hour")).to_be_visible()
    chart = tab.get_by_test_id("stVegaLiteChart").nth(1)
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    tab.mouse.click(box["x"] + box["width"] * 0.55, box["y"] + 33)
    expect(tab.get_by_text("u02 on 2024-06-10")).to_be_visible()
    expect(tab.get_by_text("Earned ¥1.2")).to_be_visible()
    assert "server=u02" in tab.url


def test_a_tenant_reads_why_it_pays(books, past, tab_of):
    """t-alder in June: 72 requests, ¥7.20; a click on its line, a click on a request: why."""
    tab = sign_in(tab_of(f"{books.url}/?{JUNE}"), past.tenant)
    expect(tab.locator("h3").first).to_contain_text("cost ¥7.20")
    assert "/mine" in tab.url
    click_first_row(tab, settled(tab).get_by_test_id("stDataFrame").first)
    expect(tab.get_by_text("Requests of t-alder / search")).to_be_visible()
    click_first_row(tab, settled(tab).get_by_test_id("stDataFrame").nth(1))
    expect(tab.get_by_text("Why this price")).to_be_visible()


def test_each_page_has_an_address_of_its_own(books, past, tab_of):
    """/overview is the overview; the address without a page leads there."""
    for path in ("overview", ""):
        tab = sign_in(tab_of(f"{books.url}/{path}?{JUNE}"), past.key)
        expect(tab.locator("h3").first).to_contain_text("¥12.00")
        expect(tab).to_have_url(re.compile(r"/overview\?.*from=2024-06-01"))
        expect(tab.get_by_text("Page not found")).to_have_count(0)
