"""Every page against a real server: with data, without, and when the API refuses."""

import re

import httpx
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.reads import Reader
from dashboard.sign_in import LISTS
from dashboard.views import ENTRIES
from tests.dashboard.conftest import BOOK, ONE_PAGE

PATHS = [entry.path for entry in ENTRIES]
HOUSE_PATHS = [path for path in PATHS if path != "mine"]


def test_each_key_sees_its_own_page_first(house):
    """A tenant's usage, the house's overview."""
    for key, right in ((house.tenant, "mine"), (house.viewer, "overview")):
        rights = Reader(house.url, key).allowed(LISTS)
        assert next(entry.path for entry in ENTRIES if entry.suits(rights)) == right


ODD = re.compile(r"\b(nan|None|inf|null)\b|\d[eE][+-]?\d", re.IGNORECASE)


def said(test):
    """Every text that a page shows."""
    parts = [*test.subheader, *test.markdown, *test.caption, *test.info, *test.error, *test.warning]
    return "\n".join(str(part.value) for part in parts)


@pytest.mark.parametrize("path", HOUSE_PATHS)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_page_answers_in_its_first_line(show, house, path, language):
    """A headline, no exception, and no number that is none."""
    test = show(house, path, window="today", lang=language)
    assert not test.exception
    assert not test.error
    assert test.subheader
    assert not ODD.findall(said(test))


@pytest.mark.parametrize(
    ("path", "section"),
    [("servers", "§3"), ("cache", "§9"), ("slo", "§11"), ("roi", "§8"), ("capacity", "§12")],
)
def test_an_economics_page_says_where_its_formulas_are(show, house, root, path, section):
    """The section of docs/formulas.md, and it is there."""
    shown = said(show(house, path, window="today"))
    assert "docs/formulas.md" in shown
    assert section in shown
    text = (root / "docs/formulas.md").read_text(encoding="utf-8")
    assert f"\n## {section.removeprefix('§')}. " in text


@pytest.mark.parametrize("path", PATHS)
def test_a_window_without_usage_says_what_to_do(show, house, path):
    """Nothing was metered in 2021: no exception, something to read."""
    test = show(house, path, **{"window": "custom", "from": "2021-03-01", "to": "2021-03-02"})
    assert not test.exception
    assert said(test)


def test_the_overview_tells_the_money(show, house):
    """By hand: 30 priced requests of 0.1 CNY are ¥3.00; the unpriced one is a finding."""
    test = show(house, "overview", window="today")
    assert test.subheader[0].value.startswith("Today has earned ¥3.00 so far")
    assert [metric.value for metric in test.metric][:1] == ["¥3.00"]
    assert "No price for the model" in said(test)


def test_the_hit_ratio_is_weighted_by_tokens(show, house):
    """By hand: every request has 60,000 of 100,000 input tokens cached."""
    assert (
        show(house, "cache", window="today").subheader[0].value.startswith("60.0\u00a0% of input")
    )


def test_a_registered_server_that_earned_nothing_is_named(show, house):
    """u02 is in service and idle; u01 earned all."""
    line = show(house, "servers", window="today").subheader[0].value
    assert "u01 earned 100.0\u00a0% of it." in line
    assert "Nothing came from u02." in line


def test_another_tenant_is_filtered_away(show, house):
    """By hand: ten requests of t-alder are ¥1.00."""
    test = show(house, "overview", window="today", tenant="t-alder")
    assert "¥1.00" in test.subheader[0].value


def test_a_tenant_sees_its_own_bill(show, house):
    """t-alder's key: ten requests, ¥1.00."""
    test = show(house, "mine", key=house.tenant, window="today")
    assert test.subheader[0].value.startswith("Today costs ¥1.00 so far")


def test_a_requests_story_shows_its_lines(show, house):
    """By hand: 40,000 × 2.00 + 60,000 × 0.20 + 1,000 × 8.00 per million = 0.1 CNY."""
    asked = {"start_at": "2026-01-01T00:00:00Z", "end_at": "2028-01-01T00:00:00Z", "limit": 1}
    headers = {"Authorization": f"Bearer {house.tenant}"}
    rows = httpx.get(f"{house.url}/v1/requests", params=asked, headers=headers).json()["items"]
    test = show(house, "tenants", request=rows[0]["request_id"])
    assert test.subheader[0].value.startswith("¥0.1 for t-alder / search")
    assert [str(a) for a in test.dataframe[0].value["amount"]] == [
        "0.080000",
        "0.012000",
        "0.008000",
    ]


