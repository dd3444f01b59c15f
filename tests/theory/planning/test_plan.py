import csv
import json

import numpy as np
import pytest

from bestmix import SFSR, Instance, Problem, SingleArm, Spend, Uniform, catalog, families, plan, simulate
from bestmix.kernels import jit
from bestmix.theory.planning import bisection, sensitivity
from bestmix.theory.planning.plan import built_in

EASY = Instance([1.7, 2.6, 0.5, 2.1], [[0.0, 1.8, 0.8, 1.2]], [1.0], sigma_reward=1.0, sigma_cost=0.5)


def test_the_budget_meets_the_error_with_other_seeds():
    # The planned rate's upper 95% end is within 0.1. A fresh rate whose lower end is above 0.1 would be three
    # standard deviations of the difference away: a false alarm in about 0.2% of all cases, for each strategy.
    answer = plan(EASY, 0.1, [SFSR(), Uniform()], draws=0, runs=2000)
    assert [b.trials for b in answer.budgets] == sorted(b.trials for b in answer.budgets)
    for found in answer.budgets:
        strategy = {"SFSR": SFSR(), "USLP": Uniform()}[found.strategy]
        assert found.error_interval[1] <= 0.1
        fresh = [simulate(EASY, strategy, found.trials, runs=2000, seed=seed) for seed in (11, 12)]
        assert all(result.interval[0] <= 0.1 for result in fresh)
        assert np.mean([result.error_rate for result in fresh]) <= 0.1
        short = simulate(EASY, strategy, found.least, runs=2000, seed=13)
        assert short.interval[1] >= 0.1
        assert found.least < found.trials < 1.6 * found.least


def test_all_strategies_theory_and_reasons():
    answer = plan(EASY, 0.1, runs=500, draws=4, most=20_000)
    assert {b.strategy for b in answer.budgets} == {s.name for s in built_in()}
    single = next(b for b in answer.budgets if b.strategy == "single arm")
    assert single.trials is None  # the best mix has two arms
    assert answer.budgets[-1] is single
    assert answer.guarantee > answer.best.trials > answer.at_least["any"]
    assert "arm3 could gain a place in the mix" in answer.hard[0]
    assert answer.limit.delta == 0.1
    assert answer.limit.sentence() in str(answer)
    assert answer.to_dict()["limit"]["proven"]
    said = answer.sensitivity
    assert len(said.budgets) == 4
    assert said.strategy == answer.best.strategy
    assert said.planned is not None
    assert all(word in str(answer) for word in ("Plan ", "Theorem 1", "Theorem 2", "> 20,000", "draws"))
    assert json.loads(json.dumps(answer.to_dict()))["budgets"][-1]["budget"] is None


def test_a_plan_depends_on_its_seed_alone():
    first, second, other = (plan(EASY, 0.2, [SFSR()], runs=500, draws=3, seed=s) for s in (1, 1, 2))
    assert first.to_dict() == second.to_dict()
    assert first.to_dict() != other.to_dict()


def test_a_pilot_log(tmp_path):
    rng = np.random.default_rng(0)
    rows = [(name, *EASY.draw(a, 1, rng)[0]) for a, name in enumerate(EASY.arms) for _ in range(60)]
    path = tmp_path / "pilot.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("model", "quality", "dollars"), *rows])
    options = {"arm": "model", "reward": "quality", "bounds": {"dollars": 1.0}, "runs": 500, "draws": 5}
    answer = plan(path, 0.2, [Uniform()], **options)
    assert answer.instance.arms == EASY.arms
    own = np.cov([row[1] for row in rows if row[0] == EASY.arms[0]])
    assert answer.instance.covariance[0, 0, 0] == pytest.approx(own, rel=0.05)  # blended with the others
    assert len(answer.sensitivity.budgets) == 5
    columns = {name: [row[i] for row in rows] for i, name in enumerate(("model", "quality", "dollars"))}
    assert plan(columns, 0.2, [Uniform()], **options).to_dict() == answer.to_dict()


