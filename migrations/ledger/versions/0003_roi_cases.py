"""Saved investment cases."""

import sqlalchemy as sa
from alembic import context, op

from pricing.ledger.types import UtcDateTime

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "roi_case",
        sa.Column("case_id", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("currency", sa.String(), nullable=False),
        sa.Column("stated", sa.JSON(none_as_null=True), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("created_by", sa.String(), nullable=False),
        sa.Column("archived_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("case_id", name=op.f("pk_roi_case")),
        if_not_exists=True,
    )


def downgrade() -> None:
    """Back to 0002 the table stays, with its cases: 0002 does not mind it."""
    if context.get_revision_argument() not in (None, (), "base"):
        return
    op.drop_table("roi_case")
