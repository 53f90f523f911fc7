"""Prices, investment case and capacity sheet beside what was metered, and beside another window."""

from datetime import UTC, datetime, timedelta

import httpx
import pytest

from dashboard.demand import _busiest
from dashboard.periods import Period
from dashboard.summary import INPUTS
from tests.dashboard.test_pages import button, said

JUNE_10 = {"window": "custom", "from": "2024-06-10", "to": "2024-06-10"}
SHEET = """\
name = "June"

[prefill]
demand_tokens_per_second = 200
target_utilization = 0.8
classes = [{ tokens_per_second = 200, token_share = 1 }]

[decode]
demand_tokens_per_second = 2
target_utilization = 0.8
classes = [{ tokens_per_second = 10, token_share = 1 }]
"""


def column(test, name, place=0):
    """A column of the table at `place`, as text."""
    return [str(value) for value in test.dataframe[place].value[name]]


def test_each_models_revenue_stands_beside_the_window_before(show, past):
    """10 June: 84 requests of 0.1 CNY; 9 June: 36; 8.4 ÷ 3.6 − 1 = +133.3 %."""
    test = show(past, "prices", **JUNE_10)
    assert not test.exception
    assert "The window before: ¥3.60" in said(test)
    assert column(test, "amount") == ["8.40"]
    assert column(test, "amount_before") == ["3.60"]
    assert float(column(test, "change")[0]) == pytest.approx(133.33, abs=0.01)


def test_the_demand_of_a_sheet_stands_beside_what_was_metered(show, past):
    """10 June: 85 requests of 100,000 tokens in, 1,000 out, over 86,400 s; 9 June: 36.

    In: 98.4 tok/s, at the busiest (12 h: five requests) 138.9; before 41.7: +136.1 %; the sheet
    asks for 200, of which that is 49.2 %.
    """
    test = show(past, "capacity", **JUNE_10, sheet=SHEET)
    assert not test.exception
    assert not test.error
    table = next(n for n, each in enumerate(test.dataframe) if "busiest" in each.value)
    assert column(test, "mean", table) == ["98.4", "1.0"]
    assert column(test, "busiest", table) == ["138.9", "1.4"]
    assert column(test, "before", table) == ["41.7", "0.4"]
    assert float(column(test, "change", table)[0]) == pytest.approx(136.1, abs=0.1)
    assert float(column(test, "share", table)[0]) == pytest.approx(49.2, abs=0.1)


def test_an_hour_that_still_runs_counts_as_far_as_it_has_come():
    """3,600 tokens in a whole hour: 1 a second, in the half hour since 2: never below the mean."""
    start, hour = datetime(2026, 6, 1, tzinfo=UTC), timedelta(hours=1)
    period = Period(start, start + 24 * hour, start + 1.5 * hour)
    rows = [
        dict.fromkeys(INPUTS, 0) | {"uncached_tokens": 3600, "start_at": at, "end_at": at + hour}
        for at in (start, start + hour)
    ]
    assert _busiest(rows, "prefill", period) == 2


def test_a_case_stands_beside_what_a_server_metered(show, past):
    """u01 works at 40 % of its rating or less: another NPV, with both exact on hover."""
    test = show(past, "roi", **JUNE_10, versus="server u01")
    assert not test.exception
    assert not test.error
    assert "Changes are against: This case at what u01 metered in the window" in said(test)
    assert all(metric.delta for metric in test.metric[:1])


def test_a_case_beside_itself_differs_by_nothing(show, past):
    """A saved case against the same assumptions: net present value and profit differ by ¥0.00."""
    test = show(past, "roi", **JUNE_10)
    button(test, "Save this case").click().run()
    headers = {"Authorization": f"Bearer {past.key}"}
    saved = (
        httpx.get(f"{past.url}/v1/roi/cases", headers=headers).raise_for_status().json()["items"]
    )
    test = show(past, "roi", **JUNE_10, versus=f"case {saved[-1]['case_id']}")
    assert not test.error
    assert {test.metric[place].delta for place in (0, 3)} == {"+¥0.00"}


def test_without_usage_there_is_nothing_to_compare_with(show, past):
    """A window of 2021: the case and the sheet stand alone, a metered case says why it cannot."""
    empty = {"window": "custom", "from": "2021-03-01", "to": "2021-03-02"}
    assert "busiest" not in "".join(
        each.value.to_csv() for each in show(past, "capacity", **empty).dataframe
    )
    test = show(past, "roi", **empty, versus="server u01")
    assert not test.exception
    assert "u01 billed nothing in CNY in that window." in test.error[0].value
