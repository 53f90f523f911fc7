"""Documents in the ledger: numbers, chain, states, credit notes and disputes, on both databases."""

from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

import pytest
from sqlalchemy.exc import IntegrityError

from metering.windows import Window
from pricing.close_checks import Acceptance
from pricing.errors import Conflict, NotFound, PricingError, RequestInvalid
from pricing.hash_chain import faults
from pricing.invoices import Digest, InvoiceLine
from pricing.ledger.closes import begin
from pricing.ledger.corrections import credit, void
from pricing.ledger.disputes import Asked, decide_dispute, lines_to_give, open_dispute
from pricing.ledger.documents import find_document, keep_document
from pricing.ledger.invoice_tables import PaymentState
from pricing.ledger.invoices import (
    Contents,
    content_sha256,
    get_invoice,
    invoices_of,
    issue_invoice,
    lines_of,
    list_invoices,
    make_invoice,
    payment_of,
    set_payment,
)
from pricing.ledger.issuers import BillingProfile, last_numbers, put_profile, read_chain
from pricing.ledger.rows import Page
from pricing.scope import Scope
from tests.pricing.ledger.conftest import NOW

SEPTEMBER = date(2026, 9, 1)
WINDOW = Window(datetime(2026, 8, 31, 16, tzinfo=UTC), datetime(2026, 9, 30, 16, tzinfo=UTC))
NOTHING = Acceptance()


@pytest.fixture
def write(ledger):
    """Opens a change."""
    return lambda: ledger.write(actor="test", at=NOW)


def make(change, tenant, month=SEPTEMBER, mark=7, amounts=("10.004", "2.50")):
    """A draft with a line for each amount."""
    lines = [
        InvoiceLine(
            kind="usage",
            service_month=month,
            amount=Decimal(text),
            rounded_amount=Decimal(text).quantize(Decimal("0.01")),
        )
        for text in amounts
    ]
    begun = begin(change, tenant.tenant_id, month=month, settle_mark=mark, accepted=NOTHING)
    return make_invoice(
        change,
        Contents(
            tenant=tenant,
            window=WINDOW,
            currency="CNY",
            begun=begun,
            lines=lines,
            annex=[],
            digest=Digest(requests=2, words=(1, 2, 3, 2**80)),
        ),
    )


def test_what_was_made_is_read_back_digit_for_digit(alder, ledger, write):
    """Totals by hand: 10.00 + 2.50 = 12.50, exact 12.504; the hash is made from the rows again."""
    with write() as change:
        made = make(change, alder)
    with ledger.read() as connection:
        found = get_invoice(connection, Scope.house(), made.number)
        lines = lines_of(connection, made.number)
    assert (found.number, found.net_amount, found.rounding_amount) == (
        "INV-000001",
        Decimal("12.50"),
        Decimal("-0.004"),
    )
    assert found.digest.words[3] == 2**80
    assert content_sha256(found, lines) == found.content_sha256


def test_a_second_invoice_of_a_month_is_impossible(alder, ledger, write):
    """The database itself refuses; the number is not used up."""
    with write() as change:
        make(change, alder)
    with pytest.raises((PricingError, IntegrityError)), write() as change:
        make(change, alder)
    with ledger.read() as connection:
        assert last_numbers(connection) == [("house", "INV-", 1)]
        assert len(read_chain(connection, "house")) == 1


def test_a_draft_is_voided_and_made_again_with_new_data(alder, ledger, write):
    """The number of the void one stays used; the tax of the new one is 6 %."""
    with write() as change:
        first = make(change, alder)
        put_profile(change, BillingProfile(tenant_id="t-alder", tax_rate=Decimal("0.06")))
        second = void(change, first.number, reason="tax was missing", again=True)
    assert (second.number, second.tax_amount) == ("INV-000002", Decimal("0.75"))
    with ledger.read() as connection:
        states = [each.state for each in invoices_of(connection, "t-alder", SEPTEMBER)]
        chain = read_chain(connection, "house")
    assert states == ["void", "draft"]
    assert ([link.event for link in chain], faults(chain)) == (["made", "voided", "made"], [])


def test_a_final_invoice_is_cancelled_by_a_credit_note_only(alder, write):
    """Together they are 0; a second credit note is refused."""
    with write() as change:
        made = issue_invoice(change, make(change, alder).number)
        with pytest.raises(Conflict, match="corrected by a credit note"):
            void(change, made.number, reason="x", again=False)
        note = credit(change, made.number, reason="wrong buyer", again=False)
        assert (note.number, note.state, note.corrects_number) == (
            "CN-000001",
            "final",
            made.number,
        )
        for name in ("exact", "net", "rounding", "tax", "gross"):
            assert getattr(note, f"{name}_amount") + getattr(made, f"{name}_amount") == 0
        with pytest.raises(Conflict, match="is credited"):
            credit(change, made.number, reason="again", again=False)


