"""Changes while an experiment runs: nothing is lost, replay stays exact, and changed back is as if nothing happened."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.experiments.kits import PROBLEM, FakeClock

from bestmix import SFSR, Challenger, Problem, Uniform, open_experiment
from bestmix.experiments import Closed
from bestmix.experiments.audit import audit

FROM_COUNTS = [Challenger(rounds=6), Challenger(confidence=0.9), Uniform()]


def value(number):
    """The result of a trial, by its number."""
    rng = np.random.default_rng(number)
    return rng.normal(1.0, 0.5), [rng.normal(1.0, 0.5)]


def work(exp, most=10**6, n=4):
    """Make trials until there are none; how many."""
    made = 0
    while made < most and (trials := exp.ask(min(n, most - made))):
        exp.tell_many([(t, *value(t.token)) for t in trials])
        made += len(trials)
    return made


def course(exp):
    """All but the events and what was changed when."""
    now = exp.run_state()
    trials = [(t.token, t.slot, t.arm, t.round, t.state, t.reward, t.costs) for t in exp.trials()]
    return now.memory, [m.to_dict() for m in now.moments], [r.to_dict() for r in now.rounds], trials


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 60), st.floats(0.1, 3.0), st.sampled_from([*FROM_COUNTS, SFSR("lagrangian")]))
def test_a_bound_that_is_changed_back_is_as_if_nothing_had_happened(made, bound, strategy):
    plain, exp = (open_experiment("memory://", "a", PROBLEM, 60, strategy, clock=FakeClock()) for _ in range(2))
    for one in (plain, exp):
        work(one, made)
    exp.ask(2)
    plain.ask(2)
    running = exp.state.status == "running"
    exp.change(bounds={"dollars": bound})
    went_on = exp.state.status == "running" and not running  # by the other bound the answer was not sure enough
    exp.change(bounds={"dollars": 1.0})
    if went_on:
        return
    assert course(exp) == course(plain)
    assert exp.recommend().to_json() == plain.recommend().to_json()
    work(exp)
    work(plain)
    assert course(exp) == course(plain)
    assert audit(exp) == audit(plain) == []


def test_another_bound_is_what_the_next_decision_is_made_from(storage, name):
    exp = storage.create(name, PROBLEM, 60, Challenger(rounds=6))
    work(exp, 20)
    exp.change(bounds={"dollars": 0.6})
    assert exp.problem.bounds == storage.open(name).problem.bounds == {"dollars": 0.6}
    assert exp.recommend().problem.bounds == {"dollars": 0.6}
    assert [dict(c) | {"at": 0} for c in exp.state.changes] == [
        {"round": exp.state.round, "text": "dollars <= 0.6 instead of dollars <= 1", "at": 0}
    ]
    work(exp)
    assert exp.state.status == "done"
    assert exp.state.complete == 60
    assert audit(exp) == []
    assert [e.kind for e in exp.events() if e.kind == "changed"] == ["changed"]


@pytest.mark.parametrize("strategy", FROM_COUNTS, ids=lambda s: s.name)
@pytest.mark.parametrize("made", [0, 5, 33, 500])
def test_arms_come_and_go_and_no_trial_is_lost(storage, name, strategy, made, clock):
    exp = storage.create(name, PROBLEM, 90, strategy, lease=10.0)
    work(exp, made)
    out = exp.ask(3, worker="slow")
    before = exp.recommend().trials
    exp.change(arms=["b", "c", "d"])
    assert audit(exp) == []
    kept = [t for t in out if t.arm != "a"]
    assert [exp.trial(t).state for t in out] == ["leased" if t in kept else "withdrawn" for t in out]
    assert exp.state.leased == len(kept)
    work(exp)
    for t in out:
        exp.tell(t, *value(t.token))
    work(exp)
    assert exp.state.status == "done"
    rec = exp.recommend()
    assert set(rec.estimates) == {"b", "c", "d"}
    assert rec.estimates["d"].trials >= 1 or made == 500
    of_a = len(exp.trials("complete", "a")) + len(exp.trials("extra", "a"))
    assert rec.trials + of_a == exp.state.complete + exp.state.extra >= before
    assert exp.state.complete <= 90
    assert audit(exp) == []
    exp.change(arms=["a", "b", "c", "d"])  # it comes back with its trials
    work(exp)
    assert exp.recommend().estimates["a"].trials >= of_a
    assert audit(exp) == []


@pytest.mark.parametrize("strategy", FROM_COUNTS, ids=lambda s: s.name)
def test_bounds_change_where_the_budget_was_made_smaller_than_what_was_made(storage, name, strategy):
    exp = storage.create(name, PROBLEM, 90, strategy)
    made = work(exp, 25)
    exp.change(budget=10)
    assert exp.state.status == "done"
    exp.change(bounds=dict.fromkeys(PROBLEM.bounds, 0.9))
    assert exp.state.status == "done"
    assert list(exp.problem.bounds.values()) == [0.9]
    assert audit(exp) == []
    exp.change(budget=made + 20)  # and it goes on
    work(exp)
    assert made < exp.state.complete <= made + 20
    assert audit(exp) == []


@pytest.mark.parametrize("strategy", FROM_COUNTS, ids=lambda s: s.name)
@pytest.mark.parametrize("budget", [10, 30, 45, 200])
def test_another_budget(storage, name, strategy, budget):
    exp = storage.create(name, PROBLEM, 90, strategy)
    work(exp, 25)
    out = exp.ask(2)
    exp.change(budget=budget)
    assert exp.state.budget == budget
    exp.tell_many([(t, *value(t.token)) for t in out])
    work(exp)
    assert exp.state.status == "done"
    assert exp.state.complete <= max(budget, 27)
    if strategy == Challenger(rounds=6):
        assert exp.state.complete == max(budget, 27)
    assert audit(exp) == []


def test_a_proof_goes_on_through_another_budget_and_its_number_through_other_arms(storage, name):
    means, rng = {"a": (1.7, 0.0), "b": (2.6, 1.8), "c": (0.5, 0.8)}, np.random.default_rng(0)
    exp = storage.create(name, PROBLEM, 2000, Challenger(delta=1e-9, proven=True, sigma=0.5))

    def make(most):
        while exp.state.complete < most and (trials := exp.ask(10)):
            rows = [np.array(means[t.arm]) + 0.5 * rng.normal(size=2) for t in trials]
            exp.tell_many([(t, row[0], row[1:]) for t, row in zip(trials, rows, strict=True)])
        return exp.run_state().memory["naming"]

    naming = make(60)
    for budget in (1900, 1950):
        exp.change(budget=budget)
        assert exp.run_state().memory["naming"] == naming
    exp.change(arms=["a", "b"])
    again = make(90)
    assert (again["number"], again["question"]["arms"]) == (naming["number"] + 1, ["a", "b"])
    assert audit(exp) == []


def test_results_of_slots_that_were_closed_count_beside_the_plan(storage, name, clock):
    exp = storage.create(name, PROBLEM, 60, Challenger(rounds=6), lease=10.0)
    late = exp.ask(4)
    clock.pass_time(11.0)
    exp.change(arms=["b", "c", "d"])
    work(exp, 20)
    assert [exp.tell(t, *value(t.token)) for t in late] == ["counted"] * 4
    work(exp)
    assert exp.state.extra == 4
    assert audit(exp) == []


def test_segments_keep_their_trials_when_an_arm_comes(storage, name):
    problem = Problem(["a", "b"], {"dollars": 1.0}, segments={"free": 0.7, "paid": 0.3})
    exp = storage.create(name, problem, 120, Challenger(rounds=4))
    work(exp, 30)
    counts = {(t.arm, t.segment): 0 for t in exp.trials()}
    for t in exp.trials("complete"):
        counts[t.arm, t.segment] += 1
    exp.change(arms=["a", "b", "c"])
    found = exp.recommend().estimates
    assert {cell: found[f"{cell[0]} in {cell[1]}"].trials for cell in counts} == counts
    work(exp)
    assert exp.recommend().estimates["c in paid"].trials > 0
    assert audit(exp) == []


def test_other_processes_see_the_change(opener, clock, name, request):
    first, second = (opener("sqlite", clock) for _ in range(2))
    mine = first.create(name, PROBLEM, 60, Uniform())
    theirs = second.open(name)
    work(theirs, 3)
    mine.change(arms=["c", "d"], bounds={"dollars": 0.5})
    assert {t.arm for t in theirs.ask(20)} == {"c", "d"}
    assert theirs.problem.bounds == {"dollars": 0.5}
    assert {t.arm for t in theirs.trials()} == {"a", "b", "c", "d"}


def test_what_a_strategy_cannot_go_on_with_is_refused(storage, name):
    exp = storage.create(name, PROBLEM, 60, SFSR("lagrangian"))
    work(exp, 9)
    exp.change(bounds={"dollars": 0.7})
    for wish in ({"arms": ["a", "b"]}, {"limits": ["share(a) <= 40%"]}, {"budget": 40}):
        with pytest.raises(ValueError, match="SFSR-L lays out its rounds beforehand, so that only bounds can change"):
            exp.change(**wish)
    with pytest.raises(ValueError, match="SFSR-L lays out its rounds from the budget"):
        exp.change(budget=100)
    work(exp)
    assert audit(exp) == []
    exp.change()
    assert len(exp.state.changes) == 1
    other = storage.create(f"{name} 2", PROBLEM, 60)
    other.stop()
    with pytest.raises(Closed, match="was stopped"):
        other.change(budget=70)


def test_a_run_that_was_sure_goes_on_when_the_bound_puts_it_in_doubt(storage, name):
    exp = storage.create(name, PROBLEM, 5000, Challenger(confidence=0.9))

    def tell(trials):
        for t in trials:
            reward, (cost,) = value(t.token)
            exp.tell(t, reward + 3.0 * (t.arm == "a"), [cost + (t.arm == "a") - (t.arm == "b")])

    while trials := exp.ask(5):
        tell(trials)
    assert exp.state.status == "done"
    before = exp.state.complete
    exp.change(bounds={"dollars": 2.02})
    assert exp.state.status == "running"
    assert audit(exp) == []
    tell(exp.ask(5))
    assert exp.state.complete > before
    assert audit(exp) == []


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6))
def test_any_history_of_changes_replays_exactly(seed):
    rng, clock = random.Random(seed), FakeClock()
    strategy = rng.choice(FROM_COUNTS)
    exp = open_experiment("memory://", "a", PROBLEM, 80, strategy, lease=5.0, clock=clock)
    out = []
    for _ in range(40):
        out += exp.ask(rng.randint(1, 6))
        rng.shuffle(out)
        clock.pass_time(rng.choice([0.0, 0.5, 3.0]))
        some, out = out[: len(out) // 2], out[len(out) // 2 :]
        exp.tell_many([(t, *value(t.token)) for t in some])
        action = rng.random()
        if action < 0.08:
            exp.change(arms=rng.sample(["a", "b", "c", "d", "e"], rng.randint(2, 4)), limits=[])
        elif action < 0.15:
            exp.change(bounds={"dollars": rng.choice([0.5, 1.0, 2.0])})
        elif action < 0.2:
            share = ["share(b) <= 40%"] if "b" in exp.problem.arms else []
            exp.change(budget=rng.randint(70, 90), limits=rng.choice([[], share]))
        assert audit(exp) == []
