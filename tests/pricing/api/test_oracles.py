"""Case C09 where no row is shown: what an ETag, a count, a cursor, an aggregate or an error says.

Whatever t-birch does, every answer to t-alder stays as it was, byte for byte and header by header.
"""

from decimal import Decimal
from urllib.parse import quote

import pytest

from pricing.scope import Role
from tests.pricing.api.conftest import NOW, furnish, leg, open_house
from tests.pricing.api.invoice_rows import document, put
from tests.pricing.api.test_isolation import DAY, OPERATIONS, ask

ACCEPTS = ("application/json", "text/csv", "application/vnd.apache.arrow.stream")
VARY = {"x-request-id", "date", "last-modified"}  # the moment of each answer
GETS = [each for each in OPERATIONS if each.values[0] == "GET" and "/v1/" in each.values[1]]
ALDERS = {  # a value of t-alder's own, or of the house, for each parameter of a path
    "tenant_id": "t-alder",
    "project_id": "search",
    "request_id": f"00000000-0000-0000-0000-{0:012x}",
    "kind": "chargeback",
    "number": "INV-ALDER",
    "format_": "json",
}
NOBODYS = {  # what there is not; of the same form
    "tenant_id": "t-nobody",
    "request_id": "00000000-0000-0000-0000-00000000dead",
    "number": "INV-NOBODY",
    "key_id": "key_000000000000dead",
}


@pytest.fixture(scope="module")
def two(ledger_template, tmp_path_factory):
    """A house of its own with both tenants, a key of t-alder, and documents of both."""
    with open_house(ledger_template, tmp_path_factory.mktemp("two")) as made:
        furnish(made)
        made.alder = made.key(Role.TENANT, tenant_id="t-alder")
        made.birch_key = made.key(Role.TENANT, tenant_id="t-birch")
        with made.ledger.write(actor="test", at=NOW) as change:
            for name, amount in (("ALDER", 10), ("BIRCH", 99)):
                owed = {"tenant_id": f"t-{name.lower()}", "gross_amount": Decimal(amount)}
                put(change, document(f"INV-{name}", state="final", **owed))
        yield made


def seen(house):
    """Every answer to t-alder's key, of every GET route in every representation."""
    answers = {}
    for each in GETS:
        method, path, operation = each.values
        values = {name: ALDERS.get(name, "x") for name in path_names(path)}
        for accept in ACCEPTS:
            answer = ask_as(house, method, path, operation, values=values, accept=accept)
            headers = {k: v for k, v in answer.headers.items() if k not in VARY}
            body = answer.content
            if answer.headers.get("content-type") == "application/problem+json":
                body = answer.json() | {"request_id": ""}
            answers[path, accept] = (answer.status_code, headers, body)
    return answers


def path_names(path):
    return [part[1:-1] for part in path.split("/") if part.startswith("{")]


def ask_as(house, method, path, operation, *, values, accept, etag=""):
    """`ask` with t-alder's key and a media type."""
    for name, value in values.items():
        path = path.replace("{" + name + "}", quote(value, safe=""))
    names = {each["name"] for each in operation["parameters"] if each["in"] == "query"}
    params = {name: value for name, value in DAY.items() if name in names}
    params |= {"month": "2026-10"} if "month" in names else {}
    params |= {"model_id": "m-river"} if path == "/v1/prices/quote" else {}
    params |= {"start_time": 1790812800, "end_time": 1790899200} if "start_time" in names else {}
    headers = {"Accept": accept, "If-None-Match": etag}
    return house.send(method, path, key=house.alder, params=params, headers=headers)


