"""Storages of every kind."""

import pytest
from tests.experiments.kits import KINDS, NAMES, FakeClock

from bestmix.experiments.memory import MemoryStore
from bestmix.experiments.sql.database import Database, parse_url
from bestmix.experiments.sql.store import SqlStore
from bestmix.experiments.storage import Storage


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def opener(tmp_path, request):
    """A function from a kind and a clock to a storage; the same place each time."""
    opened = []

    def open_kind(kind, clock):
        if kind == "memory":
            store = MemoryStore(clock)
        elif kind == "postgres":
            store = SqlStore(Database(parse_url(request.getfixturevalue("postgres_url"))), clock)
        else:
            url = parse_url(tmp_path / f"{kind}.db")
            store = SqlStore(Database(url, journal="wal" if kind == "wal" else None), clock)
        opened.append(Storage(store, clock))
        return opened[-1]

    yield open_kind
    for storage in opened:
        storage.close()


@pytest.fixture(params=KINDS)
def storage(request, opener, clock):
    return opener(request.param, clock)


@pytest.fixture
def name():
    """A name that no other test uses."""
    return next(NAMES)
