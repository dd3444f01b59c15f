"""How stores number what is tried."""

from bestmix import Problem
from bestmix.experiments.model import Record
from bestmix.experiments.revision import Revision, revision


def test_numbers_in_the_store_never_change():
    segments = {"free": 0.7, "paid": 0.3}
    record = Record("0123456789ab", "a", Problem(["a", "b"], segments=segments).to_dict(), {}, 9, 60.0, 100)
    first = revision(record, None)
    later = first.becoming(Problem(["b", "c"], segments=segments), {"text": "x"})
    assert [str(cell) for cell in later.cells] == [
        "a in free",
        "b in free",
        "a in paid",
        "b in paid",
        "c in free",
        "c in paid",
    ]
    assert (later.places, later.retired) == ([1, 4, 3, 5], [0, 2])
    assert later.spread([5, 6, 7, 8]) == [0, 5, 0, 7, 6, 8]
    assert later.chosen(list("abcdef")) == list("bedf")
    back = later.becoming(first.problem, {"text": "y"})
    assert (back.places, back.retired) == ([0, 1, 2, 3], [4, 5])
    assert isinstance(revision(record, back.to_text()), Revision)
    assert revision(record, back.to_text()) == back
