"""Errors as application/problem+json, the door's headers, bounds and log."""

import pytest
import structlog

from pricing.errors import PricingError
from pricing.reports import usage_report

TENANT = {"tenant_id": "t-oak", "name": "Oak", "billing_zone": "UTC", "currency": "CNY"}


def subclasses(kind):
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def test_every_error_is_documented(root):
    """docs/api/errors.md lists each type with its status, so that a client can rely on it."""
    page = (root / "docs/api/errors.md").read_text(encoding="utf-8")
    known = {(each.problem, each.status) for each in (PricingError, *subclasses(PricingError))}
    missing = [row for row in known if f"| `{row[0]}` | {row[1]} |" not in page]
    assert not missing


def test_a_problem_says_what_and_what_to_do(house):
    """RFC 9457: type, title, status, detail; and our remedy and request id."""
    answer = house.get("/v1/tenants/t-oak", headers={"X-Request-Id": "abcdef-123"})
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.json() == {
        "type": "urn:tokentill:problem:not-found",
        "title": "Not found",
        "status": 404,
        "detail": "There is no tenant 't-oak', or this credential may not see it.",
        "remedy": "Check the id; list the collection to see what this credential may read.",
        "request_id": "abcdef-123",
    }


def test_an_unknown_path_and_method_are_problems_too(house):
    """404 and 405, with the methods that there are."""
    assert house.get("/v1/nothing").json()["type"] == "urn:tokentill:problem:not-found"
    answer = house.send("DELETE", "/v1/tenants")
    assert (answer.status_code, "GET" in answer.headers["Allow"]) == (405, True)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"billing_zone": "Mars"}, None),
        ({"currency": "RMB"}, "currency"),
        ({"kind": "friend"}, "kind"),
        ({"surname": "Oak"}, "surname"),
        ({"tenant_id": "a/b"}, "tenant_id"),
        ({"tenant_id": ""}, "tenant_id"),
        ({"name": None}, "name"),
    ],
)
def test_a_wrong_field_is_named(house, change, field):
    """422, with each field and the reason; nothing is stored."""
    answer = house.send("POST", "/v1/tenants", json=TENANT | change)
    assert answer.status_code == 422
    named = [error["field"] for error in answer.json().get("errors", [])]
    assert named == ([field] if field else [])
    assert house.get("/v1/tenants").json()["items"] == []


def test_a_value_that_is_needed_cannot_be_taken_away(house):
    """PATCH with null: 422 for a field that must be there."""
    house.send("POST", "/v1/tenants", json=TENANT)
    for field in ("name", "billing_zone", "currency", "kind"):
        answer = house.send("PATCH", "/v1/tenants/t-oak", json={field: None})
        assert (answer.status_code, "cannot be empty" in answer.json()["detail"]) == (422, True)
    assert house.send("PATCH", "/v1/tenants/t-oak", json={"legal_name": None}).status_code == 200


def test_a_body_above_the_limit_is_413(house):
    """Whether its length is announced or not; the limit is 32 MiB."""
    for content in (b"x" * (33 << 20), (b"x" * (1 << 20) for _ in range(33))):
        answer = house.send("POST", "/v1/prices", content=content)
        assert answer.status_code == 413


def test_an_answer_carries_the_headers_of_a_careful_server(house):
    """Nothing is sniffed, framed, shared by caches or sent on as a referrer; no CORS."""
    headers = house.get("/v1/tenants", headers={"Origin": "https://evil.example"}).headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["Cache-Control"] == "private, no-cache"
    assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
    assert "Access-Control-Allow-Origin" not in headers


def test_a_browsers_preflight_is_not_answered(house):
    """CORS is off: 405, and no header that would let a foreign page read or send anything."""
    asked = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answer = house.send("OPTIONS", "/v1/tenants", headers=asked)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


def test_what_nobody_expected_tells_nothing(house, monkeypatch):
    """500 with the request id; the cause is in the log and not in the answer."""

    def fail(*_, **__):
        raise RuntimeError("the password is hunter2")

    monkeypatch.setattr(usage_report, "read_rows", fail)
    day = {"start_at": "2026-10-01T00:00:00Z", "end_at": "2026-10-02T00:00:00Z"}
    with structlog.testing.capture_logs() as logs:
        answer = house.get("/v1/usage", params=day)
    assert (answer.status_code, "hunter2" in answer.text) == (500, False)
    (failure,) = [line for line in logs if line["event"] == "request_failed"]
    assert failure["request_id"] == answer.json()["request_id"]


def test_a_request_is_one_line_of_log_without_secrets(house):
    """Who, what, how long; no key, no query, no body."""
    with structlog.testing.capture_logs() as logs:
        house.get("/v1/tenants?limit=7")
    (line,) = logs
    assert (line["event"], line["route"], line["status"]) == (
        "request_answered",
        "/v1/tenants",
        200,
    )
    assert house.operator not in str(logs)


def test_a_repeat_with_the_same_idempotency_key_creates_nothing(house):
    """The same answer; another request under the same key is a conflict."""
    once = {"Idempotency-Key": "9f1c"}
    first = house.send("POST", "/v1/tenants", json=TENANT, headers=once)
    again = house.send("POST", "/v1/tenants", json=TENANT, headers=once)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.json() == again.json()
    other = house.send("POST", "/v1/tenants", json=TENANT | {"name": "x"}, headers=once)
    assert other.status_code == 409
    assert house.send("POST", "/v1/tenants", json=TENANT).status_code == 409


def test_a_repeated_key_creation_does_not_show_the_secret_again(house):
    """It was shown once; the repeat says so with null."""
    once, body = {"Idempotency-Key": "9f1c"}, {"name": "v", "role": "viewer"}
    first = house.send("POST", "/v1/keys", json=body, headers=once).json()
    again = house.send("POST", "/v1/keys", json=body, headers=once).json()
    assert first["secret"]
    assert again.get("secret") is None
    assert again["key_id"] == first["key_id"]
