"""Voiding and cancelling documents, with what they gave back of disputes."""

from pricing.ledger.connect import Change
from pricing.ledger.disputes import move_given
from pricing.ledger.invoices import Invoice, check_reason, credit_invoice, void_invoice


def void(change: Change, number: str, *, reason: str, again: bool) -> Invoice:
    """Void a draft; what it gave back goes to the draft in its place, or waits for another."""
    made = void_invoice(change, number, reason=check_reason(reason), again=again)
    move_given(change, number, made.number if again else None)
    return made


def credit(change: Change, number: str, *, reason: str, again: bool) -> Invoice:
    """Cancel a final document; the credit note takes back what the document gave back."""
    made = credit_invoice(change, number, reason=check_reason(reason), again=again)
    move_given(change, number, made.number if again else None)
    return made
