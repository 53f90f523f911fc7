"""The ledger's first schema."""

import sqlalchemy as sa
from alembic import op

from pricing.ledger.types import ExactDecimal, UtcDateTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "audit_entry",
        sa.Column("audit_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("at", UtcDateTime(), nullable=False),
        sa.Column("actor", sa.String(), nullable=False),
        sa.Column("request_id", sa.String(), nullable=True),
        sa.Column("action", sa.String(), nullable=False),
        sa.Column("subject", sa.String(), nullable=False),
        sa.Column("subject_key", sa.String(), nullable=False),
        sa.Column("tenant_id", sa.String(), nullable=True),
        sa.Column("before", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("after", sa.JSON(none_as_null=True), nullable=True),
        sa.PrimaryKeyConstraint("audit_id", name=op.f("pk_audit_entry")),
    )
    with op.batch_alter_table("audit_entry") as batch_op:
        batch_op.create_index(batch_op.f("ix_audit_entry_tenant_id"), ["tenant_id"], unique=False)

    op.create_table(
        "book_revision",
        sa.Column("book", sa.String(), nullable=False),
        sa.Column("revision", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("toml_text", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("published_at", UtcDateTime(), nullable=True),
        sa.Column("published_by", sa.String(), nullable=True),
        sa.CheckConstraint(
            "(state = 'published') = (published_at IS NOT NULL)",
            name=op.f("ck_book_revision_published"),
        ),
        sa.CheckConstraint(
            "state IN ('draft', 'reviewed', 'published')", name=op.f("ck_book_revision_state")
        ),
        sa.PrimaryKeyConstraint("book", "revision", name=op.f("pk_book_revision")),
        sa.UniqueConstraint("book", "sha256", name=op.f("uq_book_revision_book_sha256")),
    )
    op.create_table(
        "finding_decision",
        sa.Column("decision_id", sa.String(), nullable=False),
        sa.Column("finding_id", sa.String(), nullable=False),
        sa.Column("tenant_id", sa.String(), nullable=True),
        sa.Column("decision", sa.String(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("decided_at", UtcDateTime(), nullable=False),
        sa.Column("decided_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("decision_id", name=op.f("pk_finding_decision")),
    )
    with op.batch_alter_table("finding_decision") as batch_op:
        batch_op.create_index(
            batch_op.f("ix_finding_decision_finding_id"), ["finding_id"], unique=False
        )

    op.create_table(
        "idempotent_answer",
        sa.Column("key_id", sa.String(), nullable=False),
        sa.Column("idempotency_key", sa.String(), nullable=False),
        sa.Column("request_sha256", sa.String(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("body", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.PrimaryKeyConstraint("key_id", "idempotency_key", name=op.f("pk_idempotent_answer")),
    )
    with op.batch_alter_table("idempotent_answer") as batch_op:
        batch_op.create_index(
            batch_op.f("ix_idempotent_answer_created_at"), ["created_at"], unique=False
        )

    op.create_table(
        "job_run",
        sa.Column("job", sa.String(), nullable=False),
        sa.Column("period", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("claimed_by", sa.String(), nullable=False),
        sa.Column("lease_until", UtcDateTime(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.Column("outcome", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.CheckConstraint("state IN ('running', 'done', 'failed')", name=op.f("ck_job_run_state")),
        sa.PrimaryKeyConstraint("job", "period", name=op.f("pk_job_run")),
    )
    op.create_table(
        "policy_revision",
        sa.Column("revision", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("toml_text", sa.Text(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("effective_from", UtcDateTime(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("revision", name=op.f("pk_policy_revision")),
    )
    op.create_table(
        "server",
        sa.Column("node_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("stage", sa.String(), nullable=False),
        sa.Column("pool", sa.String(), nullable=True),
        sa.Column("hardware", sa.String(), nullable=True),
        sa.Column("rated_tokens_per_second", ExactDecimal(), nullable=True),
        sa.Column("in_service_from", UtcDateTime(), nullable=False),
        sa.Column("in_service_until", UtcDateTime(), nullable=True),
        sa.Column("cost_assumptions", sa.JSON(none_as_null=True), nullable=True),
        sa.CheckConstraint(
            "stage IN ('prefill', 'decode', 'unified', 'gateway')", name=op.f("ck_server_stage")
        ),
        sa.CheckConstraint(
            "in_service_until IS NULL OR in_service_until > in_service_from",
            name=op.f("ck_server_in_service_from_before_in_service_until"),
        ),
        sa.PrimaryKeyConstraint("node_id", name=op.f("pk_server")),
    )
    op.create_table(
        "tenant",
        sa.Column("tenant_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("legal_name", sa.String(), nullable=True),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("billing_zone", sa.String(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("archived_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint("kind IN ('customer', 'internal', 'test')", name=op.f("ck_tenant_kind")),
        sa.PrimaryKeyConstraint("tenant_id", name=op.f("pk_tenant")),
    )
    op.create_table(
        "accounting_period",
        sa.Column("tenant_id", sa.String(), nullable=False),
        sa.Column("month", sa.Date(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("settle_mark", sa.BigInteger(), nullable=True),
        sa.Column("closing_at", UtcDateTime(), nullable=True),
        sa.Column("closed_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint(
            "(state = 'open') = (settle_mark IS NULL)",
            name=op.f("ck_accounting_period_mark_of_state"),
        ),
        sa.CheckConstraint(
            "state IN ('open', 'closing', 'closed')", name=op.f("ck_accounting_period_state")
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenant.tenant_id"], name=op.f("fk_accounting_period_tenant_id_tenant")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "month", name=op.f("pk_accounting_period")),
    )
    op.create_table(
        "api_key",
        sa.Column("key_id", sa.String(), nullable=False),
        sa.Column("key_hash", sa.String(), nullable=False),
        sa.Column("prefix", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("role", sa.String(), nullable=False),
        sa.Column("tenant_id", sa.String(), nullable=True),
        sa.Column("node_id", sa.String(), nullable=True),
        sa.Column("scopes", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=True),
        sa.Column("revoked_at", UtcDateTime(), nullable=True),
        sa.Column("last_used_at", UtcDateTime(), nullable=True),
        sa.Column("replaces_key_id", sa.String(), nullable=True),
        sa.CheckConstraint(
            "(role = 'node') = (node_id IS NOT NULL)", name=op.f("ck_api_key_node_of_role")
        ),
        sa.CheckConstraint(
            "(role = 'tenant') = (tenant_id IS NOT NULL)", name=op.f("ck_api_key_tenant_of_role")
        ),
        sa.CheckConstraint(
            "role IN ('operator', 'finance', 'viewer', 'tenant', 'node', 'gateway')",
            name=op.f("ck_api_key_role"),
        ),
        sa.ForeignKeyConstraint(
            ["replaces_key_id"], ["api_key.key_id"], name=op.f("fk_api_key_replaces_key_id_api_key")
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenant.tenant_id"], name=op.f("fk_api_key_tenant_id_tenant")
        ),
        sa.PrimaryKeyConstraint("key_id", name=op.f("pk_api_key")),
        sa.UniqueConstraint("key_hash", name=op.f("uq_api_key_key_hash")),
    )
    with op.batch_alter_table("api_key") as batch_op:
        batch_op.create_index(batch_op.f("ix_api_key_tenant_id"), ["tenant_id"], unique=False)

    op.create_table(
        "cost_centre",
        sa.Column("tenant_id", sa.String(), nullable=False),
        sa.Column("cost_centre_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("archived_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenant.tenant_id"], name=op.f("fk_cost_centre_tenant_id_tenant")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "cost_centre_id", name=op.f("pk_cost_centre")),
    )
    op.create_table(
        "project",
        sa.Column("tenant_id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("archived_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenant.tenant_id"], name=op.f("fk_project_tenant_id_tenant")
        ),
        sa.PrimaryKeyConstraint("tenant_id", "project_id", name=op.f("pk_project")),
    )
    op.create_table(
        "cost_centre_assignment",
        sa.Column("assignment_id", sa.String(), nullable=False),
        sa.Column("tenant_id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=False),
        sa.Column("cost_centre_id", sa.String(), nullable=False),
        sa.Column("from_at", UtcDateTime(), nullable=False),
        sa.Column("until_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint(
            "until_at IS NULL OR until_at > from_at",
            name=op.f("ck_cost_centre_assignment_from_at_before_until_at"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "cost_centre_id"],
            ["cost_centre.tenant_id", "cost_centre.cost_centre_id"],
            name=op.f("fk_cost_centre_assignment_tenant_id_cost_centre_id_cost_centre"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id", "project_id"],
            ["project.tenant_id", "project.project_id"],
            name=op.f("fk_cost_centre_assignment_tenant_id_project_id_project"),
        ),
        sa.PrimaryKeyConstraint("assignment_id", name=op.f("pk_cost_centre_assignment")),
        sa.UniqueConstraint(
            "tenant_id",
            "project_id",
            "from_at",
            name=op.f("uq_cost_centre_assignment_tenant_id_project_id_from_at"),
        ),
    )
    op.create_table(
        "usage_key",
        sa.Column("api_key_id", sa.String(), nullable=False),
        sa.Column("tenant_id", sa.String(), nullable=False),
        sa.Column("project_id", sa.String(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["tenant_id", "project_id"],
            ["project.tenant_id", "project.project_id"],
            name=op.f("fk_usage_key_tenant_id_project_id_project"),
        ),
        sa.ForeignKeyConstraint(
            ["tenant_id"], ["tenant.tenant_id"], name=op.f("fk_usage_key_tenant_id_tenant")
        ),
        sa.PrimaryKeyConstraint("api_key_id", name=op.f("pk_usage_key")),
    )
    with op.batch_alter_table("usage_key") as batch_op:
        batch_op.create_index(batch_op.f("ix_usage_key_tenant_id"), ["tenant_id"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("usage_key") as batch_op:
        batch_op.drop_index(batch_op.f("ix_usage_key_tenant_id"))

    op.drop_table("usage_key")
    op.drop_table("cost_centre_assignment")
    op.drop_table("project")
    op.drop_table("cost_centre")
    with op.batch_alter_table("api_key") as batch_op:
        batch_op.drop_index(batch_op.f("ix_api_key_tenant_id"))

    op.drop_table("api_key")
    op.drop_table("accounting_period")
    op.drop_table("tenant")
    op.drop_table("server")
    op.drop_table("policy_revision")
    op.drop_table("job_run")
    with op.batch_alter_table("idempotent_answer") as batch_op:
        batch_op.drop_index(batch_op.f("ix_idempotent_answer_created_at"))

    op.drop_table("idempotent_answer")
    with op.batch_alter_table("finding_decision") as batch_op:
        batch_op.drop_index(batch_op.f("ix_finding_decision_finding_id"))

    op.drop_table("finding_decision")
    op.drop_table("book_revision")
    with op.batch_alter_table("audit_entry") as batch_op:
        batch_op.drop_index(batch_op.f("ix_audit_entry_tenant_id"))

    op.drop_table("audit_entry")
