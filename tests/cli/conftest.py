import pytest
from tests.cli.commands import good

from bestmix import Problem


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of its own, in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def db(tmp_path):
    """Where a database will be, with a problem beside it."""
    Problem(["a", "b"], {"dollars": 1.0}).save(tmp_path / "problem.toml")
    return tmp_path / "x.db"


@pytest.fixture
def made(db):
    """One with an experiment of six trials."""
    good("experiment", "create", db, "r", db.with_name("problem.toml"), "--budget", 6, "--strategy", "uniform")
    return db
