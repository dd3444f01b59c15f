import numpy as np
import pytest
from hypothesis import given
from tests import generators, naive
from tests.strategies.test_sfsr import draw, run

from bestmix import Problem, Uniform


@pytest.mark.parametrize("kind", ["gaussian", "binary"])
@pytest.mark.parametrize("costs", range(4))
def test_a_run_is_uniform_sampling_then_the_linear_program(costs, kind):
    rng = np.random.default_rng([costs, len(kind)])
    for _ in range((10, 15, 10, 5)[costs]):
        arms = int(rng.integers(1, 7))
        unknown = int(rng.integers(1, arms + 1))
        budget = int(rng.integers(unknown, 60))
        trials, known, bound = draw(rng, kind, arms, unknown, costs, budget)
        expected = naive.uslp(trials, known, bound, budget)
        search, used = run(Uniform(), trials, known, bound, budget)
        answer = search.recommend()
        assert used == expected.pulls
        assert answer.feasible == (expected.left is not None)
        if answer.feasible:
            best = naive.best_basis(naive.exact_means(trials, used, known), bound)
            assert answer.best_guess_value == pytest.approx(float(best[0]), abs=1e-9)
            if kind == "gaussian":
                assert answer.basis == tuple(search.problem.columns[j] for j in expected.left)
                assert naive.uslp_float(trials, known, bound, budget) == expected


@given(seed=generators.seeds, reward=generators.powers, cost=generators.powers)
def test_units_change_nothing(seed, reward, cost):
    rng = np.random.default_rng(seed)
    trials, known, bound = (np.array(x) for x in draw(rng, "gaussian", 6, 5, 2, 50))
    units = np.array([reward, cost, 1.0])
    plain, _ = run(Uniform(), trials, known, bound, 50)
    other, _ = run(Uniform(), trials * units, known * units, bound * units[1:], 50)
    assert plain.recommend().mixture == other.recommend().mixture
    assert plain.recommend().basis == other.recommend().basis


def test_the_rest_of_the_division_is_left_over():
    search = Uniform().start(Problem(["a", "b", "c"]), budget=11)
    assert search.ask() == {"a": 3, "b": 3, "c": 3}


def test_a_budget_below_one_trial_each_is_refused():
    with pytest.raises(ValueError, match=r"budget: expected at least 3 trials for 3 unknown arms, got 2"):
        Uniform().start(Problem(["a", "b", "c"]), budget=2)
