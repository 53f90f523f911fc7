"""Samples hold the engine's histogram of inter-token latency; hours know its edges."""

from pathlib import Path

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

HERE = Path(__file__).parent
NAME = "0003_inter_token_latency"


def upgrade() -> None:
    """Run 0003_inter_token_latency_up.sql."""
    op.get_bind().exec_driver_sql((HERE / f"{NAME}_up.sql").read_text(encoding="utf-8"))


def downgrade() -> None:
    """Run 0003_inter_token_latency_down.sql."""
    op.get_bind().exec_driver_sql((HERE / f"{NAME}_down.sql").read_text(encoding="utf-8"))
