"""Items that trials are made on: their texts, the one of each trial, and sums of results by item and arm."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

WHOLE, TEXT = sa.BigInteger(), sa.Text()


def column(name: str, kind: Any, key: bool = False) -> sa.Column[Any]:
    """A column that is always filled."""
    return sa.Column(name, kind, primary_key=key, nullable=False)


def create(name: str, *columns: sa.Column[Any]) -> None:
    """A table of things that belong to an experiment."""
    owner = sa.Column(
        "experiment",
        WHOLE,
        sa.ForeignKey("experiments.id", ondelete="CASCADE", name=f"fk_{name}_experiment"),
        primary_key=True,
    )
    key = sa.PrimaryKeyConstraint("experiment", *(c.name for c in columns if c.primary_key), name=f"pk_{name}")
    op.create_table(name, owner, *columns, key, sqlite_with_rowid=False)


def upgrade() -> None:
    """Add columns, which say of experiments that are there that they have no items; make the tables."""
    op.add_column("experiments", sa.Column("items", TEXT))
    op.add_column("arms", sa.Column("handed", WHOLE, nullable=False, server_default="0"))
    op.add_column("trials", sa.Column("item", WHOLE))
    create("items", column("item", WHOLE, key=True), column("name", TEXT))
    keys = [column(name, WHOLE, key=True) for name in ("item", "arm")]
    create("item_sums", *keys, column("count", WHOLE), column("totals", TEXT))
