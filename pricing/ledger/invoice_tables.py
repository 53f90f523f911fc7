"""The ledger's tables of the month's close: documents, their numbers and chain, and disputes.

A document's content never changes after it is made; only its state and its payment do.
"""

from enum import StrEnum

from sqlalchemy import (
    JSON,
    BigInteger,
    CheckConstraint,
    Column,
    Date,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    text,
)

from pricing.ledger.tables import metadata
from pricing.ledger.types import ExactDecimal, UtcDateTime


class DocumentKind(StrEnum):
    """What a document is; each kind has numbers of its own."""

    INVOICE = "invoice"
    STATEMENT = "statement"  # an internal tenant's: the same rigour, nothing to pay
    CREDIT_NOTE = "credit_note"


class InvoiceState(StrEnum):
    """Where a document stands; a final one is only ever corrected by another document."""

    DRAFT = "draft"
    FINAL = "final"
    CREDITED = "credited"  # final, and cancelled by a credit note
    VOID = "void"


class PaymentState(StrEnum):
    """What is known of the money; `overdue` is an open one after its due day."""

    OPEN = "open"
    PAID = "paid"
    WRITTEN_OFF = "written_off"


class DisputeState(StrEnum):
    """Where a dispute stands."""

    OPEN = "open"
    CREDITED = "credited"
    REJECTED = "rejected"


