from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from bestmix import Problem, Uniform, open_experiment
from bestmix.experiments import TrialState
from bestmix.pages.experiment_view import UNCOUNTED, View, read, read_answer


@pytest.fixture
def exp():
    return open_experiment("memory://", "prices", Problem(["low", "high"]), budget=6, strategy=Uniform())


def test_a_view_is_one_snapshot_with_the_last_trials(exp):
    given = exp.ask(3, worker="w1")
    exp.tell(given[0], 1.0)
    exp.tell_failed(given[1], "no luck" * 100)
    view = read(exp)
    now = exp.snapshot()
    assert (view.key, view.state, view.answer.mixtures) == (exp.record.key, now.state, now.mixtures)
    assert view.answer.rec.to_json() == now.recommendation.to_json()
    assert [(w.name, w.leases, w.results) for w in view.workers] == [("w1", 1, 1)]
    (row,) = view.uncounted_rows
    assert (row.arm, row.what, row.worker, len(row.why)) == (given[1].arm, "reported as failed", "w1", 201)
    assert read_answer(exp).recent == ()
    assert view.share == pytest.approx(1 / 6)


def test_a_view_reads_the_figures_once(exp, monkeypatch):
    calls = Counter()
    for name in ("run_state", "state"):
        whole = getattr(exp.storage.store, name)
        monkeypatch.setattr(exp.storage.store, name, lambda key, n=name, f=whole: calls.update([n]) or f(key))
    read(exp)
    assert calls["run_state"] == 1


def test_the_time_left(exp):
    exp.tell_many([(t, 1.0, None) for t in exp.ask(4)])
    view = read(exp)
    now = datetime.now(UTC)

    def at(*ago):
        trials = [replace(view.recent[0], told=now - timedelta(seconds=s)) for s in ago]
        return View(view.key, view.state, view.answer, trials).time_left

    assert at(0) == ""
    assert at(0, 30) == "about 60 s left"
    assert at(400, 401) == "no result has come for a while"


def test_every_state_that_does_not_count_has_words():
    assert set(UNCOUNTED) == {state.value for state in TrialState} - {"leased", "complete", "extra"}
