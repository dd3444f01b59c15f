"""Versions of the tables: old files are upgraded on request, newer ones refused."""

import errno
import shutil
import sqlite3
import threading
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.experiments.kits import PROBLEM

from bestmix import open_storage
from bestmix.experiments import StorageError
from bestmix.experiments.audit import audit
from bestmix.experiments.sql import schema, tables
from bestmix.experiments.sql.database import Database, parse_url

OLD = sorted((Path(__file__).parents[1] / "old").glob("*.db"))


@pytest.fixture(params=OLD, ids=lambda path: path.stem)
def old(request, tmp_path):
    """A file as an older version left it, with the experiments "done" and "open"."""
    return Path(shutil.copy(request.param, tmp_path / "old.db"))


def upgrade(path):
    database = Database(parse_url(path))
    try:
        return schema.upgrade(database)
    finally:
        database.close()


def test_there_is_an_old_file_of_every_version_but_the_newest():
    made = sorted(path.name[:4] for path in Path(schema.__file__).parent.glob("migrations/versions/*.py"))
    assert [path.stem for path in OLD] == made[:-1]
    assert made[-1] == tables.VERSION


def test_an_old_file_is_refused_until_it_is_upgraded_and_loses_nothing(old, request):
    made = request.node.callspec.params["old"].stem
    if made < schema.OLDEST_OPENED:
        with pytest.raises(StorageError, match=rf"of version {made}, older than .*bestmix storage upgrade sqlite:///"):
            open_storage(old)
    before, after, copy = upgrade(old)
    assert (before, after) == (made, tables.VERSION)
    assert sqlite3.connect(copy).execute("SELECT version_num FROM alembic_version").fetchone() == (made,)
    assert upgrade(old) == (tables.VERSION, tables.VERSION, None)
    with open_storage(old) as storage:
        done, unfinished = storage.open("done"), storage.open("open")
        assert done.recommend().support == ("large",)
        assert (done.notes, done.state.complete) == ("made by version 0001", 8)
        assert (unfinished.state.complete, unfinished.state.failed) == (1, 1)
        assert [t.token for t in unfinished.ask(5, key="k")] == [1, 2, 3, 4, 5]
        while trials := unfinished.ask(9):
            unfinished.tell_many([(t, 1.0, [0.5]) for t in trials])
        assert audit(done) == audit(unfinished) == []


def test_a_file_of_the_version_before_is_opened_and_a_copy_of_it_stays(tmp_path):
    path = Path(shutil.copy(OLD[0].parent / "0003.db", tmp_path / "old.db"))
    with open_storage(path) as storage:
        assert storage.open("done").recommend().support == ("large",)
    (copy,) = tmp_path.glob("*.copy")
    assert sqlite3.connect(copy).execute("SELECT version_num FROM alembic_version").fetchone() == ("0003",)


def test_of_those_who_upgrade_at_once_one_does_it_and_the_copy_is_of_the_old_version(old, request):
    made, found, ready = request.node.callspec.params["old"].stem, [], threading.Barrier(4)

    def work():
        ready.wait()
        found.append(upgrade(old))

    crew = [threading.Thread(target=work) for _ in range(4)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join(60)
    assert sorted(before for before, _, _ in found) == [made] + [tables.VERSION] * 3
    copies = list(old.parent.glob("*.copy"))
    assert [copy for _, _, copy in found if copy] == copies
    with sqlite3.connect(copies[0]) as connection:
        assert connection.execute("SELECT version_num FROM alembic_version").fetchone() == (made,)
    connection.close()


def test_an_upgrade_that_fails_leaves_the_file_and_no_copy(old, monkeypatch):
    def fail(connection):
        connection.exec_driver_sql("CREATE TABLE half_way (x)")
        raise RuntimeError("half-way")

    monkeypatch.setattr(schema, "_migrate", fail)
    with pytest.raises(RuntimeError, match="half-way"):
        upgrade(old)
    assert list(old.parent.glob("*.copy")) == []
    monkeypatch.undo()
    assert upgrade(old)[2] is not None


@pytest.mark.parametrize("rows", [0, 2])
def test_a_version_that_is_not_one_row_is_damage(tmp_path, rows):
    path = tmp_path / "a.db"
    open_storage(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM alembic_version" if not rows else "INSERT INTO alembic_version VALUES ('0001')")
    connection.close()
    with pytest.raises(StorageError, match=f"has {rows} rows, expected 1"):
        open_storage(path)


def test_where_no_copy_can_be_written_the_upgrade_says_so(tmp_path, monkeypatch):
    def refused(path):
        raise OSError(errno.EROFS, "Read-only file system", str(path))

    file = shutil.copy(OLD[0].parent / "0003.db", tmp_path / "old.db")
    monkeypatch.setattr(schema.sqlite, "backup", refused)
    said = r"its tables are of version 0003 .*Read-only file system.*make its folder writable"
    with pytest.raises(StorageError, match=said):
        open_storage(file)


def test_a_newer_file_is_refused(tmp_path):
    path = tmp_path / "new.db"
    open_storage(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    for call in (open_storage, upgrade):
        with pytest.raises(StorageError, match="of version 9999, made by a newer bestmix"):
            call(path)


def test_a_strangers_database_is_left_alone(tmp_path):
    path = tmp_path / "theirs.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE trials (x)")
    with pytest.raises(StorageError, match="has a table 'trials' that bestmix did not make"):
        open_storage(path)
    (tmp_path / "text.db").write_text("not a database at all, but a text that is long enough to be looked at" * 20)
    with pytest.raises(StorageError, match="is not an SQLite database"):
        open_storage(tmp_path / "text.db")


def described(connection):
    """Tables, columns, keys and indexes, as the database tells them."""
    inspector = sa.inspect(connection)
    found = {}
    for name in sorted(inspector.get_table_names()):
        columns = [(c["name"], str(c["type"]), c["nullable"]) for c in inspector.get_columns(name)]
        indexes = sorted((i["name"], tuple(i["column_names"])) for i in inspector.get_indexes(name))
        unique = sorted(tuple(u["column_names"]) for u in inspector.get_unique_constraints(name))
        keys = inspector.get_pk_constraint(name)["constrained_columns"]
        foreign = [
            (f["constrained_columns"], f["referred_table"], f["options"]) for f in inspector.get_foreign_keys(name)
        ]
        found[name] = columns, indexes, unique, keys, foreign
    return found


def test_migrations_lead_to_the_tables_that_are_made_anew(tmp_path):
    open_storage(tmp_path / "new.db").close()
    assert upgrade(tmp_path / "migrated.db")[0] is None
    made = [Database(parse_url(tmp_path / name)) for name in ("new.db", "migrated.db")]
    assert made[0].read(described) == made[1].read(described)
    for database in made:
        database.close()


def test_migrations_lead_to_the_same_tables_on_postgres(postgres_url):
    base = parse_url(postgres_url)
    admin = sa.create_engine(base, isolation_level="AUTOCOMMIT")
    made = []
    for name in ("made_anew", "migrated"):
        with admin.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE IF EXISTS {name}")
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
        made.append(Database(base.set(database=name)))
    schema.ready(made[0])
    schema.upgrade(made[1])
    assert made[0].read(described) == made[1].read(described)
    for database in made:
        database.close()
    with admin.connect() as connection:
        for name in ("made_anew", "migrated"):
            connection.exec_driver_sql(f"DROP DATABASE {name}")
    admin.dispose()


def test_an_open_problem_after_an_upgrade_is_usable(old):
    upgrade(old)
    with open_storage(old) as storage:
        assert storage.create("another", PROBLEM, 6).ask()[0].arm == "a"
