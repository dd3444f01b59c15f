"""Opening experiments by address: what is not there is not made."""

import sqlite3

import pytest
from tests.cli.commands import good

from bestmix import Problem, Uniform, open_experiment
from bestmix.cli import opening


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
    for url in (str(file), f"sqlite:///{file}"):
        with pytest.raises(ValueError, match=r"has no experiments, but another program's tables, such as 'visits'"):
            opening.open_all(url)
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]


def test_a_line_says_where_an_experiment_is(tmp_path):
    url = f"sqlite:///{tmp_path / 'a.db'}"
    open_experiment(url, "a", Problem(["x", "y"], {"c": 1.0}), 6, Uniform()).ask(2)
    assert opening.open_named(url, "a").state.leased == 2
    assert good("experiment", "pause", url, "a").startswith("a: paused, round 1, 0 of 6 trials, 2 leased.")
