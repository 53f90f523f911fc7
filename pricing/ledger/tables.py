"""The ledger's tables: who, for what price, in which month, and who changed it.

One MetaData; the migrations under migrations/ledger are held equal to it by a test. Money is
`ExactDecimal`, times are `UtcDateTime`, intervals are half-open [from_at, until_at).
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
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)

from pricing.ledger.types import ExactDecimal, UtcDateTime
from pricing.scope import Role

SECRET = {"secret": True}  # column info: never in the audit log, never in an answer

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)


class TenantKind(StrEnum):
    """How a tenant's usage ends: an invoice, a chargeback statement, or nothing."""

    CUSTOMER = "customer"
    INTERNAL = "internal"
    TEST = "test"


class BookState(StrEnum):
    """Where a revision of a price book stands; only published ones price anything."""

    DRAFT = "draft"
    REVIEWED = "reviewed"
    PUBLISHED = "published"


class PeriodState(StrEnum):
    """Where a tenant's month stands (docs/finance/month.md)."""

    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"


class RunState(StrEnum):
    """How a job's run ended, or that it has not."""

    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"


def _one_of(column: str, values: type[StrEnum]) -> CheckConstraint:
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


def _ordered(start: str, end: str) -> CheckConstraint:
    return CheckConstraint(f"{end} IS NULL OR {end} > {start}", name=f"{start}_before_{end}")


