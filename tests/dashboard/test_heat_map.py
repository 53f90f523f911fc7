"""The heat map's cells: what was billed, what was not, and what nobody knows."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from zoneinfo import ZoneInfo

from streamlit.testing.v1 import AppTest

from dashboard import views
from dashboard.formats import Formats
from dashboard.heat_map import _cells, hours_asked, silent_since
from dashboard.periods import Period
from dashboard.texts import Words

START = datetime(2026, 6, 1, tzinfo=UTC)
PERIOD = Period(START, START + timedelta(hours=3), START + timedelta(hours=3))
PAGE = SimpleNamespace(
    words=Words("en"),
    formats=Formats("en", ZoneInfo("UTC")),
    filters=SimpleNamespace(period=PERIOD, zone=ZoneInfo("UTC")),
)
HOUR = {"node_id": "p01", "hour_start_at": START, "currency": "CNY",
        "revenue": Decimal("1.25"), "utilization_ratio": 0.4}  # fmt: skip


def cells(silent, **options):
    """Kind and value of each hour of p01, which earned in the first hour alone."""
    found = _cells(PAGE, [{"node_id": "p01"}], [HOUR], silent, **options)
    return [(cell["kind"], cell["value"]) for cell in found]


def test_a_silent_sidecar_is_no_zero():
    """Last heard at 02:00: the third hour is unknown; the second is known and earned nothing."""
    heard = [{"kind": "silent_node", "node_id": "p01", "last_at": START + timedelta(hours=2)}]
    assert cells(silent_since(heard), revenue=False) == [
        ("used", 0.4), ("nothing", None), ("silent", None),
    ]  # fmt: skip


def test_hours_in_which_nothing_was_earned_are_drawn():
    """Seen in a random walk: no cell can be chosen, and the page broke for want of one."""
    script = Path(__file__).with_name("one_idle_week.py")
    assert not AppTest.from_file(script).run(timeout=30).exception


def test_the_exact_amount_is_kept_for_hover():
    """The colour is a float; the words hold every digit."""
    assert cells({}, revenue=True)[0] == ("used", 1.25)
    (first, *_) = _cells(PAGE, [{"node_id": "p01"}], [HOUR], {}, revenue=True)
    assert first["shown"] == "¥1.25 · U 40.0\u00a0%"


def test_a_long_window_shows_its_last_week():
    """30 days that are over: the question is for the last seven."""
    period = Period(START, START + timedelta(days=30), START + timedelta(days=30))
    assert dict(hours_asked(period).params)["start_at"] == "2026-06-24T00:00:00+00:00"


def test_pages_are_short():
    """One question a page: under 200 lines."""
    files = Path(views.__file__).parent.glob("*.py")
    assert [file.name for file in files if len(file.read_text("utf-8").splitlines()) >= 200] == []
