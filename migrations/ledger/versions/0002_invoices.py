"""Documents of the month's close: invoices, their numbers and chain, disputes."""

import sqlalchemy as sa
from alembic import context, op

from pricing.ledger.types import ExactDecimal, UtcDateTime

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "issuer",
        sa.Column("issuer_id", sa.String(), nullable=False),
        sa.Column("legal_name", sa.String(), nullable=False),
        sa.Column("tax_id", sa.String(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("phone", sa.String(), nullable=True),
        sa.Column("email", sa.String(), nullable=True),
        sa.Column("bank_name", sa.String(), nullable=True),
        sa.Column("bank_account", sa.String(), nullable=True),
        sa.Column("country", sa.String(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("issuer_id", name=op.f("pk_issuer")),
        if_not_exists=True,
    )
    op.create_table(
        "billing_profile",
        sa.Column("tenant_id", sa.String(), nullable=False),
        sa.Column("issuer_id", sa.String(), nullable=False),
        sa.Column("legal_name", sa.String(), nullable=True),
        sa.Column("tax_id", sa.String(), nullable=True),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("phone", sa.String(), nullable=True),
        sa.Column("email", sa.String(), nullable=True),
        sa.Column("bank_name", sa.String(), nullable=True),
        sa.Column("bank_account", sa.String(), nullable=True),
        sa.Column("country", sa.String(), nullable=True),
        sa.Column("tax_rate", ExactDecimal(), nullable=False),
        sa.Column("tax_place", sa.String(), nullable=True),
        sa.Column("language", sa.String(), nullable=False),
        sa.Column("payment_days", sa.Integer(), nullable=False),
        sa.CheckConstraint("language IN ('en', 'zh')", name=op.f("ck_billing_profile_language")),
        sa.ForeignKeyConstraint(
            ["issuer_id"], ["issuer.issuer_id"], name=op.f("fk_billing_profile_issuer_id_issuer")
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenant.tenant_id"], name=op.f("fk_billing_profile_tenant_id_tenant")
        ),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_billing_profile")),
        if_not_exists=True,
    )
    op.create_table(
        "chain_link",
        sa.Column("issuer_id", sa.String(), nullable=False),
        sa.Column("position", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("event", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("content_sha256", sa.String(), nullable=False),
        sa.Column("previous_hash", sa.String(), nullable=False),
        sa.Column("link_hash", sa.String(), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["issuer_id"], ["issuer.issuer_id"], name=op.f("fk_chain_link_issuer_id_issuer")
        ),
        sa.PrimaryKeyConstraint("issuer_id", "position", name=op.f("pk_chain_link")),
        if_not_exists=True,
    )
    op.create_table(
        "invoice",
        sa.Column("number", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("issuer_id", sa.String(), nullable=False),
        sa.Column("tenant_id", sa.String(), nullable=False),
        sa.Column("month", sa.Date(), nullable=False),
        sa.Column("billing_zone", sa.String(), nullable=False),
        sa.Column("start_at", UtcDateTime(), nullable=False),
        sa.Column("end_at", UtcDateTime(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("made_at", UtcDateTime(), nullable=False),
        sa.Column("issued_at", UtcDateTime(), nullable=True),
        sa.Column("due_on", sa.Date(), nullable=True),
        sa.Column("tax_rate", ExactDecimal(), nullable=False),
        sa.Column("tax_place", sa.String(), nullable=True),
        sa.Column("exact_amount", ExactDecimal(), nullable=False),
        sa.Column("net_amount", ExactDecimal(), nullable=False),
        sa.Column("rounding_amount", ExactDecimal(), nullable=False),
        sa.Column("tax_amount", ExactDecimal(), nullable=False),
        sa.Column("gross_amount", ExactDecimal(), nullable=False),
        sa.Column("settle_mark", sa.BigInteger(), nullable=False),
        sa.Column("adjusted_after_mark", sa.BigInteger(), nullable=False),
        sa.Column("digest_requests", sa.BigInteger(), nullable=False),
        sa.Column("digest_1", ExactDecimal(), nullable=False),
        sa.Column("digest_2", ExactDecimal(), nullable=False),
        sa.Column("digest_3", ExactDecimal(), nullable=False),
        sa.Column("digest_4", ExactDecimal(), nullable=False),
        sa.Column("seller", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("buyer", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("annex", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("content_sha256", sa.String(), nullable=False),
        sa.Column("corrects_number", sa.String(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("payment_state", sa.String(), nullable=False),
        sa.Column("paid_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint(
            "(kind = 'credit_note') = (corrects_number IS NOT NULL)",
            name=op.f("ck_invoice_corrects"),
        ),
        sa.CheckConstraint(
            "(state IN ('final', 'credited')) = (issued_at IS NOT NULL)",
            name=op.f("ck_invoice_issued"),
        ),
        sa.CheckConstraint(
            "kind IN ('invoice', 'statement', 'credit_note')", name=op.f("ck_invoice_kind")
        ),
        sa.CheckConstraint(
            "payment_state IN ('open', 'paid', 'written_off')",
            name=op.f("ck_invoice_payment_state"),
        ),
        sa.CheckConstraint(
            "state IN ('draft', 'final', 'credited', 'void')", name=op.f("ck_invoice_state")
        ),
        sa.ForeignKeyConstraint(
            ["corrects_number"], ["invoice.number"], name=op.f("fk_invoice_corrects_number_invoice")
        ),
        sa.ForeignKeyConstraint(
            ["issuer_id"], ["issuer.issuer_id"], name=op.f("fk_invoice_issuer_id_issuer")
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenant.tenant_id"], name=op.f("fk_invoice_tenant_id_tenant")
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_invoice")),
        if_not_exists=True,
    )
    op.create_index(
        "uq_invoice_credited",
        "invoice",
        ["corrects_number"],
        unique=True,
        if_not_exists=True,
        sqlite_where=sa.text("state <> 'void'"),
        postgresql_where=sa.text("state <> 'void'"),
    )
    op.create_index(
        "uq_invoice_of_a_month",
        "invoice",
        ["tenant_id", "month", "currency"],
        unique=True,
        if_not_exists=True,
        sqlite_where=sa.text("kind <> 'credit_note' AND state IN ('draft', 'final')"),
        postgresql_where=sa.text("kind <> 'credit_note' AND state IN ('draft', 'final')"),
    )

    op.create_table(
        "number_series",
        sa.Column("issuer_id", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("prefix", sa.String(), nullable=False),
        sa.Column("last_number", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "kind IN ('invoice', 'statement', 'credit_note')", name=op.f("ck_number_series_kind")
        ),
        sa.ForeignKeyConstraint(
            ["issuer_id"], ["issuer.issuer_id"], name=op.f("fk_number_series_issuer_id_issuer")
        ),
        sa.PrimaryKeyConstraint("issuer_id", "kind", name=op.f("pk_number_series")),
        sa.UniqueConstraint("prefix", name=op.f("uq_number_series_prefix")),
        if_not_exists=True,
    )
    op.create_table(
        "document",
        sa.Column("number", sa.String(), nullable=False),
        sa.Column("format", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("media_type", sa.String(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.Column("made_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["number"], ["invoice.number"], name=op.f("fk_document_number_invoice")
        ),
        sa.PrimaryKeyConstraint("number", "format", name=op.f("pk_document")),
        if_not_exists=True,
    )
    op.create_table(
        "invoice_line",
        sa.Column("number", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("service_month", sa.Date(), nullable=False),
        sa.Column("model_id", sa.String(), nullable=True),
        sa.Column("line", sa.String(), nullable=True),
        sa.Column("tokens", sa.BigInteger(), nullable=False),
        sa.Column("unit_price", ExactDecimal(), nullable=True),
        sa.Column("amount", ExactDecimal(), nullable=False),
        sa.Column("rounded_amount", ExactDecimal(), nullable=False),
        sa.Column("price_key", sa.BigInteger(), nullable=True),
        sa.Column("entry", sa.String(), nullable=True),
        sa.Column("context_tier", sa.String(), nullable=True),
        sa.Column("band", sa.String(), nullable=True),
        sa.Column("service_tier", sa.String(), nullable=True),
        sa.Column("region", sa.String(), nullable=True),
        sa.Column("contract", sa.String(), nullable=True),
        sa.Column("corrects_number", sa.String(), nullable=True),
        sa.Column("corrects_position", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["number"], ["invoice.number"], name=op.f("fk_invoice_line_number_invoice")
        ),
        sa.PrimaryKeyConstraint("number", "position", name=op.f("pk_invoice_line")),
        if_not_exists=True,
    )
    op.create_table(
        "period_close",
        sa.Column("tenant_id", sa.String(), nullable=False),
        sa.Column("month", sa.Date(), nullable=False),
        sa.Column("adjusted_after_mark", sa.BigInteger(), nullable=False),
        sa.Column("begun_by", sa.String(), nullable=False),
        sa.Column("accepted", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("accepted_reason", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id", "month"],
            ["accounting_period.tenant_id", "accounting_period.month"],
            name=op.f("fk_period_close_tenant_id_month_accounting_period"),
        ),
        sa.PrimaryKeyConstraint("tenant_id", "month", name=op.f("pk_period_close")),
        if_not_exists=True,
    )
    op.create_table(
        "dispute",
        sa.Column("dispute_id", sa.String(), nullable=False),
        sa.Column("tenant_id", sa.String(), nullable=False),
        sa.Column("number", sa.String(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("amount", ExactDecimal(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("opened_at", UtcDateTime(), nullable=False),
        sa.Column("opened_by", sa.String(), nullable=False),
        sa.Column("decided_at", UtcDateTime(), nullable=True),
        sa.Column("decided_by", sa.String(), nullable=True),
        sa.Column("decision_reason", sa.Text(), nullable=True),
        sa.Column("credited_amount", ExactDecimal(), nullable=True),
        sa.Column("credited_on", sa.String(), nullable=True),
        sa.CheckConstraint(
            "(state = 'open') = (decided_at IS NULL)", name=op.f("ck_dispute_decided")
        ),
        sa.CheckConstraint(
            "state IN ('open', 'credited', 'rejected')", name=op.f("ck_dispute_state")
        ),
        sa.ForeignKeyConstraint(
            ["credited_on"], ["invoice.number"], name=op.f("fk_dispute_credited_on_invoice")
        ),
        sa.ForeignKeyConstraint(
            ["number", "position"],
            ["invoice_line.number", "invoice_line.position"],
            name=op.f("fk_dispute_number_position_invoice_line"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenant.tenant_id"], name=op.f("fk_dispute_tenant_id_tenant")
        ),
        sa.PrimaryKeyConstraint("dispute_id", name=op.f("pk_dispute")),
        if_not_exists=True,
    )
    op.create_index(
        op.f("ix_dispute_tenant_id"), "dispute", ["tenant_id"], unique=False, if_not_exists=True
    )


def downgrade() -> None:
    """Back to 0001 the tables stay: an invoice must never be lost, and 0001 does not mind them."""
    if context.get_revision_argument() not in (None, (), "base"):
        return
    with op.batch_alter_table("dispute") as batch_op:
        batch_op.drop_index(batch_op.f("ix_dispute_tenant_id"))

    op.drop_table("dispute")
    op.drop_table("period_close")
    op.drop_table("invoice_line")
    op.drop_table("document")
    op.drop_table("number_series")
    with op.batch_alter_table("invoice") as batch_op:
        batch_op.drop_index(
            "uq_invoice_of_a_month",
            sqlite_where=sa.text("kind <> 'credit_note' AND state IN ('draft', 'final')"),
            postgresql_where=sa.text("kind <> 'credit_note' AND state IN ('draft', 'final')"),
        )
        batch_op.drop_index(
            "uq_invoice_credited",
            sqlite_where=sa.text("state <> 'void'"),
            postgresql_where=sa.text("state <> 'void'"),
        )

    op.drop_table("invoice")
    op.drop_table("chain_link")
    op.drop_table("billing_profile")
    op.drop_table("issuer")
