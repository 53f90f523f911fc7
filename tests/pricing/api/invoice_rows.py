"""Invoices as rows, for tests that need many or need one."""

from datetime import date
from decimal import Decimal

from sqlalchemy import insert

from pricing.ledger.invoice_tables import invoice, issuer
from tests.pricing.api.conftest import NOW


def put(change, *rows):
    """Insert the rows, with their issuer where there is none yet."""
    seller = {"issuer_id": "house", "legal_name": "House", "created_at": NOW}
    change.connection.execute(insert(issuer).prefix_with("OR IGNORE"), seller)
    change.connection.execute(insert(invoice).prefix_with("OR IGNORE"), list(rows))


def document(number, **change):
    """A row that passes every rule of the table; what it says does not matter here."""
    amounts = dict.fromkeys(
        ("exact_amount", "net_amount", "rounding_amount", "tax_amount", "gross_amount"),
        Decimal(1),
    )
    digests = dict.fromkeys((f"digest_{place}" for place in range(1, 5)), Decimal(1))
    marks = dict.fromkeys(("settle_mark", "adjusted_after_mark", "digest_requests"), 1)
    return (
        amounts
        | digests
        | marks
        | {
            "number": number,
            "kind": "invoice",
            "issuer_id": "house",
            "tenant_id": "t-alder",
            "month": date(2026, 9, 1),
            "billing_zone": "UTC",
            "start_at": NOW,
            "end_at": NOW,
            "currency": "CNY",
            "state": "credited",
            "made_at": NOW,
            "issued_at": NOW,
            "tax_rate": Decimal(0),
            "seller": {},
            "buyer": {},
            "annex": [],
            "content_sha256": "0" * 64,
            "payment_state": "open",
        }
        | change
    )
