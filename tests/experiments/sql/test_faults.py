"""Small versions of the soak: kills, power cuts, a full disk."""

import pytest
from soak import crashes, power, vfs

reachable = pytest.mark.skipif(not vfs.available(), reason="this Python's SQLite cannot be reached from outside")


def test_killed_workers_lose_nothing_on_sqlite(tmp_path):
    load = crashes.Load(workers=2, trials=200, kills=2, lease=1.0)
    found = crashes.run(f"sqlite:///{tmp_path / 'a.db'}", tmp_path / "journals", load)
    assert found["problems"] == []
    assert found["kills"] >= 1


def test_a_killed_server_loses_nothing(tmp_path):
    from soak.postgres import Server

    server = Server()

    def outage():
        server.kill()
        server.start()

    try:
        load = crashes.Load(workers=2, trials=100, kills=0, lease=1.0)
        found = crashes.run(server.url, tmp_path / "journals", load, outage, outages=1)
        assert found["outages"] == 1
    finally:
        server.stop()
    assert found["problems"] == []


@reachable
def test_a_power_cut_loses_no_acknowledged_result(tmp_path):
    path = tmp_path / "a.db"
    found = power.cut(power.record(path, 20), path, tmp_path / "cuts", cuts=25)
    assert found["problems"] == []
    assert found["acknowledged"] > 10


@reachable
def test_the_model_of_the_disk_finds_losses_where_nothing_is_synced(tmp_path):
    path = tmp_path / "a.db"
    assert power.cut(power.record(path, 20, careless=True), path, tmp_path / "cuts", cuts=10)["problems"]


@reachable
def test_a_full_disk_is_a_clear_error_and_nothing_is_damaged(tmp_path):
    found = power.fill_the_disk(tmp_path / "a.db", attempts=12)
    assert found["problems"] == []
    assert 0 < found["refused"] <= 12
