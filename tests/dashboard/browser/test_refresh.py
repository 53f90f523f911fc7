"""A page whose window runs draws itself anew: new figures in place, and nothing else moves."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

from tests.dashboard.browser.conftest import settled, showing, sign_in
from tests.dashboard.conftest import furnish, leg, send, serving, talk

pytestmark = pytest.mark.slow
WATCH = """() => {
    const count = () => ({
        charts: document.querySelectorAll("[data-testid=stVegaLiteChart] :is(canvas, svg)").length,
        figures: document.querySelectorAll("[data-testid=stMetric]").length,
        headlines: document.querySelectorAll("[data-testid=stMain] h3").length,
        elements: document.querySelectorAll("[data-testid=stElementContainer]").length,
    });
    window.start = count();
    window.least = count();
    new MutationObserver(() => {
        const now = count();
        for (const name in now) window.least[name] = Math.min(window.least[name], now[name]);
    }).observe(document.querySelector("[data-testid=stMain]"), {childList: true, subtree: true});
    document.querySelector("[data-testid=stMain] h3").marked = true;
    document.querySelector("[data-testid=stVegaLiteChart]").marked = true;
}"""
SEEN = """() => ({
    start: window.start, least: window.least,
    kept: Boolean(document.querySelector("[data-testid=stMain] h3").marked
        && document.querySelector("[data-testid=stVegaLiteChart]").marked),
})"""


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """A house with ten requests of today for each of two tenants, and its dashboard."""
    with serving(tmp_path_factory.mktemp("running")) as found, talk(found) as api:
        now = datetime.now(UTC)
        furnish(api, ("u01",), (now - timedelta(days=1)).isoformat())
        tenants = ("t-alder", "t-birch")
        send(api, [leg(n, tenants[n % 2], now - timedelta(seconds=1)) for n in range(20)], now)
        with showing(found, tmp_path_factory.mktemp("dashboard")) as shown:
            yield SimpleNamespace(api=api, url=shown.url, key=shown.key)


def test_new_usage_comes_in_without_a_click(running, tab_of):
    """By hand: t-alder's ten requests of 0.1 CNY are ¥1.00, with five more ¥1.50.

    The filter, the address and the place to which the page was scrolled stay; no figure or chart
    goes away in between, and none is made anew.
    """
    tab = sign_in(tab_of(f"{running.url}/overview?window=today&tenant=t-alder"), running.key)
    expect(tab.locator("h3").first).to_contain_text("¥1.00")
    expect(tab.get_by_test_id("stVegaLiteChart")).to_have_count(3)
    main = settled(tab).get_by_test_id("stMain")
    main.evaluate("e => { e.scrollTop = 240 }")
    place, address = main.evaluate("e => e.scrollTop"), tab.url
    assert place > 0
    tab.evaluate(WATCH)
    now = datetime.now(UTC)
    more = [leg(100 + n, "t-alder", now - timedelta(seconds=1)) for n in range(5)]
    send(running.api, more, now)
    expect(tab.locator("h3").first).to_contain_text("¥1.50", timeout=120_000)
    seen = tab.evaluate(SEEN)
    assert seen["least"] == seen["start"]
    assert seen["kept"]
    assert main.evaluate("e => e.scrollTop") == place
    assert tab.url == address
    expect(tab.get_by_role("combobox", name="Tenant")).to_have_value("t-alder")
