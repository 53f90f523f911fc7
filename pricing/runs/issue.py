"""Issuing a document: final in the ledger, then its formats rendered once and kept."""

import hashlib
from datetime import datetime

from pricing.exports.render import ISSUED, media_type_of, render
from pricing.ledger.connect import Ledger
from pricing.ledger.documents import Document, find_document, keep_document
from pricing.ledger.invoice_tables import InvoiceState
from pricing.ledger.invoices import Invoice, get_invoice, issue_invoice, lines_of
from pricing.runs.listed import ListPrices
from pricing.scope import Scope

KEPT_STATES = frozenset({InvoiceState.FINAL, InvoiceState.CREDITED})


def issue(ledger: Ledger, number: str, *, actor: str, at: datetime) -> Invoice:
    """Make a draft final and keep its PDF, XLSX and CSV; a second time changes nothing.

    A crash in between leaves a final document without files: the next call renders them.
    """
    with ledger.write(actor=actor, at=at) as change:
        found = issue_invoice(change, number)
    for format_ in ISSUED:
        document_of(ledger, Scope.house(), number, format_=format_, actor=actor, at=at)
    return found


def document_of(
    ledger: Ledger, scope: Scope, number: str, *, format_: str, actor: str, at: datetime
) -> Document:
    """A document's bytes: those that were issued, or a rendering; a final one's are then kept."""
    with ledger.read() as connection:
        found = get_invoice(connection, scope, number)
        lines = lines_of(connection, number)
        kept = find_document(connection, number, format_)
        if kept is not None:
            return kept
        body = render(found, lines, format_, list_price=ListPrices(connection))
    media_type = media_type_of(format_)
    if found.state in KEPT_STATES:
        with ledger.write(actor=actor, at=at) as change:
            return keep_document(
                change,
                found.issuer_id,
                number=number,
                format_=format_,
                media_type=media_type,
                body=body,
            )
    return Document(
        number=number,
        format=format_,
        sha256=hashlib.sha256(body).hexdigest(),
        media_type=media_type,
        body=body,
        made_at=at,
    )
