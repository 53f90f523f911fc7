"""The audit log: no change of prices, invoices, keys or policies goes without an entry."""

from datetime import timedelta

import pytest

from pricing.ledger.audit import list_entries
from pricing.ledger.corrections import credit, void
from pricing.ledger.disputes import decide_dispute, list_disputes
from pricing.ledger.invoice_tables import PaymentState
from pricing.ledger.invoices import list_invoices, set_payment
from pricing.ledger.issuers import change_issuer, change_profile
from pricing.ledger.keys import list_keys, revoke_key, rotate_key
from pricing.ledger.policies import add_policy
from pricing.ledger.price_books import add_revision, advance
from pricing.ledger.rows import Page
from pricing.ledger.tables import BookState, metadata
from pricing.ledger.tenants import change_tenant
from pricing.scope import Scope
from tests.pricing.ledger.one_of_each import NOW, fill

HOUSE, ALL = Scope.house(), Page(1000)
LATER = NOW + timedelta(days=1)
# what no entry is kept of, and why
SILENT = {
    "audit_entry",
    "idempotent_answer",  # an answer, kept for a day
    "job_run",  # its own history
    "invoice_line",  # in the hash of its document, whose entry there is
    "number_series",  # the documents' numbers
    "chain_link",  # a record of its own kind
}


@pytest.fixture
def filled(ledger):
    """A ledger with a row in every table."""
    fill(ledger)
    return ledger


def entries(ledger, subject=None):
    """The entries, the first first."""
    with ledger.read() as connection:
        return list_entries(connection, HOUSE, subject=subject, page=ALL)[::-1]


def test_every_row_that_was_written_is_on_record(filled):
    """One entry at least for each table, with who, when and what is there now."""
    told = {each.subject for each in entries(filled)}
    assert set(metadata.tables) - told == SILENT
    for each in entries(filled):
        assert (each.actor, each.at, each.after is not None) == ("test", NOW, True)


def changes(change):
    """A change of each kind; (subject, what must differ before and after)."""
    (book,) = [add_revision(change, "b", toml_text="1", currency="CNY", state=BookState.DRAFT)]
    advance(change, book, state=BookState.PUBLISHED)
    yield "book_revision", "state"
    add_policy(change, "aborted = 'bill'", effective_from=LATER)
    yield "policy_revision", None
    (key,) = list_keys(change.connection, HOUSE, ALL)
    new, _ = rotate_key(change, key.key_id, overlap=timedelta(0))
    yield "api_key", "expires_at"
    revoke_key(change, new.key_id)
    yield "api_key", "revoked_at"
    change_tenant(change, "t-alder", {"name": "Alder AG"})
    yield "tenant", "name"
    change_issuer(change, "house", {"legal_name": "House Ltd"})
    yield "issuer", "legal_name"
    change_profile(change, "t-alder", {"payment_days": 10})
    yield "billing_profile", "payment_days"


def test_each_change_says_what_was_and_what_is(filled):
    """Prices (and the contracts in them), policies, keys, tenants, sellers, buyers."""
    with filled.write(actor="key_finance", at=LATER, request_id="r1") as change:
        for subject, field in changes(change):
            with_field = [
                each
                for each in list_entries(change.connection, HOUSE, subject=subject, page=ALL)
                if each.at == LATER and (field is None or (each.before and field in each.before))
            ]
            assert with_field, (subject, field)
            assert {(e.actor, e.request_id) for e in with_field} == {("key_finance", "r1")}
            assert all(field is None or e.before[field] != e.after[field] for e in with_field)


def test_what_becomes_of_a_document_is_on_record(filled):
    """Paid, credited with a new draft, that one voided; the dispute's way along with them."""
    with filled.write(actor="key_finance", at=LATER) as change:
        (found,) = list_invoices(change.connection, HOUSE, month=None, page=ALL)
        (asked,) = list_disputes(change.connection, HOUSE, ALL)
        set_payment(change, found.number, PaymentState.PAID, reason="seen")
        decide_dispute(change, asked.dispute_id, credited=None, reason="no outage")
        draft = credit(change, found.number, reason="wrong buyer", again=True)
        void(change, draft.number, reason="again", again=False)
    moved = [
        (each.subject_key, each.after.get("state") or each.after.get("payment_state"))
        for each in entries(filled, "invoice")
        if each.action == "update" and each.at == LATER
    ]
    assert ("INV-000001", "paid") in moved
    assert ("INV-000001", "credited") in moved
    assert (draft.number, "void") in moved
    last = entries(filled, "dispute")[-1]
    assert (last.before["state"], last.after["state"]) == ("open", "rejected")
    assert last.after["decision_reason"] == "no outage"


def test_no_entry_holds_a_secret(filled):
    """Neither the hash of a key nor the bytes of a document."""
    for each in entries(filled):
        for row in (each.before, each.after):
            assert not {"key_hash", "body"} & set(row or ())
