"""Opening experiments by address: what is not there is not made."""

import itertools
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from tests.cli.commands import bad
from tests.experiments.flows import QUICK, ROUTER
from tests.service.servers import Running

from bestmix import Problem, Uniform, open_storage
from bestmix.cli import opening
from bestmix.experiments.sql.database import Database, parse_url


def test_a_file_that_is_not_there_is_not_made(tmp_path):
    with pytest.raises(ValueError, match=r"there is no file .*check the URL, or run: bestmix experiment create"):
        opening.open_all(str(tmp_path / "none.db"))
    assert not list(tmp_path.iterdir())
    opening.open_all(str(tmp_path / "new.db"), new=True).close()
    assert (tmp_path / "new.db").exists()


def test_no_tables_are_made_in_the_file_of_another_program(tmp_path):
    file = tmp_path / "other's.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE visits (day TEXT)")
    before = file.read_bytes()
    for url, new in itertools.product((str(file), f"sqlite:///{file}"), (False, True)):
        with pytest.raises(ValueError, match=r"has no experiments, but another program's tables, such as 'visits'"):
            opening.open_all(url, new=new)
    Problem(["a", "b"], {"dollars": 1.0}).save(tmp_path / "problem.toml")
    commands = (
        ["experiment", "create", file, "r", tmp_path / "problem.toml", "--budget", 9],
        ["serve", "--storage", file, "--port", 0],
        ["token", "create", file],
    )
    for words in commands:
        assert "another program's tables, such as 'visits'; check the URL, or give the name of a new file" in bad(
            *words
        )
    assert file.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {file.name, "problem.toml"}


def test_files_without_tables_and_those_of_older_versions_are_opened(tmp_path):
    (tmp_path / "empty.db").touch()
    old = Path(__file__).parents[1] / "experiments" / "old" / "0003.db"  # as 0.1 made it
    shutil.copy(old, tmp_path / "old.db")
    for name, experiments in (("empty.db", 0), ("old.db", 2)):
        with opening.open_all(str(tmp_path / name), new=True) as storage:
            assert len(storage.experiments()) == experiments


def test_a_database_of_postgres_may_be_shared_with_other_programs(postgres_url):
    base = parse_url(postgres_url)
    admin = sa.create_engine(base, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.exec_driver_sql("DROP DATABASE IF EXISTS shared")
        connection.exec_driver_sql("CREATE DATABASE shared")
    url = base.set(database="shared", drivername="postgresql")
    with closing(Database(base.set(database="shared"))) as database:
        database.write(lambda connection: connection.exec_driver_sql("CREATE TABLE visits (day TEXT)"))
    with opening.open_all(url.render_as_string(hide_password=False), new=True) as storage:
        assert storage.create("a", Problem(["x", "y"], {"c": 1.0}), 6, Uniform()).ask()
    with admin.connect() as connection:
        connection.exec_driver_sql("DROP DATABASE shared")
    admin.dispose()


def test_a_server_that_wants_a_token_says_what_helps_in_the_shell(tmp_path, monkeypatch):
    monkeypatch.delenv("BESTMIX_TOKEN", raising=False)
    with open_storage(tmp_path / "service.db") as storage:
        running = Running(storage)
        running.connect().create("live", ROUTER, traffic=QUICK)
        for words in (["experiment", "show"], ["experiment", "list"], ["edge-bench"]):
            told = bad(*words, running.url, *([] if "list" in words else ["live"]))
            assert "wants one; set the variable BESTMIX_TOKEN; bestmix token create makes one" in told
        running.stop()
