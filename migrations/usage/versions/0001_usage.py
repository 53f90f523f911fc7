"""The usage store's first schema."""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

HERE = Path(__file__).parent


def upgrade() -> None:
    """Run 0001_usage_up.sql."""
    op.get_bind().exec_driver_sql((HERE / "0001_usage_up.sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    """Run 0001_usage_down.sql."""
    op.get_bind().exec_driver_sql((HERE / "0001_usage_down.sql").read_text(encoding="utf-8"))
