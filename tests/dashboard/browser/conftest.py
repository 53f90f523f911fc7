"""`tokentill dashboard` as a process, and Debian's Chromium."""

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect, sync_playwright

from tests.dashboard.conftest import answers, free_port, wait_for

NAMES = ("chromium", "chromium-browser", "google-chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
)
expect.set_options(timeout=60_000)


@contextmanager
def showing(server, folder, *arguments, port=None):
    """`tokentill dashboard` without a key of its own, and without a traceback in its log."""
    port, log = port or free_port(), folder / "log"
    command = [sys.executable, "-m", "tokentill", "dashboard", "--port", str(port), *arguments]
    with log.open("wb") as out:
        process = subprocess.Popen(
            command, env={**os.environ, "TOKENTILL_API_URL": server.url}, stdout=out, stderr=out
        )
    try:
        url = f"http://127.0.0.1:{port}"
        wait_for(lambda: answers(f"{url}/_stcore/health"))
        yield SimpleNamespace(url=url, log=log, key=server.key, process=process)
        assert "Traceback" not in log.read_text("utf-8")
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="module")
def dashboard(house, tmp_path_factory):
    """The dashboard of the house with today's usage."""
    with showing(house, tmp_path_factory.mktemp("dashboard")) as found:
        yield found


@pytest.fixture(scope="module")
def browser():
    """Debian's Chromium."""
    path = next(filter(None, map(shutil.which, NAMES)))
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=path, args=list(ARGUMENTS))
        yield made
        made.close()


@pytest.fixture
def tab_of(browser):
    """A function that opens a tab of its own, in English at 1280 px unless it is told otherwise."""
    contexts = []

    def open_tab(url, **options):
        defaults = {"viewport": {"width": 1280, "height": 900}, "locale": "en-GB"}
        contexts.append(browser.new_context(**defaults | options))
        tab = contexts[-1].new_page()
        tab.goto(url)
        return tab

    yield open_tab
    for context in contexts:
        context.close()


def sign_in(tab, key):
    """The tab once a page has answered the key."""
    tab.locator("input[type=password]").fill(key)
    tab.locator("input[type=password]").press("Enter")
    expect(tab.locator("h3").first).to_be_visible()
    return settled(tab)


@pytest.fixture
def visit(tab_of, dashboard):
    """A function that signs in and opens a page of the house: the browser's tab."""

    def open_page(path="", key=None, **options):
        return sign_in(tab_of(f"{dashboard.url}/{path}", **options), key or dashboard.key)

    return open_page


def settled(tab):
    """The tab once the run has ended."""
    expect(tab.get_by_test_id("stStatusWidget")).to_have_count(0)
    expect(tab.get_by_test_id("stSkeleton")).to_have_count(0)
    return tab


def click_first_row(tab, grid):
    """Tick the first row's box; the grid is drawn on a canvas."""
    grid.scroll_into_view_if_needed()
    expect(grid.get_by_test_id("data-grid-canvas")).to_be_visible()
    box = grid.bounding_box()
    tab.mouse.click(box["x"] + 16, box["y"] + 52)
