"""Lines that a tenant was billed before, for what corrects them."""

from collections.abc import Collection
from datetime import date

from sqlalchemy import Connection, select

from pricing.invoices import LINE_FIELDS, InvoiceLine, LineKind
from pricing.ledger.invoice_tables import DocumentKind, InvoiceState, invoice, invoice_line
from pricing.line_pointers import Billed

METERED = (LineKind.USAGE, LineKind.ADJUSTMENT, LineKind.RERATE)


def billed_lines(
    connection: Connection, tenant_id: str, *, currency: str, months: Collection[date]
) -> list[Billed]:
    """Metered lines of the served months, the oldest document first, cancelled ones last."""
    query = (
        select(
            invoice.c.number,
            invoice.c.state,
            invoice_line.c.position,
            *(invoice_line.c[name] for name in LINE_FIELDS),
        )
        .join(invoice, invoice.c.number == invoice_line.c.number)
        .where(
            invoice.c.tenant_id == tenant_id,
            invoice.c.currency == currency,
            invoice.c.kind != DocumentKind.CREDIT_NOTE,
            invoice.c.state != InvoiceState.VOID,
            invoice_line.c.kind.in_(METERED),
            invoice_line.c.service_month.in_(months),
        )
        .order_by(
            invoice.c.state == InvoiceState.CREDITED,
            invoice.c.month,
            invoice.c.number,
            invoice_line.c.position,
        )
    )
    return [
        Billed(
            number=row["number"],
            position=row["position"],
            line=InvoiceLine(**{name: row[name] for name in LINE_FIELDS}),
        )
        for row in connection.execute(query).mappings()
    ]
