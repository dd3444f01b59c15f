"""A running server for every test that asks for one."""

import pytest
from tests.service.servers import Running

from bestmix import open_storage


@pytest.fixture
def running(tmp_path):
    with open_storage(tmp_path / "service.db") as storage:
        made = Running(storage)
        yield made
        made.stop()
