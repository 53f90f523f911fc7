"""A closed month at a corrected price, on its page: tried, booked, read again; who may, and not.

March 2024: two requests of t-alder, closed at 2.00 per million uncached tokens, corrected to 4.00.
By hand: 40,000 uncached tokens cost 0.16 instead of 0.08 CNY a request, 0.16 CNY more for two.
"""

from datetime import UTC, datetime

import httpx
import pytest

from tests.dashboard.conftest import BOOK, furnish, import_old, leg, serving, talk, wait_for
from tests.dashboard.test_pages import button, said

MARCH = {"window": "custom", "from": "2024-03-01", "to": "2024-03-31"}
CORRECTED = BOOK.replace('input = "2.00"', 'input = "4.00"')


@pytest.fixture(scope="module")
def corrected(tmp_path_factory):
    """The house after the close of March and the corrected book."""
    folder = tmp_path_factory.mktemp("corrected")
    with serving(folder, TOKENTILL_JOBS_MONTHLY_CLOSE="false") as found, talk(found) as api:
        furnish(api, ("u01",), "2024-03-01T00:00:00Z")
        at = datetime(2024, 3, 10, 12, tzinfo=UTC)
        import_old(found, folder, [leg(n, "t-alder", at) for n in range(2)])
        done = wait_for(lambda: closed(api))
        assert {each["tenant_id"] for each in done["tenants"]} == {"t-alder", "t-birch"}
        api.post("/v1/prices", json={"toml": CORRECTED}).raise_for_status()
        key = api.post("/v1/keys", json={"name": "test", "role": "viewer"})
        found.viewer = key.raise_for_status().json()["secret"]
        yield found


def closed(api):
    """The report of a close that billed both requests; None while they are being settled."""
    shown = api.get("/v1/close", params={"month": "2024-03"}).raise_for_status().json()
    usage = [each for each in shown["not_invoiced"] if each["tenant_id"] == "t-alder"]
    if sum(each["requests"] for each in usage) < 2:
        return None
    return api.post("/v1/close", json={"month": "2024-03"}).raise_for_status().json()


def shown_rows(test, column):
    """A column of the table that was drawn last."""
    return [str(value) for value in test.dataframe[-1].value[column]]


def test_a_rerate_needs_a_reason(show, corrected):
    """It is asked for, and nothing is tried."""
    test = button(show(corrected, "invoices", **MARCH), "Try it").click().run()
    assert "Say why" in test.warning[0].value


def test_it_is_tried_before_it_is_booked(show, corrected):
    """The trial shows 0.16 more for t-alder and leaves nothing; then it is booked, once."""
    test = show(corrected, "invoices", **MARCH)
    assert "Nothing of this month was rated anew." in said(test)
    next(box for box in test.text_input if "Reason" in box.label).set_value("listed at 2")
    button(test, "Try it").click().run()
    assert not test.error
    assert "Later invoices charge **¥0.16**." in said(test)
    assert shown_rows(test, "difference") == ["0.160000"]
    assert listed(corrected) == []
    button(test, "Book it for 2024-03").click().run()
    assert not test.exception
    (booked,) = listed(corrected)
    assert booked["reason"] == "listed at 2"
    assert test.query_params["rerate"] == booked["rerate_id"]
    assert "Later invoices charge **¥0.16**." in said(test)
    again = show(corrected, "invoices", **MARCH, rerate=booked["rerate_id"])
    next(box for box in again.text_input if "Reason" in box.label).set_value("once more")
    button(again, "Try it").click().run()
    assert "It changes nothing" in said(again)
    assert not [each for each in again.button if "Book it" in each.label]


def test_a_viewer_reads_and_does_not_rerate(show, corrected):
    """pricing/scope.py: books:read without invoices:write."""
    test = show(corrected, "invoices", key=corrected.viewer, **MARCH)
    assert not test.exception
    assert not [each for each in test.button if "Try it" in each.label]


def listed(server):
    """The re-rates on record."""
    headers = {"Authorization": f"Bearer {server.key}"}
    return httpx.get(f"{server.url}/v1/rerates", headers=headers).raise_for_status().json()["items"]
