"""A random walk over the pages: no console error of ours, no traceback, no exception on a page.

DASHBOARD_CLICKS says how far: 40 by default, 500 in `make soak`.
"""

import os
import random
from contextlib import suppress

import pytest
from playwright.sync_api import TimeoutError as TooLate
from playwright.sync_api import expect

pytestmark = pytest.mark.slow
CLICKS = int(os.environ.get("DASHBOARD_CLICKS", "40"))
SEED = 8
CLICKABLE = (
    "[data-testid=stSidebarNavLink], [data-testid=stMain] button:visible, "
    "[data-testid=stMain] summary, [data-testid=stMain] [role=radio]"
)
CANVAS = "[data-testid=stVegaLiteChart], [data-testid=data-grid-canvas]"
# What would end the walk: the key that walks, the browser's own windows.
LEFT_ALONE = ("Revoke", "Rotate", "Sign out", "Fullscreen", "Download as", "Copy", "Show data")
STREAMLITS = "/_stcore/"  # a page below the root probes for its server and is answered 404


@pytest.fixture
def walker(visit):
    """The tab, and what its console complained about."""
    tab, complaints = visit("overview?window=today"), []

    def heard(message):
        if message.type == "error" and STREAMLITS not in message.location.get("url", ""):
            complaints.append(f"{tab.url}: {message.text}")

    tab.on("console", heard)
    tab.on("pageerror", lambda error: complaints.append(f"{tab.url}: {error}"))
    return tab, complaints


def step(tab, chance):
    """Click something; whether it could be clicked."""
    if chance.random() < 0.2 and tab.locator(CANVAS).count():
        place = tab.locator(CANVAS).nth(chance.randrange(tab.locator(CANVAS).count()))
        if (box := place.bounding_box()) is None:
            return False
        spot = {
            axis: chance.random() * box[size] for axis, size in (("x", "width"), ("y", "height"))
        }
        place.click(position=spot, timeout=3_000)
        return True
    options = tab.locator("[role=option]:visible")
    things = options if options.count() else tab.locator(CLICKABLE)
    thing = things.nth(chance.randrange(things.count()))
    name = (thing.get_attribute("aria-label") or thing.inner_text(timeout=3_000)).strip()
    if any(word in name for word in LEFT_ALONE):
        return False
    thing.click(timeout=3_000)
    return True


def test_a_random_walk_breaks_nothing(walker, dashboard):
    """Every click is answered; what is typed nowhere; the seed is fixed."""
    tab, complaints = walker
    chance, clicks = random.Random(SEED), 0  # noqa: S311
    for _ in range(CLICKS * 5):
        done = False
        with suppress(TooLate):  # something lay over it, or it went away
            done = step(tab, chance)
        clicks += done
        if not done:
            tab.keyboard.press("Escape")
        tab.wait_for_timeout(250)
        expect(tab.get_by_test_id("stException")).to_have_count(0)
        if clicks >= CLICKS:
            break
    assert clicks == CLICKS
    assert complaints == []
    assert "Traceback" not in dashboard.log.read_text("utf-8")
