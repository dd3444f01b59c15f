"""SQLite: which journal goes with which version."""

from collections import Counter

import pytest
from tests.experiments.kits import PROBLEM

from bestmix import Uniform, open_storage
from bestmix.experiments.sql import sqlite
from bestmix.experiments.sql.database import Database, parse_url
from bestmix.experiments.sql.store import SqlStore
from bestmix.experiments.storage import Storage
from soak import vfs


@pytest.mark.parametrize(
    ("version", "sound"),
    [
        ((3, 6, 23), True),
        ((3, 7, 0), False),
        ((3, 40, 1), False),
        ((3, 44, 5), False),
        ((3, 44, 6), True),
        ((3, 45, 0), False),
        ((3, 50, 6), False),
        ((3, 50, 7), True),
        ((3, 51, 2), False),
        ((3, 51, 3), True),
        ((3, 52, 0), True),
        ((4, 0, 0), True),
    ],
)
def test_versions_with_the_error_in_wal_mode(version, sound):
    assert sqlite.wal_is_sound(version) is sound


@pytest.mark.parametrize(("version", "journal"), [((3, 40, 1), "persist"), ((3, 51, 3), "wal")])
def test_the_journal_follows_the_linked_version_and_a_wal_file_stays_one(tmp_path, monkeypatch, version, journal):
    def mode(path):
        database = Database(parse_url(path))
        found = database.read(
            lambda c: [c.exec_driver_sql(f"PRAGMA {p}").scalar() for p in ("journal_mode", "synchronous")]
        )
        database.close()
        return found

    monkeypatch.setattr(sqlite, "linked", lambda: version)
    open_storage(tmp_path / "a.db").close()
    assert mode(tmp_path / "a.db") == [journal, 2]
    Database(parse_url(tmp_path / "b.db"), journal="wal").write(lambda c: c.exec_driver_sql("CREATE TABLE t (x)"))
    assert mode(tmp_path / "b.db") == ["wal", 2]


def test_a_copy_overwrites_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(sqlite.time, "strftime", lambda _: "now")
    open_storage(tmp_path / "a.db").close()
    (tmp_path / "a.db.now.copy").write_text("mine")
    (tmp_path / "a.db").chmod(0o640)
    copies = [sqlite.backup(tmp_path / "a.db") for _ in range(2)]
    assert [copy.name for copy in copies] == ["a.db.now-2.copy", "a.db.now-3.copy"]
    assert (tmp_path / "a.db.now.copy").read_text() == "mine"
    assert copies[0].stat().st_mode & 0o777 == 0o640
    for copy in copies:
        with open_storage(copy) as storage:
            assert storage.experiments() == []


@pytest.mark.skipif(not vfs.available(), reason="this Python's SQLite cannot be reached from outside")
@pytest.mark.parametrize(("journal", "syncs"), [("persist", 4), ("wal", 1)])
def test_a_tell_costs_so_many_syncs_and_pages(tmp_path, clock, journal, syncs):
    """A rollback journal is synced twice before the file and once after it, so that a power cut loses no commit."""
    with vfs.Recorder() as recorder:
        database = Database(parse_url(tmp_path / "a.db"), journal=journal)
        with Storage(SqlStore(database, clock), clock) as storage:
            experiment = storage.create("a", PROBLEM, 600, Uniform())
            trials = experiment.ask(40)
            experiment.tell(trials[0], 1.0, [0.5])
            del recorder.operations[:]
            for trial in trials[1:]:
                experiment.tell(trial, 1.0, [0.5])
            kinds = Counter(what for what, *_ in recorder.operations)
            pages = sum(what == "write" and len(data) >= 4096 for what, _, _, data in recorder.operations)
    assert kinds["sync"] / 39 == syncs
    assert pages / 39 <= (14 if journal == "persist" else 7)  # each page twice, in the journal and in the file
