"""`fields`, `sort` and `order`: on every list, in every representation."""

import json

import pyarrow as pa
import pytest

from pricing.api.openapi_file import openapi_text
from pricing.api.representation import ARROW

DAY = {"start_at": "2026-10-01T00:00:00Z", "end_at": "2026-10-02T00:00:00Z"}
BY_TENANT = DAY | {"group_by": ["tenant_id"], "fields": ["amount", "tenant_id"]}
DOCUMENT = json.loads(openapi_text())
LISTS = [
    (path, {each["name"] for each in methods["get"]["parameters"]})
    for path, methods in DOCUMENT["paths"].items()
    if "/ListingOfChosenFields" in str(methods.get("get", {}).get("responses", {}).get("200"))
]


def test_every_list_takes_fields_and_an_order():
    """Pages have the order of their key, either way; what comes whole is sorted by any field."""
    assert len(LISTS) > 20
    assert {"/v1/usage", "/v1/invoices", "/v1/doctor"} <= dict(LISTS).keys()
    for path, names in LISTS:
        assert "fields" in names, path
        assert ("order" in names) == ("cursor" in names), path
        assert ("sort" in names) != ("cursor" in names), path


def test_fields_choose_the_columns(furnished):
    """As asked for, in JSON, CSV and Arrow; the other columns are not there at all."""
    items = furnished.get("/v1/usage", params=BY_TENANT).json()["items"]
    assert {"amount": "10", "tenant_id": "t-alder"} in items
    text = furnished.get("/v1/usage", params=BY_TENANT, headers={"Accept": "text/csv"}).text
    assert text.startswith("amount,tenant_id\r\n")
    answer = furnished.get("/v1/usage", params=BY_TENANT, headers={"Accept": ARROW})
    table = pa.ipc.open_stream(answer.content).read_all()
    assert table.schema.names == ["amount", "tenant_id"]


@pytest.mark.parametrize(
    ("sort", "owners"),
    [
        ("amount", [None, "t-alder", "t-birch"]),
        ("-amount", ["t-birch", "t-alder", None]),
        ("-tenant_id", ["t-birch", "t-alder", None]),
        ("tenant_id", ["t-alder", "t-birch", None]),
    ],
)
def test_rows_are_sorted_and_the_unknown_is_last(furnished, sort, owners):
    """Amounts 1 (nobody), 10, 99: as numbers, where text would put 10 before 2."""
    answer = furnished.get("/v1/usage", params=BY_TENANT | {"sort": sort})
    assert [row["tenant_id"] for row in answer.json()["items"]] == owners


@pytest.mark.parametrize("asked", [{"sort": "amuont"}, {"sort": "--amount"}, {"fields": "secret"}])
def test_a_field_that_is_not_there_is_refused(furnished, asked):
    """422 with the fields that there are."""
    answer = furnished.get("/v1/usage", params=DAY | asked)
    assert (answer.status_code, "amount_max" in answer.json()["remedy"]) == (422, True)


@pytest.mark.parametrize("path", ["/v1/requests", "/v1/keys", "/v1/audit", "/v1/quarantine"])
def test_backward_is_forward_reversed(furnished, path):
    """Over all pages of either way; a cursor of one way is refused on the other."""
    window = DAY if path == "/v1/requests" else {}
    ways = {}
    for order in ("forward", "backward"):
        asked, ways[order] = window | {"order": order, "limit": 7}, []
        while asked is not None:
            page = furnished.get(path, params=asked).json()
            ways[order] += page["items"]
            cursor = page["next_cursor"]
            asked = asked | {"cursor": cursor} if cursor else None
    assert ways["backward"] == ways["forward"][::-1]
