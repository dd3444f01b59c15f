"""Pausing, stopping, extending and the rest, on every store."""

import pytest
from tests.experiments.kits import PROBLEM

from bestmix import SFSR, Challenger, Uniform
from bestmix.experiments import Closed
from bestmix.experiments.audit import audit

COSTS = [0.5]


@pytest.fixture
def exp(storage, name):
    return storage.create(name, PROBLEM, 6, Uniform(), lease=10.0)


def finish(exp):
    while trials := exp.ask(4):
        exp.tell_many([(t, float(t.token), COSTS) for t in trials])


def test_a_paused_experiment_takes_results_and_hands_out_nothing(exp):
    trial = exp.ask()[0]
    exp.pause()
    exp.pause()
    none = exp.ask()
    assert none == []
    assert none.retry_after == 1.0
    assert none.why == "the experiment is paused"
    assert exp.tell(trial, 1.0, COSTS) == "counted"
    exp.resume()
    exp.resume()
    assert exp.ask()
    assert [e.kind for e in exp.events()] == ["created", "asked", "paused", "told", "resumed", "asked"]


def test_stopping_gives_the_best_answer_so_far_for_good(exp):
    trials = exp.ask(4)
    for trial, reward in zip(trials[:3], (1.0, 3.0, 2.0), strict=True):
        exp.tell(trial, reward, COSTS)
    answer = exp.stop("enough seen")
    assert answer.support == ("b",)
    assert not answer.complete
    assert exp.done
    assert (exp.state.status, exp.state.reason, exp.state.leased) == ("stopped", "enough seen", 0)
    before = exp.state, exp.trials()
    assert exp.tell(trials[0], 1.0, COSTS) == "repeated"
    with pytest.raises(Closed, match="was stopped and takes no more results"):
        exp.tell(trials[3], 1.0, COSTS)
    exp.stop()
    for call in (exp.pause, exp.resume, lambda: exp.extend(60)):
        with pytest.raises(Closed):
            call()
    assert exp.ask() == []
    assert (exp.state, exp.trials()) == before
    assert audit(exp) == []


def test_a_finished_experiment_is_closed(exp):
    finish(exp)
    assert exp.done
    assert exp.ask().why == "the experiment is done"
    with pytest.raises(Closed, match="is done already"):
        exp.stop()
    with pytest.raises(Closed, match="only a running one"):
        exp.pause()


def test_extending_an_open_round_and_a_finished_experiment(exp):
    exp.tell_many([(t, 1.0, COSTS) for t in exp.ask(4)])
    exp.extend(9)
    exp.extend(9)
    finish(exp)
    assert (exp.state.complete, exp.state.status) == (9, "done")
    exp.extend(10)  # not enough for another trial of every arm
    assert exp.state.status == "done"
    exp.extend(18)
    assert exp.state.status == "running"
    finish(exp)
    assert exp.state.complete == 18
    assert [sum(r.pulls.values()) for r in exp.history] == [9, 9]
    assert audit(exp) == []
    with pytest.raises(ValueError, match="expected more than the present 18 trials, got 3"):
        exp.extend(3)


def test_challenger_goes_on_with_a_larger_budget(storage, name):
    exp = storage.create(name, PROBLEM, 30, Challenger(rounds=3))
    exp.tell_many([(t, float(t.token), COSTS) for t in exp.ask(4)])
    exp.extend(40)
    finish(exp)
    assert (exp.state.complete, exp.state.status) == (40, "done")
    exp.extend(55)
    finish(exp)
    assert (exp.state.complete, exp.state.status) == (55, "done")
    assert exp.recommend().trials == 55
    assert audit(exp) == []


def test_a_strategy_that_cannot_be_extended_says_why(storage, name):
    exp = storage.create(name, PROBLEM, 20, SFSR())
    with pytest.raises(ValueError, match="SFSR lays out its rounds from the budget at the start"):
        exp.extend(40)
    assert exp.state.budget == 20


def test_rename_notes_and_delete(storage, exp, name):
    other = storage.create(f"{name} other", PROBLEM, 6, Uniform())
    with pytest.raises(ValueError, match=r"there is an experiment .* already"):
        exp.rename(f"{name} other")
    exp.rename(f"{name} new")
    assert exp.name == f"{name} new"
    assert storage.open(f"{name} new").record.key == exp.record.key
    exp.notes = "first\nsecond"
    assert exp.notes == "first\nsecond"
    trial = exp.ask()[0]
    exp.delete()
    exp.delete()
    for call in (exp.ask, lambda: exp.tell(trial, 1.0, COSTS), lambda: exp.state, exp.trials, exp.events):
        with pytest.raises(Closed, match="the experiment was deleted"):
            call()
    with pytest.raises(ValueError, match="there is no experiment"):
        storage.open(f"{name} new")
    assert other.state.leased == 0
    # SQLite may give the deleted one's row number to the next: it must not be taken for it.
    storage.create(f"{name} next", PROBLEM, 6, Uniform())
    with pytest.raises(Closed, match="the experiment was deleted"):
        exp.ask()


def test_pages_of_trials_and_events(exp, clock):
    exp.ask(2, worker="w1")
    clock.pass_time(11.0)
    exp.ask(4, worker="w2")
    tokens = lambda trials: [t.token for t in trials]  # noqa: E731
    assert tokens(exp.trials(limit=2)) == [1, 2]
    assert tokens(exp.trials(after=exp.trials()[1], limit=2)) == [3, 4]
    assert tokens(exp.trials(state="expired")) == [1, 2]
    assert tokens(exp.trials(worker="w2", arm="b")) == [4]
    assert [e.kind for e in exp.events(after=2)] == ["expired", "asked"]
    assert exp.events(after=1, limit=1)[0].data == {"worker": "w1", "first": 1, "count": 2}


def test_experiments_are_listed_by_name(storage, name):
    for letter in "cab":
        storage.create(f"{name} {letter}", PROBLEM, 6, Uniform())
    mine = [s.name for s in storage.experiments() if s.name.startswith(name)]
    assert mine == [f"{name} a", f"{name} b", f"{name} c"]
    assert storage.experiments(after=f"{name} a", limit=1)[0].name == f"{name} b"