def _one_of(column: str, values: type[StrEnum]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


issuer = Table(  # who writes invoices: the seller's data as a 发票 or an EU invoice needs it
    "issuer",
    metadata,
    Column("issuer_id", String, primary_key=True),
    Column("legal_name", String, nullable=False),
    Column("tax_id", String),
    Column("address", Text),
    Column("phone", String),
    Column("email", String),
    Column("bank_name", String),
    Column("bank_account", String),
    Column("country", String),  # ISO 3166, two letters
    Column("created_at", UtcDateTime, nullable=False),
)

billing_profile = Table(  # the buyer's data, and how a tenant is invoiced
    "billing_profile",
    metadata,
    Column("tenant_id", ForeignKey("tenant.tenant_id"), primary_key=True),
    Column("issuer_id", ForeignKey("issuer.issuer_id"), nullable=False),
    Column("legal_name", String),
    Column("tax_id", String),
    Column("address", Text),
    Column("phone", String),
    Column("email", String),
    Column("bank_name", String),
    Column("bank_account", String),
    Column("country", String),
    Column("tax_rate", ExactDecimal, nullable=False),  # a fraction of the net amount
    Column("tax_place", String),
    Column("language", String, nullable=False),
    Column("payment_days", Integer, nullable=False),
    CheckConstraint("language IN ('en', 'zh')", name="language"),
)

number_series = Table(  # the last number that was given out
    "number_series",
    metadata,
    Column("issuer_id", ForeignKey("issuer.issuer_id"), primary_key=True),
    Column("kind", String, primary_key=True),
    Column("prefix", String, nullable=False, unique=True),
    Column("last_number", BigInteger, nullable=False),
    _one_of("kind", DocumentKind),
)

chain_link = Table(  # pricing/hash_chain.py: one chain per issuer
    "chain_link",
    metadata,
    Column("issuer_id", ForeignKey("issuer.issuer_id"), primary_key=True),
    Column("position", BigInteger, primary_key=True, autoincrement=False),
    Column("event", String, nullable=False),
    Column("subject", String, nullable=False),
    Column("content_sha256", String, nullable=False),
    Column("previous_hash", String, nullable=False),
    Column("link_hash", String, nullable=False),
    Column("at", UtcDateTime, nullable=False),
)

period_close = Table(  # what the close of a month was begun with; a resumed one keeps it
    "period_close",
    metadata,
    Column("tenant_id", String, primary_key=True),
    Column("month", Date, primary_key=True),
    # adjustments of earlier months with a settle_seq above this mark, up to the period's own mark
    Column("adjusted_after_mark", BigInteger, nullable=False),
    Column("begun_by", String, nullable=False),
    Column("accepted", JSON(none_as_null=True), nullable=False),  # names of what was accepted
    Column("accepted_reason", Text),
    ForeignKeyConstraint(
        ["tenant_id", "month"], ["accounting_period.tenant_id", "accounting_period.month"]
    ),
)

invoice = Table(
    "invoice",
    metadata,
    Column("number", String, primary_key=True),
    Column("kind", String, nullable=False),
    Column("issuer_id", ForeignKey("issuer.issuer_id"), nullable=False),
    Column("tenant_id", ForeignKey("tenant.tenant_id"), nullable=False),
    Column("month", Date, nullable=False),  # its first day, in billing_zone
    Column("billing_zone", String, nullable=False),
    Column("start_at", UtcDateTime, nullable=False),
    Column("end_at", UtcDateTime, nullable=False),  # exclusive
    Column("currency", String, nullable=False),
    Column("state", String, nullable=False),
    Column("made_at", UtcDateTime, nullable=False),
    Column("issued_at", UtcDateTime),
    Column("due_on", Date),
    Column("tax_rate", ExactDecimal, nullable=False),
    Column("tax_place", String),
    Column("exact_amount", ExactDecimal, nullable=False),
    Column("net_amount", ExactDecimal, nullable=False),
    Column("rounding_amount", ExactDecimal, nullable=False),
    Column("tax_amount", ExactDecimal, nullable=False),
    Column("gross_amount", ExactDecimal, nullable=False),
    Column("settle_mark", BigInteger, nullable=False),
    Column("adjusted_after_mark", BigInteger, nullable=False),
    Column("digest_requests", BigInteger, nullable=False),
    Column("digest_1", ExactDecimal, nullable=False),  # whole numbers of up to 39 digits
    Column("digest_2", ExactDecimal, nullable=False),
    Column("digest_3", ExactDecimal, nullable=False),
    Column("digest_4", ExactDecimal, nullable=False),
    Column("seller", JSON(none_as_null=True), nullable=False),  # as it was when this was made
    Column("buyer", JSON(none_as_null=True), nullable=False),
    Column("annex", JSON(none_as_null=True), nullable=False),  # by project and cost centre
    Column("content_sha256", String, nullable=False),
    Column("corrects_number", ForeignKey("invoice.number")),
    Column("reason", Text),
    Column("payment_state", String, nullable=False),
    Column("paid_at", UtcDateTime),
    _one_of("kind", DocumentKind),
    _one_of("state", InvoiceState),
    _one_of("payment_state", PaymentState),
    CheckConstraint("(kind = 'credit_note') = (corrects_number IS NOT NULL)", name="corrects"),
    CheckConstraint("(state IN ('final', 'credited')) = (issued_at IS NOT NULL)", name="issued"),
    Index(  # never two for one tenant, month and currency
        "uq_invoice_of_a_month",
        "tenant_id",
        "month",
        "currency",
        unique=True,
        sqlite_where=text("kind <> 'credit_note' AND state IN ('draft', 'final')"),
        postgresql_where=text("kind <> 'credit_note' AND state IN ('draft', 'final')"),
    ),
    Index(  # never credited twice
        "uq_invoice_credited",
        "corrects_number",
        unique=True,
        sqlite_where=text("state <> 'void'"),
        postgresql_where=text("state <> 'void'"),
    ),
)

invoice_line = Table(
    "invoice_line",
    metadata,
    Column("number", ForeignKey("invoice.number"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("kind", String, nullable=False),
    Column("service_month", Date, nullable=False),
    Column("model_id", String),
    Column("line", String),
    Column("tokens", BigInteger, nullable=False),
    Column("unit_price", ExactDecimal),
    Column("amount", ExactDecimal, nullable=False),
    Column("rounded_amount", ExactDecimal, nullable=False),
    Column("price_key", BigInteger),
    Column("entry", String),
    Column("context_tier", String),
    Column("band", String),
    Column("service_tier", String),
    Column("region", String),
    Column("contract", String),
    Column("corrects_number", String),
    Column("corrects_position", Integer),
    Column("reason", Text),
)

document = Table(  # the bytes that were issued; a re-print gives the same
    "document",
    metadata,
    Column("number", ForeignKey("invoice.number"), primary_key=True),
    Column("format", String, primary_key=True),
    Column("sha256", String, nullable=False),
    Column("media_type", String, nullable=False),
    Column("body", LargeBinary, nullable=False, info={"secret": True}),  # not in the audit log
    Column("made_at", UtcDateTime, nullable=False),
)

dispute = Table(
    "dispute",
    metadata,
    Column("dispute_id", String, primary_key=True),
    Column("tenant_id", ForeignKey("tenant.tenant_id"), nullable=False, index=True),
    Column("number", String, nullable=False),
    Column("position", Integer, nullable=False),
    Column("amount", ExactDecimal, nullable=False),  # what the tenant asks back, minor units
    Column("reason", Text, nullable=False),
    Column("state", String, nullable=False),
    Column("opened_at", UtcDateTime, nullable=False),
    Column("opened_by", String, nullable=False),
    Column("decided_at", UtcDateTime),
    Column("decided_by", String),
    Column("decision_reason", Text),
    Column("credited_amount", ExactDecimal),
    Column("credited_on", ForeignKey("invoice.number")),  # the later invoice that gives it back
    ForeignKeyConstraint(["number", "position"], ["invoice_line.number", "invoice_line.position"]),
    _one_of("state", DisputeState),
    CheckConstraint("(state = 'open') = (decided_at IS NULL)", name="decided"),
)

rerate = Table(  # a closed month was rated anew: the difference is on later invoices
    "rerate",
    metadata,
    Column("rerate_id", String, primary_key=True),
    Column("month", Date, nullable=False),
    Column("tenants", JSON(none_as_null=True)),  # NULL: all
    Column("reason", Text, nullable=False),
    Column("catalogue_id", Text, nullable=False),
    Column("requested_at", UtcDateTime, nullable=False),
    Column("requested_by", String, nullable=False),
)
