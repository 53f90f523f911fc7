"""Pages by key: none twice, none missing, while rows arrive; and a cursor that is not ours."""

import base64
import json

import pytest

from tests.pricing.api.conftest import BOOK, leg

DAY = {"start_at": "2026-10-01T00:00:00Z", "end_at": "2026-10-02T00:00:00Z"}


def test_pages_hold_every_request_once_while_others_arrive(house):
    """30 requests in pages of 7; between the pages others come, before and after the cursor."""
    house.send("POST", "/v1/prices", json={"toml": BOOK})
    house.settle(*(leg(number, "t-alder") for number in range(100, 130)))
    params, seen, extra = DAY | {"limit": 7}, [], 0
    while True:
        page = house.get("/v1/requests", params=params).json()
        seen += [row["request_id"] for row in page["items"]]
        if page["next_cursor"] is None:
            break
        params["cursor"] = page["next_cursor"]
        house.settle(leg(extra, "t-alder"), leg(900 + extra, "t-alder"))
        extra += 1
    stood = {f"00000000-0000-0000-0000-{number:012x}" for number in range(100, 130)}
    assert len(seen) == len(set(seen))
    assert stood <= set(seen)


def test_pages_of_the_ledger(house):
    """Five keys and the operator's in pages of two: 2 + 2 + 2."""
    for number in range(5):
        house.send("POST", "/v1/keys", json={"name": str(number), "role": "viewer"})
    sizes, cursor = [], {}
    while cursor is not None:
        page = house.get("/v1/keys", params={"limit": 2} | cursor).json()
        sizes.append(len(page["items"]))
        cursor = {"cursor": page["next_cursor"]} if page["next_cursor"] else None
    assert sizes == [2, 2, 2]


def test_a_cursor_belongs_to_its_list_and_filters(furnished):
    """Elsewhere it would skip rows without a word."""
    cursor = furnished.get("/v1/requests", params=DAY | {"limit": 1}).json()["next_cursor"]
    for path, params in (
        ("/v1/requests", DAY | {"tenant_id": "t-birch"}),
        ("/v1/keys", {}),
    ):
        answer = furnished.get(path, params=params | {"cursor": cursor})
        assert (answer.status_code, "another list" in answer.json()["detail"]) == (422, True)


@pytest.mark.parametrize(
    "values", [[], [1], [1, 2, 3], [None, "x"], ["2026-10-01", "x"], ["x"] * 2]
)
def test_a_cursor_that_we_did_not_make_is_refused(furnished, values):
    """422 and never a database error, even where it names the right list."""
    ours = furnished.get("/v1/requests", params=DAY | {"limit": 1}).json()["next_cursor"]
    of_list = json.loads(base64.urlsafe_b64decode(ours + "=="))[0]
    for made in (json.dumps([of_list, *values]), json.dumps(values), "{", "\x00"):
        cursor = base64.urlsafe_b64encode(made.encode()).decode().rstrip("=")
        answer = furnished.get("/v1/requests", params=DAY | {"cursor": cursor})
        assert answer.status_code == 422, answer.text


@pytest.mark.parametrize("limit", ["0", "-1", "1001", "x", "1e3"])
def test_a_page_has_a_size(furnished, limit):
    """1 to 1,000 rows."""
    assert furnished.get("/v1/keys", params={"limit": limit}).status_code == 422
