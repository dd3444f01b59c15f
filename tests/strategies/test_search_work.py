import pytest

from bestmix import Problem, Search, Uniform
from bestmix.strategies import search_work
from bestmix.strategies.search_work import Checkpoint, SearchWork, arm_by_arm

PROBLEM = Problem(["a", "b"])


def test_trials_are_handed_out_once_and_come_back_when_they_are_given_back():
    work = SearchWork(Uniform().start(PROBLEM, 4))
    trials = work.next(3)
    assert [t.owed for t in trials] == ["a", "b", "a"]
    assert [t.owed for t in work.next(3)] == ["b"]
    assert work.next(3) == []
    work.give_back(trials[:1])
    assert [t.owed for t in work.next(3)] == ["a"]
    assert not work.over


def test_a_result_that_is_told_again_is_not_counted_again():
    search = Uniform().start(PROBLEM, 4)
    work = SearchWork(search, arm_by_arm)
    results = [(trial, 1.0) for trial in work.next(4)]
    work.tell(results[:3])
    work.tell(results)
    assert search.trials == 4
    assert work.over


def test_a_bad_result_does_not_keep_the_others_from_being_told():
    search = Uniform().start(PROBLEM, 6)
    work = SearchWork(search)
    trials = work.next(4)
    with pytest.raises(ValueError, match=r"pull\('b'\) returned .*nan"):
        work.tell([(t, float("nan") if i == 1 else 1.0) for i, t in enumerate(trials)])
    assert search.trials == 3
    assert sorted(t.owed for t in [*work.next(9), *work.next(9)]) == ["a", "b", "b"]


def test_the_error_of_a_trial_is_raised():
    work = SearchWork(Uniform().start(PROBLEM, 4))
    (trial,) = work.next(1)
    with pytest.raises(ConnectionError):
        work.fail(trial, ConnectionError("lost"))
    assert len(work.next(9)) + len(work.next(9)) == 4


def test_a_checkpoint_is_saved_now_and_then(tmp_path, monkeypatch):
    search = Uniform().start(PROBLEM, 4)
    path, now = tmp_path / "search.json", [0.0]
    monkeypatch.setattr(search_work.time, "monotonic", lambda: now[0])
    checkpoint = Checkpoint(search, path)
    now[0] += search_work.SAVE_EVERY
    checkpoint()
    assert not path.exists()  # what an earlier run has left is not replaced by nothing
    search.tell("a", 1.0)
    checkpoint()
    assert Search.load(path).trials == 1
    search.tell("a", 1.0)
    checkpoint()
    assert Search.load(path).trials == 1
    now[0] += search_work.SAVE_EVERY
    checkpoint()
    assert Search.load(path).trials == 2
    search.tell("b", 1.0)
    checkpoint.save()
    assert Search.load(path).trials == 3
    Checkpoint(search, None).save()
