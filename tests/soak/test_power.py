"""Small versions of the soak: power cuts and a full disk."""

import pytest
from soak.crashes import Load

from soak import power, vfs

reachable = pytest.mark.skipif(not vfs.available(), reason="this Python's SQLite cannot be reached from outside")


@reachable
def test_a_power_cut_loses_no_acknowledged_result(tmp_path):
    path = tmp_path / "a.db"
    found = power.cut(power.record(path, Load(trials=20)), path, tmp_path / "cuts", cuts=25)
    assert found["problems"] == []
    assert found["acknowledged"] > 10


@reachable
@pytest.mark.parametrize("load", [Load(amount=16.0), Load(trials=20, ahead=4)], ids=["money", "ahead"])
def test_nor_does_it_with_money_or_ahead(tmp_path, load):
    path = tmp_path / "a.db"
    found = power.cut(power.record(path, load), path, tmp_path / "cuts", cuts=8)
    assert found["problems"] == []
    assert found["acknowledged"] > 4


@reachable
def test_the_model_of_the_disk_finds_losses_where_nothing_is_synced(tmp_path):
    path = tmp_path / "a.db"
    assert power.cut(power.record(path, Load(trials=20), careless=True), path, tmp_path / "cuts", cuts=10)["problems"]


@reachable
def test_a_full_disk_is_a_clear_error_and_nothing_is_damaged(tmp_path):
    found = power.fill_the_disk(tmp_path / "a.db", attempts=12)
    assert found["problems"] == []
    assert 0 < found["refused"] <= 12
