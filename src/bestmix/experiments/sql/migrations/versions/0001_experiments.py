"""Experiments, their trials, rounds, running sums and events."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

WHOLE = sa.BigInteger()
NUMBER: sa.Double[float] = sa.Double()
SLOTS = ["trials", "events", "round", "owing", "due", "freed"]
STATES = ["complete", "leased", "surplus", "expired", "failed", "strikes"]


def whole(name: str, key: bool = False) -> sa.Column[int]:
    """A column of whole numbers."""
    return sa.Column(name, WHOLE, primary_key=key, nullable=False)


def number(name: str, nullable: bool = False) -> sa.Column[float]:
    """A column of floats."""
    return sa.Column(name, NUMBER, nullable=nullable)


def text(name: str, key: bool = False, nullable: bool = False) -> sa.Column[str]:
    """A column of text."""
    return sa.Column(name, sa.Text, primary_key=key, nullable=nullable)


def create(name: str, *columns: sa.schema.SchemaItem, fill: int | None = None) -> None:
    """A table of things that belong to an experiment."""
    owner = sa.Column(
        "experiment",
        WHOLE,
        sa.ForeignKey("experiments.id", ondelete="CASCADE", name=f"fk_{name}_experiment"),
        primary_key=True,
    )
    with_room: dict[str, Any] = {} if fill is None else {"postgresql_with": {"fillfactor": fill}}
    keys = ["experiment", *(c.name for c in columns if isinstance(c, sa.Column) and c.primary_key)]
    key = sa.PrimaryKeyConstraint(*keys, name=f"pk_{name}")
    op.create_table(name, owner, *columns, key, sqlite_with_rowid=False, **with_room)


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "experiments",
        sa.Column("id", WHOLE.with_variant(sa.Integer(), "sqlite"), nullable=False),
        text("key"),
        text("name"),
        text("problem"),
        text("strategy"),
        whole("first_budget"),
        number("lease"),
        whole("failures"),
        number("created"),
        text("status"),
        text("reason"),
        text("notes"),
        whole("budget"),
        number("ended", nullable=True),
        text("memory"),
        sa.PrimaryKeyConstraint("id", name="pk_experiments"),
        sa.UniqueConstraint("key", name="uq_experiments_key"),
        sa.UniqueConstraint("name", name="uq_experiments_name"),
    )
    clock = (number("clock"), text("boot"), number("tick"), number("earliest"))
    create("heads", *clock, *map(whole, [*SLOTS, *STATES]), fill=50)
    create("arms", whole("arm", key=True), whole("due"), whole("count"), text("moments"), fill=50)
    create("rounds", whole("number", key=True), text("data"), number("at"))
    create("asks", text("key", key=True), whole("first"), whole("count"))
    create("events", whole("number", key=True), text("kind"), text("data"), number("at"))
    create_trials()


def create_trials() -> None:
    """The trials, with indexes of those under way and of the odd ones."""
    create(
        "trials",
        whole("number", key=True),
        whole("slot"),
        whole("arm"),
        whole("round"),
        text("worker"),
        number("deadline"),
        number("expires"),
        number("asked"),
        text("state"),
        sa.Column("open", sa.Boolean, nullable=False),
        number("told", nullable=True),
        number("reward", nullable=True),
        text("costs", nullable=True),
        text("note"),
    )
    for name, columns, condition in (
        ("trials_leased", ["experiment", "deadline"], "state = 'leased'"),
        ("trials_open", ["experiment", "number"], "open"),
        ("trials_again", ["experiment", "slot"], "slot <> number"),
        ("trials_odd", ["experiment", "state", "number"], "state NOT IN ('leased', 'complete')"),
    ):
        where = sa.text(condition)
        op.create_index(name, "trials", columns, sqlite_where=where, postgresql_where=where)
