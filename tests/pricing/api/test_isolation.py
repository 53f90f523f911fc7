"""Case C09 on every route of the OpenAPI file: a tenant sees itself, and nobody means everybody."""

import json
import re
from decimal import Decimal
from urllib.parse import quote

import pytest

from pricing.api.openapi_file import openapi_text
from pricing.scope import Role
from tests.pricing.api.conftest import NOW
from tests.pricing.api.invoice_rows import document, put

DAY = {"start_at": "2026-10-01T00:00:00Z", "end_at": "2026-10-02T00:00:00Z"}
OPEN = {"/health/live", "/health/ready"}  # these alone answer without a key
ACCEPTS = ("application/json", "text/csv")


def operations():
    """(method, path, operation) of every route that the file describes."""
    for path, methods in json.loads(openapi_text())["paths"].items():
        for method, operation in methods.items():
            yield pytest.param(method.upper(), path, operation, id=f"{method} {path}")


OPERATIONS = list(operations())


@pytest.fixture(scope="module")
def birch(furnished):
    """What t-birch has and t-alder must not see: a value for every parameter of a path."""
    owed = {"tenant_id": "t-birch", "state": "final", "gross_amount": Decimal(99)}
    with furnished.ledger.write(actor="test", at=NOW) as change:
        put(change, document("INV-BIRCH", **owed))
    listed = furnished.get("/v1/requests", params=DAY | {"tenant_id": "t-birch"}).json()
    keys = furnished.get("/v1/keys", furnished.tenant["t-birch"]).json()["items"]
    return {
        "tenant_id": "t-birch",
        "project_id": "search",
        "cost_centre_id": "4711",
        "request_id": listed["items"][0]["request_id"],
        "key_id": keys[0]["key_id"],
        "node_id": "u01",
        "book": "list-cny",
        "revision": "1",
        "finding_id": "3f1c9a526f2d4d6c",
        "quarantine_id": "00",
        "number": "INV-BIRCH",
        "format_": "json",
        "dispute_id": "00000000-0000-0000-0000-00000000dead",
        "issuer_id": "house",
        "case_id": "00000000-0000-0000-0000-00000000dead",
        "rerate_id": "rr_00",
        "job": "monthly_export",
        "period": "2026-09",
        "kind": "usage",
    }


def ask(house, method, path, operation, *, key, values, asked=None):
    """The route with `values` in its path, and the parameters that it requires."""
    for name, value in values.items():
        path = path.replace("{" + name + "}", quote(value, safe=""))
    names = {each["name"] for each in operation.get("parameters", []) if each["in"] == "query"}
    params = {name: value for name, value in DAY.items() if name in names}
    if path == "/v1/prices/quote":
        params["model_id"] = "m-river"
    if asked and "tenant_id" in names:
        params |= asked
    body = {} if method in ("POST", "PATCH") else None
    return house.send(method, path, key=key, params=params, json=body)


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_without_a_key_nothing_is_shown(furnished, birch, method, path, operation):
    """401 before anything else is looked at."""
    answer = ask(furnished, method, path, operation, key="", values=birch)
    assert (answer.status_code == 401) != (path in OPEN), answer.text


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_a_tenant_never_reads_another(furnished, birch, method, path, operation):
    """With and without naming it: no answer holds its id, its request, or its 99 CNY."""
    alder = furnished.tenant["t-alder"]
    for asked in ({}, {"tenant_id": "t-birch"}, {"tenant_id": "t-alder,t-birch"}):
        answer = ask(furnished, method, path, operation, key=alder, values=birch, asked=asked)
        if path in OPEN:
            continue
        assert answer.status_code in (200, 403, 404, 422), answer.text
        if answer.status_code == 200:
            leaked = {"t-birch", "99", birch["request_id"], birch["key_id"], birch["number"]}
            assert not {word for word in leaked if f'"{word}"' in answer.text}


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_a_key_without_tenant_reads_nobody(furnished, birch, method, path, operation):
    """A node's and a gateway's key write usage; every other route is closed to them."""
    for key in (furnished.node, furnished.gateway):
        answer = ask(furnished, method, path, operation, key=key, values=birch)
        ingest = path.startswith(("/v1/usage/", "/api/v1/events"))
        if path not in OPEN and not ingest:
            assert answer.status_code == 403, answer.text


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_a_tenant_changes_nothing(furnished, birch, method, path, operation):
    """Not even what is its own: its keys, prices and months are the house's to keep."""
    if method == "GET":
        return
    own = birch | {"tenant_id": "t-alder"}
    alder = furnished.tenant["t-alder"]
    answer = ask(furnished, method, path, operation, key=alder, values=own)
    assert answer.status_code in (403, 404), answer.text


def test_every_parameter_of_a_path_has_a_value(furnished, birch):
    """A new route that no value fits would answer 404 to everybody, and show nothing here."""
    asked = {name for each in OPERATIONS for name in re.findall(r"{(\w+)}", each.values[1])}
    assert asked <= birch.keys()
    for path in (f"/v1/invoices/{birch['number']}", f"/v1/requests/{birch['request_id']}"):
        assert furnished.get(path).status_code == 200  # it is there to be seen, for the house


def test_the_calls_of_case_c09(furnished):
    """tenant=t-birch: 403; both: 403; birch's request: 404; no filter: 10 CNY, not 99 or 109."""
    alder = furnished.tenant["t-alder"]
    for named in ("t-birch", "t-alder,t-birch"):
        answer = furnished.get("/v1/usage", alder, params=DAY | {"tenant_id": named})
        assert answer.status_code == 403
    for accept in ACCEPTS:
        shown = furnished.get("/v1/usage", alder, params=DAY, headers={"Accept": accept})
        assert "99" not in shown.text.replace("1999", "")
    (row,) = furnished.get("/v1/usage", alder, params=DAY).json()["items"]
    assert (row["requests"], row["amount"]) == (10, "10")


def test_a_cursor_of_the_house_opens_nothing_for_a_tenant(furnished):
    """The scope comes from the credential on every page."""
    page = furnished.get("/v1/requests", params=DAY | {"limit": 1}).json()
    params = DAY | {"limit": 1000, "cursor": page["next_cursor"]}
    answer = furnished.get("/v1/requests", furnished.tenant["t-alder"], params=params)
    owners = {row["tenant_id"] for row in answer.json().get("items", [])}
    assert owners <= {"t-alder"}


def test_a_foreign_request_looks_like_none(furnished, birch):
    """The same status and the same words, so that ids cannot be tried out."""
    alder = furnished.tenant["t-alder"]
    answers = [
        furnished.get(f"/v1/requests/{each}", alder)
        for each in (birch["request_id"], "00000000-0000-0000-0000-00000000dead")
    ]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert len({answer.json()["detail"].partition(",")[2] for answer in answers}) == 1


@pytest.mark.parametrize("role", [Role.VIEWER, Role.FINANCE])
def test_the_house_reads_without_being_operator(furnished, role):
    """Viewer and finance see every tenant; neither makes keys."""
    key = {Role.VIEWER: furnished.viewer, Role.FINANCE: furnished.finance}[role]
    (row,) = furnished.get("/v1/usage", key, params=DAY).json()["items"]
    assert row["amount"] == "110"
    answer = furnished.send("POST", "/v1/keys", key=key, json={"name": "x", "role": "operator"})
    assert answer.status_code == 403
