"""PostgreSQL: how the writers of one experiment take turns, and how short each turn is kept.

They wait for a lock, so what counts is how long each one holds it. What a call reads comes in one answer with the
lock. What it writes goes out together with the commit, and the commit does not wait for the disk: the next writer
can begin. Only then does the call wait, for a flush of the log up to its own commit or a later one, which serves all
who wait for it. So a call returns when what it did, and all that it saw, is on disk; and those who only read wait
likewise, so that nobody ever sees what a crash could take back.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.dialects import postgresql

from bestmix.experiments.sql.driver import driver

LOCKS = 0x626D << 40  # advisory locks of experiments are numbered from here
# A record of the log that means nothing; the end of its transaction waits for the disk as usual.
FLUSH = "SELECT pg_logical_emit_message(true, 'bestmix', '')"
# The same at the end of a reading transaction, where something is not on disk yet.
SETTLE = f"{FLUSH} WHERE pg_current_wal_insert_lsn() > pg_current_wal_flush_lsn()"


def engine(url: sa.URL) -> sa.Engine:
    """Connections whose commits are on the server's disk before they are acknowledged, whatever its default is."""
    arguments: dict[str, Any] = {} if "connect_timeout" in url.query else {"connect_timeout": 10}
    made = sa.create_engine(url, connect_args=arguments, pool_size=4, max_overflow=32)

    @event.listens_for(made, "connect")
    def prepare(connection: Any, _: Any) -> None:
        wanted = "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = "
        connection.execute(wanted + "'off'")
        connection.commit()

    return made


def lock(experiment: int) -> str:
    """A statement that keeps other writers of the experiment off until the transaction ends.

    The lock is not that of a row, for which those who wait would get an old state of the other tables; what is
    read after it is as the last one left it.
    """
    return f"SELECT pg_advisory_xact_lock({LOCKS + experiment:d})"


class Query:
    """A SELECT as text, whose parameters are whole numbers and lists of them."""

    def __init__(self, statement: sa.Select[Any]) -> None:
        compiled = statement.compile(dialect=postgresql.dialect())  # type: ignore[no-untyped-call]
        self._text = str(compiled).replace("(__[POSTCOMPILE_numbers])", "(%(numbers)s)")
        self._fixed = {name: value for name, value in compiled.params.items() if value is not None}
        self._names = tuple(column.name for column in statement.selected_columns)

    def text(self, values: Mapping[str, int | Sequence[int]]) -> str:
        """With its parameters filled in."""
        return self._text % {**self._fixed, **{name: _whole(value) for name, value in values.items()}}

    def named(self, row: Sequence[Any]) -> dict[str, Any]:
        """A row by the columns' names."""
        return dict(zip(self._names, row, strict=True))


def _whole(value: int | Sequence[int]) -> str:
    return f"{value:d}" if isinstance(value, int) else ", ".join(f"{number:d}" for number in value)


def begin(
    connection: sa.Connection, experiment: int, wanted: Sequence[tuple[Query, Any]]
) -> list[list[tuple[Any, ...]]]:
    """Wait for the experiment's lock, and read; the rows that each query finds with its parameters."""
    texts = [lock(experiment), "SET LOCAL synchronous_commit = off", *(query.text(given) for query, given in wanted)]
    found = []
    with driver(connection) as own:
        cursor = own.execute("; ".join(texts))
        cursor.nextset()
        for _ in wanted:
            cursor.nextset()
            found.append(cursor.fetchall())
    return found


def end(connection: sa.Connection, statement: str | None, given: Mapping[str, Any]) -> None:
    """Run a last statement, commit, and wait until it is on disk."""
    with driver(connection) as own, own.pipeline():
        if statement is not None:
            own.execute(statement, given)
        own.execute("COMMIT")
        own.execute(FLUSH)


def backup(connection: sa.Connection, tables: Sequence[str], stamp: str) -> list[str]:
    """Copies of tables beside them, before they are changed; their names."""
    copies = [f"{table}_{stamp}" for table in tables]
    for table, copy in zip(tables, copies, strict=True):
        connection.exec_driver_sql(f'CREATE TABLE "{copy}" AS TABLE "{table}"')
    return copies
