import pytest


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of its own, in which commands run."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
