"""Starting from a log: the trials fill what the strategy owes, as if the experiment had made them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.experiments.kits import PROBLEM

from bestmix import SFSR, Challenger, Problem, Uniform, from_log, open_experiment
from bestmix.experiments.audit import audit


def log(rows, seed=0):
    rng = np.random.default_rng(seed)
    arms = rng.choice(["a", "b", "c"], rows)
    return {"arm": list(arms), "reward": rng.normal(size=rows), "dollars": rng.random(rows)}


@pytest.mark.parametrize("rows", [1, 10, 40, 200])
def test_an_experiment_starts_from_a_log_as_if_it_had_made_the_trials(storage, name, rows):
    data = log(rows)
    exp = storage.create(name, PROBLEM, 60, SFSR("lagrangian"), log=data)
    search = SFSR("lagrangian").start(PROBLEM, 60)
    search.start_from(data)
    assert exp.state.complete == search.trials
    assert exp.state.complete + exp.state.surplus == rows
    assert exp.recommend().to_json() == search.recommend().to_json()
    assert audit(exp) == []
    while trials := exp.ask(5):
        exp.tell_many([(t, 1.0, [0.5]) for t in trials])
    assert exp.state.status == "done"
    assert audit(exp) == []


@pytest.mark.parametrize("rows", [1, 10, 40, 200])
@pytest.mark.parametrize("strategy", [Challenger(), Uniform()], ids=lambda s: s.name)
def test_a_log_counts_in_full_where_the_strategy_decides_from_counts(storage, name, rows, strategy):
    data = log(rows)
    exp = storage.create(name, PROBLEM, 30, strategy, log=data)
    assert (exp.state.complete, exp.state.surplus, exp.state.budget) == (rows, 0, rows + 30)
    search = strategy.start(PROBLEM, 30)
    search.start_from(data)
    assert exp.recommend().to_json() == search.recommend().to_json()
    assert audit(exp) == []
    rng = np.random.default_rng(1)
    while trials := exp.ask(5):
        told = [(t, rng.normal(), [rng.random()]) for t in trials]
        exp.tell_many(told)
        for t, reward, costs in told:
            search.tell(t.arm, reward, costs)
    assert exp.state.status == "done"
    assert exp.state.complete <= rows + 30
    assert exp.history == tuple(search.history)
    assert exp.recommend().to_json() == search.recommend().to_json()
    assert audit(exp) == []


@settings(max_examples=10, deadline=None)
@given(
    cut=st.integers(0, 36), order=st.randoms(use_true_random=False), strategy=st.sampled_from([Challenger(), Uniform()])
)
def test_a_log_cut_anywhere_and_told_in_any_order_is_the_same_as_telling_it_live(cut, order, strategy):
    live = open_experiment("memory://", "a", PROBLEM, 36, strategy)
    made = []
    while trials := live.ask(4):
        made += [(t.arm, float(t.token % 5), 0.1 * t.token) for t in trials]
        live.tell_many([(t, float(t.token % 5), [0.1 * t.token]) for t in trials])
    before, after = made[:cut], made[cut:]
    order.shuffle(before)
    columns = dict(zip(("arm", "reward", "dollars"), map(list, zip(*before, strict=True)), strict=False))
    exp = open_experiment("memory://", "a", PROBLEM, 36, strategy, log=columns if cut else None)
    order.shuffle(after)
    rest = from_log(
        {k: [row[i] for row in before + after] for i, k in enumerate(("arm", "reward", "dollars"))},
        bounds=PROBLEM.bounds,
    )
    for arm in PROBLEM.arms:
        tail = [row for row in after if row[0] == arm]
        table = np.array([row[1:] for row in tail]).reshape(len(tail), 2)
        now = exp.run_state().moments[PROBLEM.index(arm)].plus(table)
        assert now.to_dict() == live.run_state().moments[PROBLEM.index(arm)].to_dict()
        assert rest.estimates[arm].reward == live.recommend().estimates[arm].reward


def test_an_old_log_can_count_less_and_is_told_apart_from_what_comes(storage, name):
    data = log(60)
    exp = storage.create(name, PROBLEM, 40, Challenger(), log=data, log_weight=0.5)
    counts = {arm: data["arm"].count(arm) for arm in PROBLEM.arms}
    found = exp.recommend()
    assert {arm: found.estimates[arm].trials for arm in counts} == {arm: n // 2 for arm, n in counts.items()}
    rewards = {arm: [r for a, r in zip(data["arm"], data["reward"], strict=True) if a == arm] for arm in counts}
    assert found.estimates["a"].reward == pytest.approx(np.mean(rewards["a"]))
    assert exp.state.budget == 40 + found.trials
    rng = np.random.default_rng(2)
    while trials := exp.ask(5):
        exp.tell_many([(t, rng.normal(), [rng.random() + 5.0 * (t.arm == "b")]) for t in trials])
    assert audit(exp) == []
    assert "The log and the fresh results of b differ by more than chance: dollars" in exp.recommend().note
    with pytest.raises(ValueError, match="log_weight: expected a number above 0, at most 1"):
        storage.create(f"{name} 2", PROBLEM, 40, log=data, log_weight=0)
    with pytest.raises(ValueError, match="fills the places of its schedule"):
        storage.create(f"{name} 2", PROBLEM, 40, SFSR(), log=data, log_weight=0.5)


def test_a_log_of_unknown_arms_is_refused():
    with pytest.raises(ValueError, match="arm: expected one of"):
        open_experiment("memory://", "a", PROBLEM, 60, log={"arm": ["z"], "reward": [1.0], "dollars": [1.0]})


def test_progress_counts_a_log_at_its_weight(storage, name):
    rows = [("a", 1.0 + 0.1 * i, 0.5) for i in range(10)] + [("b", 2.0 - 0.1 * i, 1.5) for i in range(10)]
    log = {"arm": [r[0] for r in rows], "reward": [r[1] for r in rows], "cost": [r[2] for r in rows]}
    exp = storage.create(name, Problem(["a", "b"], {"cost": 1.0}), 12, Uniform(), log=log, log_weight=0.3)
    assert (exp.state.complete, exp.state.budget, exp.state.discounted) == (6, 18, 14)
    assert [state.complete for _, state in storage.store.entries() if state.name == name] == [6]
    exp.extend(20)  # the open round has room for it
    while given := exp.ask(4):
        exp.tell_many([(t, 1.0, [0.5]) for t in given])
    assert exp.state.complete == exp.state.budget == 20
    assert exp.recommend().trials == 20
    assert audit(exp) == []
