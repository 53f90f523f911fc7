"""What was tampered with is found, wherever it was."""

from decimal import Decimal

import pytest
from sqlalchemy import text

from pricing.ledger.corrections import credit
from pricing.ledger.documents import keep_document
from pricing.reports.doctor import ledger_checks
from pricing.runs.verify import verify_invoice, verify_ledger
from pricing.scope import Scope
from tests.pricing.close.conftest import time, usage
from tests.pricing.settle.legs import decode, prefill


@pytest.fixture
def closed(house):
    """A closed June of t-alder: a unified request and a pair; INV-000001 is final, with a PDF."""
    house.tenant("t-alder")
    start = {
        "started_at": time("2026-06-10T10:00:00Z"),
        "finished_at": time("2026-06-10T10:00:05Z"),
    }
    pair = (prefill("p", **start), decode("d", **start))
    house.feed(usage("a", "t-alder", "2026-06-10T10:00:00Z"), *pair, now="2026-06-10T11:00:00Z")
    house.close("2026-06", "2026-07-05T00:00:00Z")
    house.issue("INV-000001", "2026-07-05T01:00:00Z")
    with house.ledger.write(actor="test", at=time("2026-07-05T01:00:00Z")) as change:
        keep_document(
            change,
            "house",
            number="INV-000001",
            format_="pdf",
            media_type="application/pdf",
            body=b"%PDF",
        )
    return house


def faults(house, number="INV-000001"):
    """Names of the checks of the invoice that found something."""
    with house.ledger.read() as connection:
        checks = verify_invoice(house.till.cursor, connection, Scope.house(), number)
    return {check.name: list(check.faults) for check in checks if check.faults}


def ledger_faults(house):
    """What the check of the whole ledger finds."""
    with house.ledger.read() as connection:
        return [fault for check in verify_ledger(connection) for fault in check.faults]


def tamper(house, statement):
    """Change the ledger behind its back."""
    with house.ledger.engine.begin() as connection:
        connection.execute(text(statement))


def test_an_honest_invoice_has_no_fault(closed):
    """Content, chain, documents, lines, digest, legs."""
    assert faults(closed) == {}
    assert ledger_faults(closed) == []


@pytest.mark.parametrize(
    ("statement", "check"),
    [
        ("UPDATE invoice SET net_amount = '1.00'", "content"),
        ("UPDATE invoice_line SET tokens = 7 WHERE position = 1", "content"),
        ("DELETE FROM invoice_line WHERE position = 2", "content"),
        ("UPDATE invoice SET state = 'void', issued_at = NULL", "chain"),
        ("UPDATE chain_link SET content_sha256 = 'x' WHERE position = 1", "chain"),
        ("DELETE FROM chain_link WHERE position = 2", "chain"),
        ("UPDATE document SET body = X'00'", "documents"),
        ("UPDATE document SET sha256 = 'x'", "documents"),
    ],
)
def test_a_changed_ledger_is_found(closed, statement, check):
    """By the check of the invoice, and by the check of the ledger."""
    tamper(closed, statement)
    assert check in faults(closed)
    assert ledger_faults(closed) != []


def test_a_removed_document_is_found(closed):
    """Its number was given out."""
    for table in ("document", "invoice_line", "invoice"):
        tamper(closed, f"DELETE FROM {table}")  # noqa: S608
    assert ledger_faults(closed) == ["INV-000001 was given out and is missing"]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE leg SET output_tokens = 51 WHERE stage = 'decode'", "not what its hash says"),
        ("DELETE FROM leg WHERE stage = 'prefill'", "not in the store"),
        ("UPDATE leg SET content_hash = uuid() WHERE stage = 'prefill'", "other legs"),
        ("UPDATE request SET uncached_tokens = 9 WHERE uncached_tokens = 1000000", "other tokens"),
    ],
)
def test_changed_usage_is_found(closed, statement, words):
    """The invoice is derived again down to the legs."""
    closed.till.cursor.execute(statement)
    assert words in str(faults(closed))


def test_a_request_that_was_added_is_found(closed):
    """The number of requests and the digest differ."""
    closed.till.cursor.execute("INSERT INTO request SELECT * FROM request LIMIT 1")
    assert {"lines", "digest"} <= set(faults(closed))


def test_a_credited_invoice_and_its_note_are_whole(closed):
    """Cancelling is an event like any other."""
    with closed.ledger.write(actor="test", at=time("2026-07-06T00:00:00Z")) as change:
        note = credit(change, "INV-000001", reason="wrong buyer", again=True)
    assert (faults(closed), faults(closed, "CN-000001"), faults(closed, note.number)) == (
        {},
        {},
        {},
    )
    assert note.net_amount == Decimal("2.00")
    assert ledger_faults(closed) == []


def test_doctor_says_so(closed):
    """Rule V8 of its list: 0 wrong, then more."""
    rules = []
    for _ in range(2):
        with closed.ledger.read() as connection:
            checks = ledger_checks(connection, time("2026-07-06T00:00:00Z"))
        rules.append({check.rule: check.wrong for check in checks}["V8"])
        tamper(closed, "UPDATE invoice SET gross_amount = '0.01'")
    assert (rules[0], rules[1] > 0) == (0, True)
