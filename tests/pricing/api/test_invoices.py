"""Closing, issuing, correcting and proving a month through the API; and who may see what (C09)."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from pricing.scope import Role
from tests.pricing.api.conftest import furnish

NOVEMBER = datetime(2026, 11, 1, 12, tzinfo=UTC)


@pytest.fixture
def closed(house):
    """October is closed: t-alder owes 10 CNY, t-birch 99 CNY; both drafts."""
    furnish(house)
    house.clock.now = NOVEMBER
    answer = house.send("POST", "/v1/close", json={"month": "2026-10"})
    assert answer.status_code == 200, answer.text
    house.report = answer.json()
    house.keys = {name: house.key(Role.TENANT, tenant_id=name) for name in ("t-alder", "t-birch")}
    return house


def post(house, number, what, **body):
    """A POST on a document; its JSON."""
    answer = house.send("POST", f"/v1/invoices/{number}/{what}", json=body or None)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_close_makes_drafts_and_lists_what_it_leaves(closed):
    """10 and 99 requests at 1.00 CNY; one request names no tenant."""
    made = {
        each["tenant_id"]: each["documents"][0]["net_amount"] for each in closed.report["tenants"]
    }
    assert made == {"t-alder": "10", "t-birch": "99"}
    (left,) = closed.report["not_invoiced"]
    assert (left["reason"], left["amount_max"]) == ("unattributed", "1")
    again = closed.send("POST", "/v1/close", json={"month": "2026-10"}).json()
    assert {each["outcome"] for each in again["tenants"]} == {"already_closed"}


def test_a_preview_finds_the_same_and_changes_nothing(house):
    """Both tenants are ready before the close and done after it; asking twice makes no document."""
    furnish(house)
    house.clock.now = NOVEMBER
    asked = {"month": "2026-10"}
    for _ in range(2):
        report = house.get("/v1/close", params=asked).json()
        assert {each["outcome"] for each in report["tenants"]} == {"ready"}
        assert not report["is_done"]
    assert house.get("/v1/invoices").json()["items"] == []
    house.send("POST", "/v1/close", json=asked)
    assert house.get("/v1/close", params=asked).json()["is_done"]


def test_a_preview_without_sums_leaves_them_unknown(house):
    """Tenants and blockers as before; what is not invoiced was not added up, so it is null."""
    furnish(house)
    house.clock.now = NOVEMBER
    whole = house.get("/v1/close", params={"month": "2026-10"}).json()
    short = house.get("/v1/close", params={"month": "2026-10", "not_invoiced": False}).json()
    assert whole["not_invoiced"]
    assert short == whole | {"not_invoiced": None}


def test_accepting_needs_a_reason(house):
    """422, and nothing is closed."""
    asked = {"month": "2026-10", "accept": ["node:p01"]}
    assert house.send("POST", "/v1/close", json=asked).status_code == 422


def test_an_issued_document_is_printed_the_same_for_ever(closed):
    """PDF, XLSX and CSV are kept; each re-print gives their bytes."""
    assert post(closed, "INV-000001", "issue")["state"] == "final"
    for kind in ("pdf", "xlsx", "csv", "focus"):
        first, second = (closed.get(f"/v1/invoices/INV-000001/documents/{kind}") for _ in range(2))
        assert (first.status_code, first.content) == (200, second.content)
        assert first.headers["etag"] == second.headers["etag"]


def test_an_auditor_finds_it_whole(closed):
    """Every check of the document, from its hash to the legs."""
    post(closed, "INV-000001", "issue")
    found = closed.get("/v1/invoices/INV-000001/verification").json()
    assert found["is_whole"]
    assert [check["name"] for check in found["checks"]] == [
        *("content", "chain", "documents", "corrections", "lines", "digest", "legs")
    ]


def test_tax_and_buyer_come_with_a_new_draft(closed):
    """Void with `again`: 6 % of 10.00 is 0.60."""
    changes = {"tax_rate": "0.06", "legal_name": "Alder GmbH", "language": "zh"}
    closed.send("PATCH", "/v1/tenants/t-alder/billing", json=changes)
    closed.send("PATCH", "/v1/issuers/house", json={"legal_name": "云算", "tax_id": "9131"})
    made = post(closed, "INV-000001", "void", reason="no tax", again=True)
    found = closed.get(f"/v1/invoices/{made['number']}").json()
    assert (found["number"], found["gross_amount"]) == ("INV-000003", "10.6")
    assert (found["buyer"]["legal_name"], found["seller"]["legal_name"]) == ("Alder GmbH", "云算")


def test_a_final_invoice_is_credited_and_paid_ones_are_noted(closed):
    """The note takes everything back; a final one cannot be voided."""
    for number in ("INV-000001", "INV-000002"):
        post(closed, number, "issue")
    body = {"reason": "x"}
    assert closed.send("POST", "/v1/invoices/INV-000001/void", json=body).status_code == 409
    assert post(closed, "INV-000001", "credit", reason="wrong buyer")["gross_amount"] == "-10"
    paid = post(closed, "INV-000002", "payment", state="paid", reason="bank")
    assert (paid["payment"], paid["state"]) == ("paid", "final")


def test_a_dispute_comes_back_on_the_next_invoice(closed):
    """3.20 of line 1 is given back in November, once; more than the line is refused."""
    post(closed, "INV-000001", "issue")
    asked = {"number": "INV-000001", "position": 1, "amount": "4.00", "reason": "outage"}
    made = closed.send("POST", "/v1/disputes", json=asked)
    assert made.status_code == 201, made.text
    decision = {"credited": "3.20", "reason": "agreed"}
    path = f"/v1/disputes/{made.json()['dispute_id']}/decisions"
    assert closed.send("POST", path, json=decision).json()["state"] == "credited"
    closed.clock.now = datetime(2026, 12, 1, 1, tzinfo=UTC)
    report = closed.send("POST", "/v1/close", json={"month": "2026-11"}).json()
    (document,) = report["tenants"][0]["documents"]
    assert Decimal(document["net_amount"]) == Decimal("-3.20")
    (line,) = closed.get(f"/v1/invoices/{document['number']}").json()["lines"]
    assert (line["kind"], line["corrects_number"]) == ("dispute", "INV-000001")


def test_a_tenant_sees_its_own_issued_invoices_alone(closed):
    """C09: list, detail, documents and verification; a draft is nobody's but the house's."""
    alder, birch = closed.keys["t-alder"], closed.keys["t-birch"]
    assert closed.get("/v1/invoices", key=alder).json()["items"] == []
    for number in ("INV-000001", "INV-000002"):
        post(closed, number, "issue")
    listed = closed.get("/v1/invoices", key=alder).json()["items"]
    assert [each["gross_amount"] for each in listed] == ["10"]
    assert closed.get("/v1/invoices?tenant_id=t-birch", key=alder).status_code == 403
    for path in ("", "/verification", "/documents/pdf"):
        assert closed.get(f"/v1/invoices/INV-000002{path}", key=alder).status_code == 404
        assert closed.get(f"/v1/invoices/INV-000002{path}", key=birch).status_code == 200
    assert closed.send("POST", "/v1/invoices/INV-000001/issue", key=alder).status_code == 403


def test_a_repeat_of_what_makes_a_document_makes_no_second(closed):
    """The same Idempotency-Key: the credit note of the first answer; without one: a conflict."""
    number = closed.get("/v1/invoices").json()["items"][0]["number"]
    post(closed, number, "issue")
    path, body = f"/v1/invoices/{number}/credit", {"reason": "agreed on the phone"}
    once = {"Idempotency-Key": "c1"}
    answers = [closed.send("POST", path, json=body, headers=once) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 200]
    assert answers[0].json() == answers[1].json()
    assert closed.send("POST", path, json=body).status_code == 409


def test_a_repeat_of_a_backup_is_the_first_one(house):
    """The folder of the first answer; the key belongs to that route alone."""
    once = {"Idempotency-Key": "b1"}
    answers = [house.send("POST", "/v1/backups", headers=once) for _ in range(2)]
    assert [answer.json()["folder"] for answer in answers] == ["/backups/20261001T120000Z"] * 2
    policy = {"toml": "", "effective_from": "2026-11-01T00:00:00Z"}
    assert house.send("POST", "/v1/policies", json=policy, headers=once).status_code == 409
