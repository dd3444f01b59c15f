"""Values kept aside, few or many."""

from bestmix.experiments.sql import spool


def test_values_come_back_in_order_from_memory_and_from_a_file(monkeypatch):
    for limit in (spool.MOST_BYTES, 1000):
        monkeypatch.setattr(spool, "MOST_BYTES", limit)
        values = [(n, str(n)) for n in range(2500)]
        assert list(spool.Spool(values)) == values
    assert list(spool.Spool([])) == []
