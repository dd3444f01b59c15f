"""Small versions of the soak: killed workers and servers."""

import pytest

from soak import crashes


def test_killed_workers_lose_nothing_on_sqlite(tmp_path):
    load = crashes.Load(workers=2, trials=200, kills=2, lease=1.0)
    found = crashes.run(f"sqlite:///{tmp_path / 'a.db'}", tmp_path / "journals", load)
    assert found["problems"] == []
    assert found["kills"] >= 1


def test_killed_workers_hand_no_item_to_an_arm_twice(tmp_path):
    load = crashes.Load(workers=2, trials=120, kills=2, lease=1.0, items=120)
    found = crashes.run(f"sqlite:///{tmp_path / 'a.db'}", tmp_path / "journals", load)
    assert found["problems"] == []


@pytest.mark.parametrize("more", [{"amount": 60.0}, {"ahead": 8}], ids=["money", "ahead"])
def test_killed_workers_lose_nothing_with_money_and_ahead(tmp_path, more):
    load = crashes.Load(workers=2, trials=60, kills=2, lease=1.0, **more)
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