def test_payment_is_noted_and_an_open_one_becomes_overdue(alder, write):
    """30 days from 2026-10-01 in Shanghai: due on 10-31."""
    with write() as change:
        made = issue_invoice(change, make(change, alder).number)
        assert made.due_on == date(2026, 10, 31)
        assert payment_of(made, date(2026, 10, 31)) == "open"
        assert payment_of(made, date(2026, 11, 1)) == "overdue"
        paid = set_payment(change, made.number, PaymentState.PAID, reason="bank")
    assert payment_of(paid, date(2026, 11, 1)) == "paid"


def test_a_credited_dispute_waits_for_the_next_invoice(alder, write):
    """1.20 of line 2 comes back once."""
    with write() as change:
        made = issue_invoice(change, make(change, alder).number)
        asked = Asked(number=made.number, position=2, amount=Decimal("2.00"), reason="outage")
        opened = open_dispute(change, Scope.of("t-alder"), asked, dispute_id=UUID(int=1))
        assert lines_to_give(change.connection, "t-alder", "CNY") == []
        decide_dispute(change, opened.dispute_id, credited=Decimal("1.20"), reason="agreed")
        ((dispute_id, line),) = lines_to_give(change.connection, "t-alder", "CNY")
    assert (dispute_id, line.rounded_amount, line.corrects_position) == (
        opened.dispute_id,
        Decimal("-1.20"),
        2,
    )


def test_a_dispute_cannot_ask_more_than_its_line(alder, write):
    """Line 2 is 2.50."""
    with write() as change:
        made = issue_invoice(change, make(change, alder).number)
        for wrong in ("2.51", "0", "0.001"):
            asked = Asked(number=made.number, position=2, amount=Decimal(wrong), reason="x")
            with pytest.raises(RequestInvalid, match=r"at most 2\.50"):
                open_dispute(change, Scope.house(), asked, dispute_id=UUID(int=2))


def test_a_tenant_sees_its_own_final_documents(alder, ledger, write):
    """Not a draft, and not from another tenant's scope (V10)."""
    with write() as change:
        made = make(change, alder)
    page = Page(10)
    with ledger.read() as connection:
        assert list_invoices(connection, Scope.of("t-alder"), month=None, page=page) == []
        with pytest.raises(NotFound):
            get_invoice(connection, Scope.of("t-birch"), made.number)
    with write() as change:
        issue_invoice(change, made.number)
        found = list_invoices(change.connection, Scope.of("t-alder"), month=SEPTEMBER, page=page)
    assert [each.number for each in found] == [made.number]


def test_kept_bytes_stay(alder, write):
    """The second rendering of the same document does not replace the first."""
    kind = {"format_": "pdf", "media_type": "application/pdf"}
    with write() as change:
        number = make(change, alder).number
        for body in (b"first", b"second"):
            keep_document(change, "house", number=number, body=body, **kind)
        assert find_document(change.connection, number, "pdf").body == b"first"


@pytest.mark.usefixtures("alder")
def test_adjustments_are_taken_by_one_close_each(write):
    """Marks 7, 9 and 9: the intervals (0, 7], (7, 9] and (9, 9] touch and never overlap."""
    months = (SEPTEMBER, date(2026, 7, 1), date(2026, 8, 1))
    with write() as change:
        begun = [
            begin(change, "t-alder", month=month, settle_mark=mark, accepted=NOTHING)
            for month, mark in zip(months, (7, 9, 9), strict=True)
        ]
        again = begin(change, "t-alder", month=SEPTEMBER, settle_mark=12, accepted=NOTHING)
    assert [(one.adjusted_after_mark, one.settle_mark) for one in begun] == [(0, 7), (7, 9), (9, 9)]
    assert again == begun[0], "a close that was begun keeps its marks"


def test_an_older_usage_store_is_refused(alder, write):
    """The ledger was closed at 7; a store that stands at 3 was restored from before that."""
    with write() as change:
        make(change, alder, mark=7)
        with pytest.raises(Conflict, match="older than the ledger"):
            begin(change, "t-alder", month=date(2026, 10, 1), settle_mark=3, accepted=NOTHING)
