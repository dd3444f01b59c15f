"""Live traffic: versions of weights, sums by version and arm, and who reports them."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

WHOLE, TEXT = sa.BigInteger(), sa.Text()


def column(name: str, kind: Any, key: bool = False) -> sa.Column[Any]:
    """A column that is always filled."""
    return sa.Column(name, kind, primary_key=key, nullable=False)


def create(name: str, *columns: sa.Column[Any], fill: int | None = None) -> None:
    """A table of things that belong to an experiment."""
    owner = sa.Column(
        "experiment",
        WHOLE,
        sa.ForeignKey("experiments.id", ondelete="CASCADE", name=f"fk_{name}_experiment"),
        primary_key=True,
    )
    with_room: dict[str, Any] = {} if fill is None else {"postgresql_with": {"fillfactor": fill}}
    key = sa.PrimaryKeyConstraint("experiment", *(c.name for c in columns if c.primary_key), name=f"pk_{name}")
    op.create_table(name, owner, *columns, key, sqlite_with_rowid=False, **with_room)


def upgrade() -> None:
    """Make the tables."""
    create("versions", column("number", WHOLE, key=True), column("data", TEXT), column("evidence", TEXT))
    keys = [column(name, WHOLE, key=True) for name in ("version", "arm")]
    create("sums", *keys, column("count", WHOLE), column("moments", TEXT), fill=50)
    figures = [column(name, WHOLE) for name in ("sequence", "requests", "version")]
    create("edges", column("name", TEXT, key=True), *figures, column("at", sa.Double()), fill=50)
