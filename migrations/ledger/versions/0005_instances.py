"""Servers that hold one engine instance together."""

import sqlalchemy as sa
from alembic import context, op

from pricing.ledger.types import ExactDecimal

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    known = {column["name"] for column in sa.inspect(op.get_bind()).get_columns("server")}
    if "instance_id" not in known:
        op.add_column("server", sa.Column("instance_id", sa.String(), nullable=True))
        op.add_column("server", sa.Column("instance_weight", ExactDecimal(), nullable=True))


def downgrade() -> None:
    """Back to 0004 the columns stay, with their values: 0004 does not mind them."""
    if context.get_revision_argument() not in (None, (), "base"):
        return
    op.drop_column("server", "instance_weight")
    op.drop_column("server", "instance_id")
