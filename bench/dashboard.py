"""The dashboard over a large store, in a browser: first paint, a filter change, memory of reruns.

    python bench/dashboard.py [--requests 10000000] [--rounds 10] [--reruns 1000]

A month of requests is made inside the store; `tokentill serve`, `tokentill dashboard` and Debian's
Chromium run as processes of their own. Prints one JSON object:

- first_paint: seconds from the address to the headline and every chart, of a warm server whose
  cached answers have run out, by page
- filter_change: seconds from the choice of another tenant to the changed headline; no answer for
  that tenant is cached
- memory: resident MiB of the dashboard's process after the first tenth of the reruns, after all of
  them, and after each tenth
"""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, Final

import httpx
from playwright.sync_api import Page, sync_playwright
from playwright.sync_api import TimeoutError as TooLate

from bench.end_to_end import Server
from bench.reads import fill

BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
SWITCHES: Final = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
JUNE: Final = "window=custom&from=2026-06-01&to=2026-06-30"
CACHED_SECONDS: Final = 16  # dashboard/reads.py keeps an answer 15 s
PAGES: Final = {"overview": 3, "servers": 2, "tenants": 0, "invoices": 0}  # page → its charts
WALKED: Final = ("servers", "tenants", "overview")
TENTHS: Final = 10
WAIT_MILLISECONDS: Final = 120_000
DRAWN: Final = """charts =>
    document.querySelector("[data-testid=stMain] h3")
    && document.querySelectorAll("[data-testid=stVegaLiteChart] :is(canvas, svg)").length >= charts
    && !document.querySelector("[data-testid=stSkeleton]")"""
OTHER: Final = """before => {
    const found = document.querySelector("[data-testid=stMain] h3");
    return found && found.innerText !== before;
}"""


@contextmanager
def dashboard(server: Server) -> Iterator[tuple[str, int]]:
    """(address, process id) of a dashboard whose visitors act with the operator's key."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    key = str(server.api.headers["Authorization"]).removeprefix("Bearer ")
    told = {"TOKENTILL_API_URL": str(server.api.base_url), "TOKENTILL_API_KEY": key}
    command = [sys.executable, "-m", "tokentill", "dashboard", "--port", str(port)]
    process = subprocess.Popen(command, env={**os.environ, **told}, stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        while not _answers(f"{url}/_stcore/health"):
            time.sleep(0.2)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("utf-8")
        yield url, int(children.split()[0])
    finally:
        process.terminate()
        process.wait(30)


def _answers(url: str) -> bool:
    try:
        return httpx.get(url).is_success
    except httpx.TransportError:
        return False


def resident_mebibytes(process_id: int) -> float:
    """What the process holds in memory."""
    status = Path(f"/proc/{process_id}/status").read_text("utf-8")
    (kibibytes,) = re.findall(r"VmRSS:\s+(\d+) kB", status)
    return round(int(kibibytes) / 1024, 1)


def first_paint(tab: Page, url: str, page: str) -> float:
    """Seconds until the page of June is drawn."""
    begun = time.perf_counter()
    tab.goto(f"{url}/{page}?{JUNE}", wait_until="commit")
    tab.wait_for_function(DRAWN, arg=PAGES[page], timeout=WAIT_MILLISECONDS)
    return time.perf_counter() - begun


def filter_change(tab: Page, place: int) -> float:
    """Seconds from the choice of the tenant at `place` until the headline is another one."""
    before = tab.locator("[data-testid=stMain] h3").first.inner_text()
    tab.get_by_role("combobox", name="Tenant").click()
    option = tab.get_by_role("option").nth(place)
    option.wait_for()
    begun = time.perf_counter()
    option.click()
    tab.wait_for_function(OTHER, arg=before, timeout=WAIT_MILLISECONDS)
    return time.perf_counter() - begun


def rerun(tab: Page, numbers: range) -> None:
    """A run each, page after page."""
    for number in numbers:
        page = WALKED[number % len(WALKED)]
        before = tab.locator("[data-testid=stMain] h3").first.inner_text()
        tab.locator(f'[data-testid=stSidebarNavLink][href$="/{page}"]').click()
        try:
            tab.wait_for_function(OTHER, arg=before, timeout=WAIT_MILLISECONDS)
        except TooLate:
            said = tab.locator("[data-testid=stMain]").inner_text()
            raise SystemExit(f"run {number}, {page} after {before!r} shows:\n{said}") from None


def figures(seconds: list[float]) -> dict[str, float]:
    """Median and worst."""
    return {"median_seconds": round(median(seconds), 3), "max_seconds": round(max(seconds), 3)}


def measure(server: Server, asked: argparse.Namespace) -> dict[str, Any]:
    """Paint, change, rerun."""
    with dashboard(server) as (url, process_id), sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=next(filter(None, map(shutil.which, BROWSERS))), args=list(SWITCHES)
        )
        tab = browser.new_context(locale="en-GB").new_page()
        paints: dict[str, list[float]] = {page: [] for page in PAGES}
        for page in PAGES:  # once, so that everything is warm
            first_paint(tab, url, page)
        for _ in range(max(asked.rounds // 2, 1)):
            for page, spent in paints.items():
                time.sleep(CACHED_SECONDS)
                spent.append(first_paint(tab, url, page))
        first_paint(tab, url, "overview")
        changes = [filter_change(tab, place) for place in range(1, asked.rounds + 1)]
        first_paint(tab, url, "overview")
        held = []
        for tenth in range(TENTHS):
            first, after = (asked.reruns * each // TENTHS for each in (tenth, tenth + 1))
            rerun(tab, range(first, after))
            held.append(resident_mebibytes(process_id))
        return {
            "first_paint": {page: figures(spent) for page, spent in paints.items()},
            "filter_change": figures(changes),
            "memory": {"start_mib": held[0], "end_mib": held[-1], "mib_every_tenth": held},
        }


def main() -> None:
    """Fill, serve, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--reruns", type=int, default=1_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(folder / "home", requests=asked.requests, invoices=1_000)
        server = Server(folder)
        try:
            found = measure(server, asked)
        finally:
            server.stop()
    json.dump(vars(asked) | found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
