"""Take the pictures of the documentation from a running demo.

    python docs/pictures/take.py [--requests 2000]

Starts `tokentill demo`, waits for its dashboard, and writes its pages here as PNG files.
"""

import argparse
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

FOLDER = Path(__file__).resolve().parent
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
PICTURES = {  # file → page, locale, charts that it has
    "overview.png": ("overview?window=30d", "en-GB", 3),
    "overview.zh.png": ("overview?window=30d", "zh-CN", 3),
    "servers.png": ("servers?window=30d", "en-GB", 2),
    "cache.png": ("cache?window=30d", "en-GB", 2),
    "invoices.png": ("invoices?window=last_month", "en-GB", 0),
    "roi.png": ("roi?window=30d", "en-GB", 3),
}
SIZE = {"width": 1360, "height": 1080}  # CSS pixels; the whole page without scrolling
SCALE = 1.5  # device pixels per CSS pixel
LIVE_MILLISECONDS = 45_000  # of live traffic before the first picture
WAIT_MILLISECONDS = 120_000
SETTLE_MILLISECONDS = 3_000  # fonts and the last transition
DRAWN = """charts =>
    document.querySelectorAll("[data-testid=stVegaLiteChart] :is(canvas, svg)").length >= charts
    && !document.querySelector("[data-testid=stSkeleton]")"""


def address(demo: subprocess.Popen[str]) -> str:
    """The dashboard's address, once the demo names it on stderr."""
    assert demo.stderr is not None
    for line in demo.stderr:
        sys.stderr.write(line)
        if found := re.search(r"dashboard\s+(http\S+)", line):
            return found.group(1)
    raise SystemExit(f"tokentill demo ended with {demo.wait()}; see above")


def take(browser: Browser, url: str, name: str) -> None:
    """One page in one language, once all of its charts are drawn."""
    path, locale, charts = PICTURES[name]
    page = browser.new_page(viewport=SIZE, device_scale_factor=SCALE, locale=locale)
    page.goto(f"{url}/{path}", timeout=WAIT_MILLISECONDS)
    page.wait_for_function(DRAWN, arg=charts, timeout=WAIT_MILLISECONDS)
    page.wait_for_timeout(SETTLE_MILLISECONDS)
    page.screenshot(path=FOLDER / name)
    print(FOLDER / name)


def main() -> None:
    """Run the demo, take every picture, end the demo."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--requests", default="2000")
    options = parser.parse_args()
    command = [sys.executable, "-m", "tokentill", "demo", "--requests", options.requests]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as demo:
        try:
            url = address(demo)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(
                    executable_path=next(filter(None, map(shutil.which, BROWSERS))),
                    args=list(SWITCHES),
                )
                browser.new_page().wait_for_timeout(LIVE_MILLISECONDS)
                for name in PICTURES:
                    take(browser, url, name)
        finally:
            demo.send_signal(signal.SIGINT)


if __name__ == "__main__":
    main()
