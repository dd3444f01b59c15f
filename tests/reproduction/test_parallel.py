import io
import threading
from contextlib import redirect_stderr

import pytest

from bestmix.reproduction.parallel import map_in_threads


def test_results_come_in_the_order_of_the_items():
    first = threading.Event()

    def slow(item, stop):
        if item == 0:
            first.wait(10)  # ends last
        elif item == 3:
            first.set()
        return item * 10

    assert map_in_threads(slow, range(4), "pieces", threads=2, progress=False) == [0, 10, 20, 30]


def test_a_fault_stops_the_others():
    begun, told = [], []

    def fail(item, stop):
        begun.append(item)
        if item == 0:
            raise RuntimeError("broken")
        told.append(stop.wait(10))

    with pytest.raises(RuntimeError, match="broken"):
        map_in_threads(fail, range(500), "pieces", threads=2, progress=False)
    assert len(begun) < 500
    assert all(told)


def test_the_bar_counts_the_pieces(monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    shown = io.StringIO()
    with redirect_stderr(shown):
        map_in_threads(lambda item, stop: item, range(3), "curves", threads=1, progress=True)
    assert "curves" in shown.getvalue()
    assert "3/3" in shown.getvalue()
    quiet = io.StringIO()
    with redirect_stderr(quiet):
        map_in_threads(lambda item, stop: item, range(3), "curves", threads=1, progress=False)
    assert not quiet.getvalue()
