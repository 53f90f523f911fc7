"""Paths in Debian's Chromium: sign in, find, drill down, download, switch language."""

import csv
import re
from decimal import Decimal
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.dashboard.browser.conftest import click_first_row, settled

pytestmark = pytest.mark.slow


def test_an_operator_signs_in_and_reads_the_answer(visit):
    """By hand: 30 requests of 0.1 CNY; u01 earned them."""
    tab = visit("?window=today")
    expect(tab.locator("h3").first).to_contain_text("Today has earned ¥3.00 so far")
    tab.get_by_role("link", name="Servers").click()
    expect(tab.locator("h3").first).to_contain_text("u01 earned 100.0")
    assert "window=today" in tab.url  # the filters went along


def test_the_language_is_the_browsers_and_can_be_switched(visit):
    """zh-CN opens in Chinese; a click and it is English, in the URL too."""
    tab = visit("?window=today", locale="zh-CN")
    expect(tab.locator("h3").first).to_contain_text("今天截至目前收入 ¥3.00")
    tab.get_by_role("button", name="中文").first.click()
    tab.get_by_role("button", name="English").click()
    expect(tab.locator("h3").first).to_contain_text("Today has earned ¥3.00")
    expect(tab).to_have_url(re.compile("lang=en"))


def test_a_row_leads_to_its_requests_and_their_story(visit):
    """A click on t-birch's row, a click on its first request: 0.1 CNY and why."""
    tab = visit("tenants?window=today")
    click_first_row(tab, tab.get_by_test_id("stDataFrame").first)
    expect(tab.get_by_text("Requests of t-birch / search")).to_be_visible()
    click_first_row(tab, settled(tab).get_by_test_id("stDataFrame").nth(1))
    expect(tab.locator("h3").first).to_contain_text("¥0.1 for t-birch / search")
    expect(tab.get_by_text("Why this price")).to_be_visible()


def test_the_downloaded_file_adds_up_to_the_ledger(visit, house):
    """The CSV of the tenants' page against /v1/usage, read with another program."""
    tab = visit("tenants?window=today")
    with tab.expect_download() as download:
        tab.get_by_test_id("stDownloadButton").first.get_by_role("button").click()
    with Path(download.value.path()).open(encoding="utf-8-sig", newline="") as file:
        amounts = [Decimal(row["Amount, CNY"]) for row in csv.DictReader(file)]
    asked = {"start_at": "2026-01-01T00:00:00Z", "end_at": "2028-01-01T00:00:00Z"}
    headers = {"Authorization": f"Bearer {house.key}"}
    rows = httpx.get(f"{house.url}/v1/usage", params=asked, headers=headers).json()["items"]
    billed = sum(Decimal(row["amount"]) for row in rows if row["disposition"] == "billed")
    assert sum(amounts) == billed == Decimal(3)


@pytest.mark.parametrize("path", ["", "servers", "cache", "tenants", "prices", "quality"])
def test_nothing_is_wider_than_a_phone(visit, path):
    """390 px, dark, Chinese: the page scrolls down, never sideways."""
    tab = visit(
        f"{path}?window=today",
        viewport={"width": 390, "height": 844},
        color_scheme="dark",
        locale="zh-CN",
    )
    main = tab.get_by_test_id("stMain")
    assert main.evaluate("e => e.scrollWidth - e.clientWidth") <= 0
