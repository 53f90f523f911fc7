"""Samples say how many of the counted tokens belong to requests that finished."""

from pathlib import Path

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

HERE = Path(__file__).parent
NAME = "0002_finished_counters"


def upgrade() -> None:
    """Run 0002_finished_counters_up.sql."""
    op.get_bind().exec_driver_sql((HERE / f"{NAME}_up.sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    """Run 0002_finished_counters_down.sql."""
    op.get_bind().exec_driver_sql((HERE / f"{NAME}_down.sql").read_text(encoding="utf-8"))