def test_files_and_names(tmp_path):
    EASY.save(tmp_path / "guess.toml")
    wanted = plan(EASY, 0.3, [Uniform()], runs=200, draws=0)
    assert plan(tmp_path / "guess.toml", 0.3, [Uniform()], runs=200, draws=0).to_dict() == wanted.to_dict()
    assert plan("A1", 0.5, [Uniform()], runs=100, draws=0).instance.means.shape == (16, 2)


def test_infeasible_guesses_are_planned_without_theory():
    answer = plan(Instance([1.0, 0.5], [[2.0, 1.5]], [1.0]), 0.2, [Uniform()], runs=200, draws=2)
    assert answer.best.trials is not None
    assert answer.gaps is None
    assert "No mix keeps all bounds" in str(answer)
    assert answer.limit.sentence() in str(answer)


def test_an_error_out_of_reach():
    answer = plan(catalog.load("A1"), 0.05, [Uniform()], runs=200, most=1000)
    assert answer.best is None
    assert answer.sensitivity is None
    assert "No strategy gets down to an error of 0.05 with 1,000 trials" in answer.sentence()


def test_progress_is_told():
    heard = []
    plan(EASY, 0.5, [Uniform()], runs=100, draws=2, progress=heard.append)
    wanted = ["Reading the guesses", "Measuring the gaps", "Simulating USLP", "Simulating USLP around the guesses"]
    assert heard == wanted


@pytest.mark.parametrize(
    ("source", "options", "part"),
    [
        (EASY, {"error": 0.0}, "error: expected a probability"),
        (EASY, {"error": 1.0}, "error: expected a probability"),
        (EASY, {"error": float("nan")}, "error: expected a finite number"),
        (EASY, {"runs": 10}, "runs: expected a whole number of at least 80"),
        (EASY, {"pilot": 0}, "pilot: expected a positive number"),
        (EASY, {"draws": -1}, "draws: expected"),
        (EASY, {"strategies": []}, "strategies: expected at least one"),
        (EASY, {"strategies": [SFSR(), SFSR()]}, "listed twice"),
        (EASY, {"bounds": {"cost0": 1.0}}, "an instance has its own bounds"),
        ("nothing.csv", {}, "there is no file nothing.csv"),
        ({"arm": ["a"], "reward": [1.0]}, {}, "at least two trials"),
        (3, {}, "log: expected a path of a log"),
        (Instance([1.0, 0.5], known=2), {}, "nothing to try"),
        (Instance([1.0, 1.0]), {}, "no budget is enough where the best mix is not unique"),
    ],
)
def test_mistakes(source, options, part):
    with pytest.raises(ValueError, match=part):
        plan(source, **options)


def test_a_tolerance_plans_for_the_loss_and_ties_do_not_matter():
    twins = Instance([1.7, 2.6, 2.6], [[0.0, 1.8, 1.8]], [1.0])
    with pytest.raises(ValueError, match="give a tolerance"):
        plan(twins, strategies=[Uniform()], runs=400)
    loose, fine = (plan(twins, strategies=[Uniform()], runs=400, tolerance=t) for t in ("10%", 0.05))
    assert loose.tolerance == pytest.approx(0.22)
    assert loose.best.trials < fine.best.trials
    assert fine.best.loss_interval[1] <= 0.05
    assert "loses at most 0.05 of reward on average" in fine.sentence()
    assert fine.to_dict()["tolerance"] == 0.05


def test_where_no_budget_is_enough_the_loss_is_told():
    close = Instance([1.7, 2.6, 2.5999], [[0.0, 1.8, 1.8]], [1.0])
    hopeless = plan(close, strategies=[Uniform()], draws=0, runs=400, most=2000)
    assert hopeless.best is None
    assert "of reward on average; give a tolerance" in hopeless.sentence()
    assert "guarantees" not in str(hopeless)