tenant = Table(
    "tenant",
    metadata,
    Column("tenant_id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("legal_name", String),
    Column("kind", String, nullable=False),
    Column("billing_zone", String, nullable=False),  # IANA name
    Column("currency", String, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("archived_at", UtcDateTime),
    _one_of("kind", TenantKind),
)

project = Table(
    "project",
    metadata,
    Column("tenant_id", ForeignKey("tenant.tenant_id"), primary_key=True),
    Column("project_id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("archived_at", UtcDateTime),
)

cost_centre = Table(
    "cost_centre",
    metadata,
    Column("tenant_id", ForeignKey("tenant.tenant_id"), primary_key=True),
    Column("cost_centre_id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("archived_at", UtcDateTime),
)

cost_centre_assignment = Table(  # which cost centre a project's usage goes to, by its dates
    "cost_centre_assignment",
    metadata,
    Column("assignment_id", String, primary_key=True),
    Column("tenant_id", String, nullable=False),
    Column("project_id", String, nullable=False),
    Column("cost_centre_id", String, nullable=False),
    Column("from_at", UtcDateTime, nullable=False),
    Column("until_at", UtcDateTime),
    ForeignKeyConstraint(["tenant_id", "project_id"], ["project.tenant_id", "project.project_id"]),
    ForeignKeyConstraint(
        ["tenant_id", "cost_centre_id"],
        ["cost_centre.tenant_id", "cost_centre.cost_centre_id"],
    ),
    UniqueConstraint("tenant_id", "project_id", "from_at"),
    _ordered("from_at", "until_at"),
)

api_key = Table(
    "api_key",
    metadata,
    Column("key_id", String, primary_key=True),
    Column("key_hash", String, nullable=False, unique=True, info=SECRET),  # SHA-256, hex
    Column("prefix", String, nullable=False),  # enough to recognise the key, far from enough to use
    Column("name", String, nullable=False),
    Column("role", String, nullable=False),
    Column("tenant_id", ForeignKey("tenant.tenant_id")),
    Column("node_id", String),
    Column(
        "scopes", JSON(none_as_null=True)
    ),  # permissions the key is cut down to; null: all of its role
    Column("created_at", UtcDateTime, nullable=False),
    Column("expires_at", UtcDateTime),
    Column("revoked_at", UtcDateTime),
    Column("last_used_at", UtcDateTime),
    Column("replaces_key_id", ForeignKey("api_key.key_id")),
    _one_of("role", Role),
    CheckConstraint("(role = 'tenant') = (tenant_id IS NOT NULL)", name="tenant_of_role"),
    CheckConstraint("(role = 'node') = (node_id IS NOT NULL)", name="node_of_role"),
    Index(None, "tenant_id"),
)

usage_key = Table(  # a key id that usage names (a gateway's, an engine's), and whose it is
    "usage_key",
    metadata,
    Column("api_key_id", String, primary_key=True),
    Column("tenant_id", ForeignKey("tenant.tenant_id"), nullable=False, index=True),
    Column("project_id", String),
    Column("created_at", UtcDateTime, nullable=False),
    ForeignKeyConstraint(["tenant_id", "project_id"], ["project.tenant_id", "project.project_id"]),
)

book_revision = Table(  # a text never changes; its state moves forward
    "book_revision",
    metadata,
    Column("book", String, primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("toml_text", Text, nullable=False),
    Column("sha256", String, nullable=False),
    Column("currency", String, nullable=False),
    Column("state", String, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("created_by", String, nullable=False),
    Column("published_at", UtcDateTime),
    Column("published_by", String),
    UniqueConstraint("book", "sha256"),
    _one_of("state", BookState),
    CheckConstraint("(state = 'published') = (published_at IS NOT NULL)", name="published"),
)

server = Table(
    "server",
    metadata,
    Column("node_id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("stage", String, nullable=False),
    Column("pool", String),
    Column("hardware", String),
    Column("rated_tokens_per_second", ExactDecimal),  # null: utilisation is unknown
    Column("in_service_from", UtcDateTime, nullable=False),
    Column("in_service_until", UtcDateTime),
    Column("cost_assumptions", JSON(none_as_null=True)),  # name → decimal text
    Column("instance_id", String),  # null: an instance of its own
    Column("instance_weight", ExactDecimal),
    CheckConstraint("stage IN ('prefill', 'decode', 'unified', 'gateway')", name="stage"),
    _ordered("in_service_from", "in_service_until"),
)

policy_revision = Table(
    "policy_revision",
    metadata,
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("toml_text", Text, nullable=False),
    Column("sha256", String, nullable=False),
    Column("effective_from", UtcDateTime, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
    Column("created_by", String, nullable=False),
)

job_run = Table(  # the claim: one row for one job and period, whoever runs it
    "job_run",
    metadata,
    Column("job", String, primary_key=True),
    Column("period", String, primary_key=True),
    Column("state", String, nullable=False),
    Column("claimed_by", String, nullable=False),
    Column("lease_until", UtcDateTime, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("started_at", UtcDateTime, nullable=False),
    Column("finished_at", UtcDateTime),
    Column("outcome", JSON(none_as_null=True)),
    Column("error", Text),
    _one_of("state", RunState),
)

accounting_period = Table(
    "accounting_period",
    metadata,
    Column("tenant_id", ForeignKey("tenant.tenant_id"), primary_key=True),
    Column("month", Date, primary_key=True),  # its first day, in the tenant's billing zone
    Column("state", String, nullable=False),
    Column("settle_mark", BigInteger),  # settle_seq up to which usage belongs to the period itself
    Column("closing_at", UtcDateTime),
    Column("closed_at", UtcDateTime),
    _one_of("state", PeriodState),
    CheckConstraint("(state = 'open') = (settle_mark IS NULL)", name="mark_of_state"),
)

finding_decision = Table(
    "finding_decision",
    metadata,
    Column("decision_id", String, primary_key=True),
    Column("finding_id", String, nullable=False, index=True),
    Column("tenant_id", String),
    Column("decision", String, nullable=False),
    Column("reason", Text, nullable=False),
    Column("decided_at", UtcDateTime, nullable=False),
    Column("decided_by", String, nullable=False),
)

roi_case = Table(  # an investment case as it was stated; never changed, only archived
    "roi_case",
    metadata,
    Column("case_id", String, primary_key=True),
    Column("name", String, nullable=False),
    Column("currency", String, nullable=False),
    Column("stated", JSON(none_as_null=True), nullable=False),
    Column("note", Text),
    Column("created_at", UtcDateTime, nullable=False),
    Column("created_by", String, nullable=False),
    Column("archived_at", UtcDateTime),
)

audit_entry = Table(
    "audit_entry",
    metadata,
    Column(
        "audit_id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True
    ),  # in commit order: writers take turns
    Column("at", UtcDateTime, nullable=False),
    Column("actor", String, nullable=False),  # key id, or the command
    Column("request_id", String),
    Column("action", String, nullable=False),
    Column("subject", String, nullable=False),  # table
    Column("subject_key", String, nullable=False),
    Column("tenant_id", String, index=True),
    Column("before", JSON(none_as_null=True)),
    Column("after", JSON(none_as_null=True)),
)

idempotent_answer = Table(  # what a POST with this Idempotency-Key was answered
    "idempotent_answer",
    metadata,
    Column("key_id", String, primary_key=True),
    Column("idempotency_key", String, primary_key=True),
    Column("request_sha256", String, nullable=False),
    Column("status", Integer, nullable=False),
    Column("body", JSON(none_as_null=True), nullable=False),
    Column("created_at", UtcDateTime, nullable=False, index=True),
)
