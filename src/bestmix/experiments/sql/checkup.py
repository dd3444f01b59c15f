"""What a database is like, and figures written anew where they differ from the trials."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from bestmix.experiments import audit
from bestmix.experiments.errors import StorageError
from bestmix.experiments.revision import revision
from bestmix.experiments.sql import inspection, postgres, queries, schema, sqlite, tables
from bestmix.experiments.sql.database import Database
from bestmix.experiments.sql.store import SqlStore
from bestmix.experiments.store import Contents
from bestmix.strategies import Strategy
from bestmix.strategies.built_in import BUILT_IN, restore_saved

MOST_SHOWN = 5  # findings that are listed of one experiment


class Finding(NamedTuple):
    """What was looked at, what was found, and whether that is good."""

    what: str
    found: str
    good: bool


def look_at(database: Database, thorough: bool) -> list[Finding]:
    """What a database is like; thorough is every row, and every figure derived from the trials again."""
    facts = _sqlite_facts if database.sqlite else _postgres_facts
    found = database.read(lambda connection: list(facts(connection, thorough)))
    version = database.read(schema.version)
    good = version == tables.VERSION
    words = "none yet" if version is None else f"version {version}" + ("" if good else f", not {tables.VERSION}")
    found.append(Finding("tables", words, good or version is None))
    if not good:
        return found
    known = database.read(inspection.names)
    found.append(Finding("experiments", str(len(known)), True))
    return [*found, *_examine(database, known)] if thorough else found


def _sqlite_facts(connection: sa.Connection, thorough: bool) -> Iterator[Finding]:
    def one(pragma: str) -> str:
        return str(connection.exec_driver_sql(f"PRAGMA {pragma}").scalar())

    journal, check = one("journal_mode"), one("integrity_check" if thorough else "quick_check")
    risky = journal == "wal" and not sqlite.wal_is_sound(sqlite.linked())
    advice = "; it is left so, but use it with SQLite 3.51.3 or newer" if risky else ""
    yield Finding("journal", f"{journal}{advice}", not risky)
    synchronous = one("synchronous")
    yield Finding("commits", {"2": "full", "3": "extra"}.get(synchronous, "not on disk"), synchronous in "23")
    yield Finding("pages", check, check == "ok")


def _postgres_facts(connection: sa.Connection, thorough: bool) -> Iterator[Finding]:
    def one(setting: str) -> str:
        return str(connection.exec_driver_sql(f"SHOW {setting}").scalar())

    fsync = one("fsync")
    yield Finding("server", f"PostgreSQL {one('server_version')}", True)
    yield Finding("commits", f"fsync {fsync}, synchronous_commit {one('synchronous_commit')}", fsync == "on")


def _examine(database: Database, known: dict[int, str]) -> Iterator[Finding]:
    """Every row, then every experiment whose rows can be decoded."""
    if database.sqlite:
        for text in database.read(inspection.differs):
            yield Finding("tables", text, False)
    problems = database.read(inspection.inspect)
    for problem in problems:
        if problem.experiment not in known:
            yield Finding("rows", problem.text, False)
    store = SqlStore(database)
    for number, name in known.items():
        wrong = [problem.text for problem in problems if problem.experiment == number]
        if wrong:
            yield Finding(name, "; ".join(wrong[:MOST_SHOWN]), False)
        else:
            yield _experiment(store, number, name)


def _experiment(store: SqlStore, number: int, name: str) -> Finding:
    try:
        contents, strategy, found = _look(store, number)
    except StorageError:
        raise
    except Exception as error:  # what is damaged may break anything
        return Finding(name, f"cannot be read: {type(error).__name__}: {error}", False)
    if found.findings:
        return Finding(name, "; ".join(found.findings[:MOST_SHOWN]), False)
    own = f"; not replayed: its strategy {dict(contents.record.strategy)} is not one of bestmix"
    return Finding(name, f"{contents.head.complete} results, counted again{' and replayed' if strategy else own}", True)


def _look(store: SqlStore, number: int) -> tuple[Contents, Strategy | None, audit.Examination]:
    key = store.database.read(lambda connection: queries.key(connection, number))
    contents = store.contents(key, events=True)
    strategy = builtin(contents.record.strategy)
    return contents, strategy, audit.examine(contents, revision(contents.record, contents.head.changed), strategy)


def builtin(data: Any) -> Strategy | None:
    """The strategy, if it is one of bestmix and has no function of a user's own.

    >>> builtin({"kind": "Uniform"}), builtin({"kind": "Mine"})
    (Uniform(), None)
    >>> builtin({"kind": "Paid", "strategy": {"kind": "Mine"}, "spend": {"amount": 9.0, "unit": "dollars"}}) is None
    True
    """
    if data.get("kind") == "Paid":
        return restore_saved(data) if builtin(data.get("strategy", {})) else None
    own = any(isinstance(value, str) and value.startswith("function ") for value in data.values())
    return None if own or data.get("kind") not in BUILT_IN else restore_saved(data)


def repair(database: Database) -> list[Finding]:
    """Write figures anew that differ from the trials, after a backup; what was done."""
    schema.check(database.read(schema.version) or "", database)
    known = database.read(inspection.names)
    store = SqlStore(database)
    missing = database.read(inspection.headless)
    broken = [number for number in known if number in missing or _differs(store, number)]
    if not broken:
        return [Finding("repair", "nothing to do: no figure that could be written anew is wrong", True)]
    found = [Finding("backup", _backup(database), True)]
    database.write(inspection.add_heads)
    for number in broken:
        try:
            contents, _, examination = _look(store, number)
            done = audit.repair(store, contents.record.key, examination)
        except StorageError as error:
            done = [f"left as it is: {error}"]
        found.append(Finding(known[number], "; ".join(done), True))
    return found


def _differs(store: SqlStore, number: int) -> bool:
    try:
        return bool(_look(store, number)[2].differences)
    except StorageError:
        raise
    except Exception:  # what cannot be read cannot be repaired; the audit says so
        return False


def _backup(database: Database) -> str:
    if database.sqlite:
        return f"the file as it was is kept in {sqlite.backup(Path(database.url.database or ''))}"
    stamp = time.strftime("%Y%m%d_%H%M%S")
    changed = [tables.heads.name, tables.arms.name]
    copies = database.write(lambda connection: postgres.backup(connection, changed, stamp))
    return f"the tables as they were are kept as {' and '.join(copies)}"