def test_a_plan_with_segments_has_no_theorems_and_draws_around_its_guesses(monkeypatch):
    monkeypatch.setattr(jit, "machine", jit._in_python)
    monkeypatch.setattr(bisection, "SCOUTS", 20)
    monkeypatch.setattr(sensitivity, "RUNS", 10)
    instance = families.random_segments(2, arms=3, costs=1, seed=3, margin=0.2)
    for arriving in (False, True):
        answer = plan(instance, 0.45, [Uniform()], runs=20, draws=1, threads=1, arriving=arriving)
        assert answer.best.trials >= answer.best.least >= 7
        assert "one segment" in answer.note
        assert (answer.guarantee, answer.at_least, answer.limit, answer.hard) == (None, None, None, ())
        assert len(answer.sensitivity.budgets) == 1
        json.dumps(answer.to_dict(), allow_nan=False)


def test_strategies_that_serve_the_problem_are_compared():
    assert [s.name for s in built_in(catalog.load("S3L1"))] == ["Challenger", "SFSR-L", "USLP"]
    learnt = Problem(["a", "b"], segments=["x", "y"])
    found = built_in(Instance.from_problem(learnt, np.ones((4, 1)), shares={"x": 0.5, "y": 0.5}))
    assert [s.name for s in found] == ["Challenger", "USLP"]
    assert [s.name for s in built_in(families.random_markov(3, 2, 1))] == ["Challenger", "USLP"]
    assert len(built_in(EASY)) == 5


def test_a_plan_in_money_is_what_the_paid_strategy_needs():
    prices = {"a": 1.0, "b": 20.0, "c": 5.0}
    guess = Instance([1.7, 2.6, 0.5], [[0.2, 1.8, 0.8]], [1.0], arms=list(prices), costs=["dollars"], sigma_cost=0.2)
    answer = plan(guess, 0.2, [Uniform()], unit="cents", prices=prices, runs=40, threads=1)
    best, row = answer.best, answer.rows()[0]
    spent = row["budget"]
    assert answer.sentence().startswith(f"Plan {spent:,.4g} cents with USLP, about {best.pulls:,.0f} trials: wrong")
    again = simulate(guess, Uniform(), Spend(spent, "cents", prices=prices), runs=40, threads=1)
    assert (again.error_rate, again.mean_pulls) == (best.error_rate, best.pulls)
    assert best.error_interval[1] <= 0.2
    assert 0 < row["least"] < spent
    data = json.loads(json.dumps(answer.to_dict()))
    assert (data["unit"], data["prices"], data["budgets"][0]["trials"]) == ("cents", prices, best.pulls)
    assert answer.note in str(answer)
    assert answer.guarantee is answer.at_least is answer.limit is answer.sensitivity is None


def test_a_cost_of_the_instance_is_the_price():
    guess = Instance([1.7, 2.6], [[0.5, 1.5]], [1.0], costs=["dollars"], sigma_cost=0.2)
    answer = plan(guess, 0.3, [Uniform()], unit="dollars", runs=20, threads=1)
    assert answer.coin == Spend(1.0, "dollars", {"arm0": 0.5, "arm1": 1.5})
    assert plan(guess, 0.3, [Uniform()], unit="dollars", runs=20, threads=1, tolerance=0.2).best is not None


@pytest.mark.parametrize(
    ("asked", "complaint"),
    [
        ({"unit": "euros"}, "unit: expected one of the costs: dollars, got euros"),
        ({"prices": {"arm0": 1.0}}, "prices"),
        ({"prices": {"arm0": 0.0, "arm1": 0.0}}, "has to cost more than 0 dollars"),
        ({"unit": "dollars", "strategies": [SingleArm()]}, "has no rule for a budget of money"),
    ],
)
def test_money_that_cannot_be_planned(asked, complaint):
    guess = Instance([1.7, 2.6], [[0.5, 1.5]], [1.0], costs=["dollars"])
    with pytest.raises(ValueError, match=complaint):
        plan(guess, 0.3, **{"strategies": [Uniform()], "runs": 20, "threads": 1} | asked)