def test_what_another_tenant_does_changes_no_answer(two):
    """Usage, a project, a key, a document and a dispute of t-birch: no status, ETag, length or
    cursor of t-alder's moves."""
    before = seen(two)
    assert sum(status == 200 for status, _, _ in before.values()) >= 30
    two.settle(*(leg(number, "t-birch") for number in range(500, 520)))
    two.settle(leg(520, "t-birch", cached_input_tokens=600_000))  # a finding
    two.key(Role.TENANT, tenant_id="t-birch")
    project = {"project_id": "b2", "name": "b2"}
    made = two.send("POST", "/v1/tenants/t-birch/projects", json=project)
    assert made.status_code == 201
    with two.ledger.write(actor="test", at=NOW) as change:
        put(change, document("INV-BIRCH-2", state="final", tenant_id="t-birch"))
    after = seen(two)
    assert [key for key in before if before[key] != after[key]] == []


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS)
def test_what_is_anothers_answers_as_what_is_not_there(two, method, path, operation):
    """The same status, headers and words for t-birch's ids and for ids of nobody (the id apart)."""
    listed = two.get("/v1/requests", params=DAY | {"tenant_id": "t-birch"}).json()["items"]
    birchs = {
        "tenant_id": "t-birch",
        "request_id": listed[0]["request_id"],
        "number": "INV-BIRCH",
        "key_id": two.get("/v1/keys", two.birch_key).json()["items"][0]["key_id"],
    }
    if not set(path_names(path)) & set(NOBODYS):
        return
    answers = []
    for ids in (birchs, NOBODYS):
        values = {name: ids.get(name, ALDERS.get(name, "x")) for name in path_names(path)}
        answer = ask(two, method, path, operation, key=two.alder, values=values)
        text = answer.text.replace(answer.headers["x-request-id"], "")
        for value in ids.values():
            text = text.replace(value, "ID")
        headers = {k: v for k, v in answer.headers.items() if k not in {*VARY, "content-length"}}
        answers.append((answer.status_code, headers, text))
    assert answers[0] == answers[1]


def test_an_etag_of_another_confirms_nothing(two):
    """The house's and t-birch's ETags are sent back by t-alder: 200 with its own, never 304."""
    two.settle(leg(521, "t-birch", cached_input_tokens=600_000))  # a finding that t-alder lacks
    for path in ("/v1/usage", "/v1/requests", "/v1/chargeback", "/v1/findings", "/v1/invoices"):
        params = {} if path == "/v1/invoices" else DAY
        for key in (two.operator, two.birch_key):
            tag = two.get(path, key, params=params).headers["ETag"]
            headers = {"If-None-Match": tag}
            mine = two.get(path, two.alder, params=params, headers=headers)
            assert (mine.status_code, mine.headers["ETag"] != tag) == (200, True)


def test_a_cursor_made_by_hand_skips_into_nothing_foreign(two):
    """t-birch's cursor, for its list and its filters, gives t-alder its own rows alone."""
    params = DAY | {"limit": 1}
    cursor = two.get("/v1/requests", two.birch_key, params=params).json()["next_cursor"]
    page = two.get("/v1/requests", two.alder, params=DAY | {"limit": 1000, "cursor": cursor})
    assert {row["tenant_id"] for row in page.json().get("items", [])} <= {"t-alder"}


@pytest.mark.parametrize("accept", ACCEPTS)
def test_aggregates_and_exports_are_sums_of_what_is_its_own(two, accept):
    """10 requests and 10 CNY of 130 and more, in every representation, by every grouping."""
    headers = {"Accept": accept}
    for group in ("project_id", "model_id", "operation", "entry", "tenant_id"):
        answer = two.get("/v1/usage", two.alder, params=DAY | {"group_by": group}, headers=headers)
        assert b"t-birch" not in answer.content
    (row,) = two.get("/v1/usage", two.alder, params=DAY).json()["items"]
    assert (row["requests"], row["amount"]) == (10, "10")
    export = two.get("/v1/exports/requests", two.alder, params={"month": "2026-10"})
    assert len(export.text.splitlines()) == 11


@pytest.mark.parametrize("each", [pytest.param(each.values, id=each.id) for each in GETS])
def test_what_has_not_changed_is_not_sent_again(two, each):
    """304 for the ETag of every answer of 200, for every GET route, with the same headers."""
    _, path, operation = each
    values = {name: ALDERS.get(name, "x") for name in path_names(path)}
    asked = {"values": values, "accept": "*/*"}
    first = ask_as(two, "GET", path, operation, **asked)
    if first.status_code == 200:
        again = ask_as(two, "GET", path, operation, **asked, etag=first.headers["ETag"])
        assert (again.status_code, again.content) == (304, b"")
