"""What an experiment started from, what has changed since, and slots that the next decision does not wait for."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add columns; those of experiments that are there mean that nothing of it was used."""
    op.add_column("experiments", sa.Column("log_weight", sa.Double(), nullable=False, server_default="1"))
    op.add_column("experiments", sa.Column("changed", sa.Text))
    for name in ("extra", "queued", "beyond", "cutoff"):
        op.add_column("heads", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0"))
    op.add_column("arms", sa.Column("earlier", sa.Text))
