"""The tables, as of the newest version; ``migrations/`` brings older files up to it.

To change them: change them here, add a file to ``migrations/versions`` that does the same to an
older database, and set VERSION to its name. A test compares the two ways of getting here.
"""

from typing import Any

import sqlalchemy as sa

VERSION = "0006"

metadata = sa.MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
    }
)

# Sixty-four bits everywhere; SQLite numbers rows by itself only in a column of type INTEGER.
Whole = sa.BigInteger()
RowId = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
Number: sa.Double[float] = sa.Double()


def _table(name: str, *parts: sa.schema.SchemaItem, rowid: bool = False, fill: int | None = None) -> sa.Table:
    # Rows that are rewritten all the time stay in their page when PostgreSQL leaves room there.
    with_room: dict[str, Any] = {} if fill is None else {"postgresql_with": {"fillfactor": fill}}
    made: sa.Table = sa.Table(name, metadata, *parts, sqlite_with_rowid=rowid, **with_room)
    return made


def _experiment() -> sa.Column[int]:
    return sa.Column("experiment", Whole, sa.ForeignKey("experiments.id", ondelete="CASCADE"), primary_key=True)


experiments = _table(
    "experiments",
    sa.Column("id", RowId, primary_key=True),
    sa.Column("key", sa.Text, nullable=False, unique=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    sa.Column("problem", sa.Text, nullable=False),
    sa.Column("strategy", sa.Text, nullable=False),
    sa.Column("first_budget", Whole, nullable=False),
    sa.Column("lease", Number, nullable=False),
    sa.Column("failures", Whole, nullable=False),
    sa.Column("created", Number, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("notes", sa.Text, nullable=False),
    sa.Column("budget", Whole, nullable=False),
    sa.Column("ended", Number),
    sa.Column("memory", sa.Text, nullable=False),
    sa.Column("log_weight", Number, nullable=False, server_default="1"),  # what a result of the log counts
    sa.Column("changed", sa.Text),  # the problem as it is now, where it was changed since
    sa.Column("items", sa.Text),  # how many items trials are made on, and in which order, where there are any
    rowid=True,
)

heads = _table(
    "heads",
    _experiment(),
    sa.Column("clock", Number, nullable=False),
    sa.Column("boot", sa.Text, nullable=False),
    sa.Column("tick", Number, nullable=False),
    sa.Column("earliest", Number, nullable=False),
    *(
        sa.Column(name, Whole, nullable=False)
        for name in (
            *("trials", "events", "round", "owing", "due", "freed"),
            *("complete", "leased", "surplus", "expired", "failed", "strikes"),
        )
    ),
    *(sa.Column(name, Whole, nullable=False, server_default="0") for name in ("extra", "queued", "beyond", "cutoff")),
    fill=50,
)

arms = _table(
    "arms",
    _experiment(),
    sa.Column("arm", Whole, primary_key=True),
    sa.Column("due", Whole, nullable=False),
    sa.Column("count", Whole, nullable=False),
    sa.Column("moments", sa.Text, nullable=False),
    sa.Column("earlier", sa.Text),  # sums of the log's trials, where it started from one
    sa.Column("handed", Whole, nullable=False, server_default="0"),  # slots that were handed out on items
    fill=50,
)

rounds = _table(
    "rounds",
    _experiment(),
    sa.Column("number", Whole, primary_key=True),
    sa.Column("data", sa.Text, nullable=False),
    sa.Column("at", Number, nullable=False),
    sa.Column("mixture", sa.Text),  # the answer after the round, where it was worked out
)

trials = _table(
    "trials",
    _experiment(),
    sa.Column("number", Whole, primary_key=True),
    sa.Column("slot", Whole, nullable=False),
    sa.Column("arm", Whole, nullable=False),
    sa.Column("round", Whole, nullable=False),
    sa.Column("worker", sa.Text, nullable=False),
    sa.Column("deadline", Number, nullable=False),
    sa.Column("expires", Number, nullable=False),
    sa.Column("asked", Number, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("open", sa.Boolean, nullable=False),
    sa.Column("told", Number),
    sa.Column("reward", Number),
    sa.Column("costs", sa.Text),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("item", Whole),  # the number of the one that it is made on, where there are any
)


def _index(name: str, *columns: str, where: str) -> sa.Index:
    # Only few trials are under way or odd, so these stay small however many trials there are.
    condition = sa.text(where)
    wanted = [trials.c[column] for column in columns]
    return sa.Index(name, *wanted, sqlite_where=condition, postgresql_where=condition)


LEASED = _index("trials_leased", "experiment", "deadline", where="state = 'leased'")
OPEN = _index("trials_open", "experiment", "number", where="open")
AGAIN = _index("trials_again", "experiment", "slot", where="slot <> number")
ODD = _index("trials_odd", "experiment", "state", "number", where="state NOT IN ('leased', 'complete')")

asks = _table(
    "asks",
    _experiment(),
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("first", Whole, nullable=False),
    sa.Column("count", Whole, nullable=False),
)

events = _table(
    "events",
    _experiment(),
    sa.Column("number", Whole, primary_key=True),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("data", sa.Text, nullable=False),
    sa.Column("at", Number, nullable=False),
)

items = _table(
    "items",
    _experiment(),
    sa.Column("item", Whole, primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
)

item_sums = _table(
    "item_sums",
    _experiment(),
    sa.Column("item", Whole, primary_key=True),
    sa.Column("arm", Whole, primary_key=True),
    sa.Column("count", Whole, nullable=False),
    sa.Column("totals", sa.Text, nullable=False),  # of each measure, exact
)

versions = _table(
    "versions",
    _experiment(),
    sa.Column("number", Whole, primary_key=True),
    sa.Column("data", sa.Text, nullable=False),
    sa.Column("evidence", sa.Text, nullable=False),  # sums of every arm that it was planned from
)

sums = _table(
    "sums",
    _experiment(),
    sa.Column("version", Whole, primary_key=True),  # 0 is what was known before the first request
    sa.Column("arm", Whole, primary_key=True),
    sa.Column("count", Whole, nullable=False),
    sa.Column("moments", sa.Text, nullable=False),
    fill=50,
)

edges = _table(
    "edges",
    _experiment(),
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("sequence", Whole, nullable=False),
    sa.Column("requests", Whole, nullable=False),
    sa.Column("version", Whole, nullable=False),
    sa.Column("at", Number, nullable=False),
    fill=50,
)

tokens = _table(
    "tokens",
    sa.Column("id", RowId, primary_key=True),
    sa.Column("prefix", sa.Text, nullable=False, unique=True),  # the part of the token that may be shown
    sa.Column("digest", sa.Text, nullable=False),  # of the token; the token itself is kept nowhere
    sa.Column("label", sa.Text, nullable=False),
    sa.Column("role", sa.Text, nullable=False),
    sa.Column("experiment", sa.Text),  # the key of the only experiment that it is for
    sa.Column("created", Number, nullable=False),
    sa.Column("expires", Number),
    sa.Column("revoked", Number),
    rowid=True,
)
