import numpy as np
import pytest

from bestmix import Instance, Known, Problem, simulate
from bestmix.strategies.rivals import CGE, CTnS
from bestmix.strategies.rivals.ctns import check_costs

# ini_large_exp.py of Carlsson and others' repository: five arms, two known limits on shares of arms.
COSTS = np.array([[1.0, 1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 0.0]])
REWARDS = np.array([1.0, 0.5, 0.4, 0.95, 0.8])


def partly_known(names):
    known = {name: Known(costs={"first": COSTS[0, a], "second": COSTS[1, a]}) for a, name in enumerate(names)}
    return Problem(names, {"first": 0.5, "second": 0.5}, known)


def test_known_costs_need_not_be_learnt():
    """The best mix of the authors' own experiment: half of the first arm, half of the fourth."""
    names = [f"arm{a}" for a in range(5)]
    search, rng = CTnS(0.9, growth=0.3).start(partly_known(names), 4000), np.random.default_rng(0)
    while owed := search.ask():
        for arm, n in owed.items():
            a = names.index(arm)
            search.tell(arm, REWARDS[a] + 0.2 * rng.normal(size=n), np.tile(COSTS[:, a], (n, 1)))
    assert search.done
    assert search.trials < 4000
    assert search.recommend(safety=None).mixture == pytest.approx({"arm0": 0.5, "arm3": 0.5})


@pytest.mark.parametrize("strategy", [CTnS(0.9, growth=0.3), CGE(0.9, growth=0.3)], ids=lambda one: one.label)
def test_the_answer_that_the_authors_tutorial_prints(strategy):
    """Rewards 0.92, 0.91 and 0.8, costs 5, 1 and 0, bound 0.5: the optimal policy is [0, 0.5, 0.5].

    The tutorial also prints when its runs stopped (CGE 3,485 trials, track and stop 4,105), but those explored within
    the limits, without a seed: no number to compare with. Here the noise is a tenth, which takes fewer trials.
    """
    names, reward, cost = ["a", "b", "c"], np.array([0.92, 0.91, 0.8]), np.array([5.0, 1.0, 0.0])
    known = {name: Known(costs={"x": c}) for name, c in zip(names, cost, strict=True)}
    search, rng = strategy.start(Problem(names, {"x": 0.5}, known), 20_000), np.random.default_rng(2)
    while owed := search.ask():
        for arm, n in owed.items():
            a = names.index(arm)
            search.tell(arm, reward[a] + 0.1 * rng.normal(size=n), np.full((n, 1), cost[a]))
    assert search.trials < 20_000
    assert search.recommend(safety=None).mixture == pytest.approx({"b": 0.5, "c": 0.5})


@pytest.mark.parametrize(("strategy", "drawn"), [(CTnS(1 - 1e-4), 6705), (CGE(1 - 1e-4), 7655)], ids=("CTnS", "CGE"))
def test_mean_trials_are_those_that_the_paper_draws(strategy, drawn):
    """Figure 8a: seven arms, two limits, delta 1e-4; means are marked in the boxes. Here 7,046 and 8,243 of 300 runs.

    Of 60 runs the mean has a standard error of 4%: with other seeds CTnS would fail in one of 200, CGE in one of 30.
    """
    costs = [[4, 1, 0, 0, 0, 0, 0], [0, 1, 2, 0, 0, 0, 0]]
    inst = Instance([2, 1.5, 1.45, 0.5, 0.3, -1, -1], costs, [0.7, 0.5], sigma_reward=1.0, sigma_cost=0.0)
    found = simulate(inst, strategy, 100_000, runs=60, seed=1, threads=1)
    assert found.mean_pulls == pytest.approx(drawn, rel=0.15)
    assert found.outcomes.loss.max() < 0.01


def test_costs_without_noise_are_as_good_as_known():
    inst = Instance(REWARDS, COSTS, [0.5, 0.5], sigma_reward=0.2, sigma_cost=0.0)
    search, rng = CTnS(0.9, growth=0.3).start(inst.problem, 4000), np.random.default_rng(0)
    while owed := search.ask():
        for arm, n in owed.items():
            rows = inst.draw(inst.arms.index(arm), n, rng)
            search.tell(arm, rows[:, 0], rows[:, 1:])
    assert search.recommend(safety=None).mixture == pytest.approx({"arm0": 0.5, "arm3": 0.5})


def test_limits_beyond_the_paper_are_refused():
    with pytest.raises(ValueError, match="CTnS knows one segment"):
        check_costs("CTnS", Problem(["a", "b"], limits=["share(a) <= 40%"]))