def test_a_wrong_key_is_told_what_to_do(show, server):
    """The API's refusal and its remedy, no traceback."""
    test = show(server, "overview", key="tk_not_a_key_of_this_house_000000000000")
    assert not test.exception
    assert len(test.error) == 1


def test_a_silent_api_is_told_how_to_start(show, server):
    """Port 9 of loopback answers nobody."""
    silent = type(server)(url="http://127.0.0.1:9", key="tk_none")
    test = show(silent, "overview")
    assert not test.exception
    assert "The API does not answer." in test.error[0].value


def test_without_a_key_a_visitor_is_asked_for_one(show, server):
    """No key in the environment: a form, and nothing else."""
    test = show(server, "overview", key="")
    assert [box.label for box in test.text_input] == ["API key"]
    assert not test.metric


def button(test, label):
    """The button whose label contains `label`."""
    return next(each for each in test.button if label in each.label)


def test_other_prices_are_tried_on_the_same_tokens(show, house):
    """By hand: 1.2 M × 4 + 1.8 M × 0.2 + 0.03 M × 8 = 4.8 + 0.36 + 0.24 = ¥5.40, not ¥3.00."""
    test = show(house, "prices", window="today")
    test.text_input(key="what_if_uncached").set_value("4").run()
    assert "**¥5.40** instead of ¥3.00 (+80.0\u00a0%)" in said(test)
    test.text_input(key="what_if_uncached").set_value("four").run()
    assert "A price is a decimal number" in said(test)


def test_a_month_that_runs_is_not_closed(show, house):
    """Nobody's month has ended yet: it is said, and there is no button."""
    test = show(house, "invoices", window="month")
    assert not test.exception
    assert "still running: 2" in said(test)
    assert not [each for each in test.button if "Close" in each.label]


def test_a_new_keys_secret_is_shown_once(show, house):
    """It is in this run and in none after it."""
    test = show(house, "settings")
    test.text_input[0].set_value("reader")
    button(test, "Create").click().run()
    assert [code for code in test.code if code.value.startswith("tk_")]
    assert not [code for code in test.run().code if code.value.startswith("tk_")]


def test_a_viewer_is_not_offered_what_the_api_would_refuse(show, house):
    """pricing/scope.py: a viewer reads jobs and invoices, and neither backs up nor closes."""
    labels = [
        each.label
        for path in ("jobs", "invoices")
        for each in show(house, path, key=house.viewer).button
    ]
    assert not [label for label in labels if "Back up" in label or "Close" in label]


def test_a_case_that_cannot_be_weighed_says_why(show, house):
    """No TOML at all, then TOML that is no sheet: a message each, no traceback."""
    test = show(house, "capacity")
    test.text_area[0].set_value("= nonsense")
    button(test, "Size it").click().run()
    assert "This is no TOML" in said(test)
    test.text_area[0].set_value('name = "empty"')
    button(test, "Size it").click().run()
    assert not test.exception
    assert len(test.error) == 1


def test_a_book_is_tried_on_the_window(house, monkeypatch):
    """By hand: 1.2 M × 2 + 1.8 M × 0.1 + 0.03 M × 8 = ¥2.82 with hits at half price."""
    monkeypatch.setenv("TOKENTILL_API_URL", house.url)
    monkeypatch.setenv("TOKENTILL_API_KEY", house.key)
    monkeypatch.setenv("BOOK", BOOK.replace('cached_input = "0.20"', 'cached_input = "0.10"'))
    test = AppTest.from_file(str(ONE_PAGE.with_name("one_trial.py")), default_timeout=60)
    test.query_params["window"] = "today"
    test.run()
    button(test, "Try it").click().run()
    assert not test.error
    assert "**¥2.82** instead of ¥3 (−6.0\u00a0%)" in said(test)


def test_servers_are_reconciled_by_hour_and_model(show, house):
    """Choosing both asks the server once more, which answers."""
    test = show(house, "quality", window="today")
    test = test.button_group(key="apart").set_value(["hour", "model"]).run()
    assert not test.exception
    assert not test.error
