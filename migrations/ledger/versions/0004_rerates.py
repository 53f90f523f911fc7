"""Re-rates of closed months."""

import sqlalchemy as sa
from alembic import context, op

from pricing.ledger.types import UtcDateTime

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "rerate",
        sa.Column("rerate_id", sa.String(), nullable=False),
        sa.Column("month", sa.Date(), nullable=False),
        sa.Column("tenants", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("catalogue_id", sa.Text(), nullable=False),
        sa.Column("requested_at", UtcDateTime(), nullable=False),
        sa.Column("requested_by", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("rerate_id", name=op.f("pk_rerate")),
        if_not_exists=True,
    )


def downgrade() -> None:
    """Back to 0003 the table stays, with its rows: 0003 does not mind it."""
    if context.get_revision_argument() not in (None, (), "base"):
        return
    op.drop_table("rerate")
