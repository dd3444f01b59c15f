import io
import threading
from contextlib import redirect_stderr

import pytest

from bestmix.reproduction.outcome import as_csv, as_markdown
from bestmix.reproduction.work import Shelf, work_off


def test_results_come_in_the_order_of_the_items():
    first = threading.Event()

    def slow(item, stop):
        if item == 0:
            first.wait(10)  # ends last
        elif item == 3:
            first.set()
        return item * 10

    assert work_off(slow, range(4), "pieces", threads=2, progress=False) == [0, 10, 20, 30]


def test_a_fault_stops_the_others():
    begun, told = [], []

    def fail(item, stop):
        begun.append(item)
        if item == 0:
            raise RuntimeError("broken")
        told.append(stop.wait(10))

    with pytest.raises(RuntimeError, match="broken"):
        work_off(fail, range(500), "pieces", threads=2, progress=False)
    assert len(begun) < 500
    assert all(told)


def test_the_bar_counts_the_pieces(monkeypatch):
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    shown = io.StringIO()
    with redirect_stderr(shown):
        work_off(lambda item, stop: item, range(3), "walks", threads=1, progress=True)
    assert "walks" in shown.getvalue()
    assert "3/3" in shown.getvalue()
    quiet = io.StringIO()
    with redirect_stderr(quiet):
        work_off(lambda item, stop: item, range(3), "walks", threads=1, progress=False)
    assert not quiet.getvalue()


def test_a_shelf_keeps_what_is_whole(tmp_path):
    shelf = Shelf(tmp_path / "deep" / "shelf")
    assert shelf.get("a") == {}
    shelf.put("a", {"1": 0.1})
    shelf.put("a", {"1": 0.1, "2": 0.05})
    assert Shelf(shelf.folder).get("a") == {"1": 0.1, "2": 0.05}
    (shelf.folder / "a.json").write_text('{"1": 0.')
    assert shelf.get("a") == {}


def test_tables():
    rows = [{"a": "x,y", "b": 1.5}, {"a": "z", "b": None}]
    assert as_csv(rows) == 'a,b\n"x,y",1.5\nz,\n'
    lines = as_markdown([{"name": "x", "pulls": "12"}, {"name": "longer", "pulls": "1,000"}]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[2:] == ["| x      |    12 |", "| longer | 1,000 |"]
