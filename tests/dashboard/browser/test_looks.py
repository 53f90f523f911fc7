"""How pages look, against pictures of the same data: by tolerance, since machines draw differently.

DASHBOARD_LOOKS=keep writes the pictures anew; look at each before it is committed.
"""

import io
import os
from pathlib import Path

import pytest
from PIL import Image, ImageChops, ImageStat

from tests.dashboard.browser.conftest import showing, sign_in

pytestmark = pytest.mark.slow
FOLDER = Path(__file__).with_name("looks")
SMALL = 4  # a picture is kept at a quarter of its size, in grey: a few kB
TOLERANCE = 0.01  # mean difference of a pixel, of full black to white
PLACES_OFF = 0.04  # share of pixels that differ by more than an eighth
DAY = "window=custom&from=2024-06-10&to=2024-06-10"
PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark", "locale": "zh-CN"}
LOOKS = {
    "overview": (f"overview?{DAY}", {}),
    "servers": (f"servers?{DAY}&server=u02&day=2024-06-10", {}),
    "cache": (f"cache?{DAY}", {}),
    "tenants": (f"tenants?{DAY}", {}),
    "overview-phone": (f"overview?{DAY}", PHONE),
    "servers-phone": (f"servers?{DAY}", PHONE),
}
# The words that change with the clock are not compared.
STILL = "[data-testid=stCaptionContainer]:last-of-type {visibility: hidden}"


@pytest.fixture(scope="module")
def books(past, tmp_path_factory):
    """The dashboard of the house of 2024."""
    with showing(past, tmp_path_factory.mktemp("looks")) as found:
        yield found


def picture(tab):
    """The tab, small and grey."""
    tab.add_style_tag(content=STILL)
    tab.mouse.move(0, 0)
    tab.wait_for_timeout(2_500)  # fonts and the last transition
    image = Image.open(io.BytesIO(tab.screenshot())).convert("L")
    return image.resize((image.width // SMALL, image.height // SMALL), Image.Resampling.BOX)


@pytest.mark.parametrize("name", LOOKS)
def test_a_page_looks_as_it_was_approved(books, past, tab_of, name):
    """Same size, and neither pale everywhere nor another picture somewhere."""
    path, options = LOOKS[name]
    seen, kept = (
        picture(sign_in(tab_of(f"{books.url}/{path}", **options), past.key)),
        FOLDER / f"{name}.png",
    )
    if os.environ.get("DASHBOARD_LOOKS") == "keep":
        seen.quantize(16).save(kept, optimize=True)
    right = Image.open(kept).convert("L")
    assert seen.size == right.size
    difference = ImageChops.difference(seen, right)
    off = sum(difference.histogram()[32:]) / (seen.width * seen.height)
    assert ImageStat.Stat(difference).mean[0] / 255 <= TOLERANCE
    assert off <= PLACES_OFF


def test_another_page_would_be_noticed():
    """The tolerance tells the pages from each other: each differs from each more than it allows."""
    wide = [
        Image.open(FOLDER / f"{name}.png").convert("L")
        for name in ("overview", "servers", "cache", "tenants")
    ]
    for place, one in enumerate(wide):
        for other in wide[place + 1 :]:
            assert ImageStat.Stat(ImageChops.difference(one, other)).mean[0] / 255 > TOLERANCE
