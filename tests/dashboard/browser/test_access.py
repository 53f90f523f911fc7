"""axe-core on every page: no serious finding outside Streamlit's own widgets."""

import pytest
import streamlit
from axe_playwright_python.sync_playwright import Axe

from dashboard.views import ENTRIES

pytestmark = pytest.mark.slow
SERIOUS = ("serious", "critical")
# What Streamlit draws and we cannot: rule → where, as seen with STREAMLIT; look again with another.
STREAMLIT = "1.67.0"
WIDGETS = {
    "list": ['data-testid="stSidebarNavItems"'],  # group names beside the items of the navigation
    "listitem": ['<li class="st-emotion-cache'],
    "svg-img-alt": ["role-mark metric_chart_"],  # the highlighted point of a metric's sparkline
}


def ours(finding):
    """The places of a finding that Streamlit does not own."""
    owned = WIDGETS.get(finding["id"], ())
    return [node["html"][:200] for node in finding["nodes"]
            if not any(part in node["html"] for part in owned)]  # fmt: skip


def test_the_list_of_widgets_is_of_this_version():
    """Another version may have mended what stands in WIDGETS."""
    assert streamlit.__version__ == STREAMLIT


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_can_be_read_by_everybody(visit, scheme):
    """WCAG by axe: labels, roles, contrast of texts, in light and dark."""
    tab = visit("overview?window=today", color_scheme=scheme)
    found = {}
    for entry in ENTRIES:
        if entry.path == "mine":
            continue
        tab.locator(f'[data-testid=stSidebarNavLink][href$="/{entry.path}"]').click()
        tab.wait_for_url(f"**/{entry.path}*")
        tab.wait_for_timeout(1_500)
        for finding in Axe().run(tab).response["violations"]:
            places = ours(finding) if finding["impact"] in SERIOUS else []
            if places:
                found.setdefault(finding["id"], {})[entry.path] = places
    assert found == {}
