import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import generators, naive
from tests.strategies.test_sfsr import draw, problem_of, run

from bestmix import SingleArm


@pytest.mark.parametrize("kind", ["gaussian", "binary"])
@pytest.mark.parametrize("costs", range(4))
def test_a_run_rejects_one_arm_a_round(costs, kind):
    rng = np.random.default_rng([costs, len(kind)])
    for _ in range(15):
        arms = int(rng.integers(2, 7))
        unknown = int(rng.integers(1, arms + 1))
        budget = int(rng.integers(unknown + 1, 60))
        trials, known, bound = draw(rng, kind, arms, unknown, costs, budget)
        expected = naive.single_arm(trials, known, bound, budget)
        search, used = run(SingleArm(), trials, known, bound, budget)
        names = search.problem.names
        assert [r.rejected for r in search.history] == [names[a] for a in expected.rejected]
        assert used == expected.pulls
        last = naive.exact_means(trials, used, known)[expected.left[0]]
        answer = search.recommend()
        assert answer.feasible == all(c <= b for c, b in zip(last[1:], bound, strict=True))
        if answer.feasible:
            assert answer.support == (names[expected.left[0]],)


def test_the_worst_violation_goes_first_then_the_lowest_reward():
    known = [[1.0, 0.5], [9.0, 3.0], [8.0, 1.5], [0.5, 0.0]]
    search, _ = run(SingleArm(), [], known, [1.0], 0)
    assert [r.rejected for r in search.history] == ["known1", "known2", "known3"]
    assert search.recommend().support == ("known0",)


def test_no_feasible_arm_is_infeasible_even_if_a_mix_is_feasible():
    known = [[1.0, 2.0, 0.0], [1.0, 0.0, 2.0]]
    search, _ = run(SingleArm(), [], known, [1.0, 1.0], 0)
    answer = search.recommend()
    assert not answer.feasible
    assert "no feasible mix" in answer.note


@given(seed=generators.seeds, reward=st.integers(-70, 70), cost=generators.powers)
def test_units_change_nothing(seed, reward, cost):
    rng = np.random.default_rng(seed)
    trials, known, bound = (np.array(x) for x in draw(rng, "gaussian", 6, 5, 2, 50))
    units = np.array([2.0**reward, cost, 1.0])
    plain, _ = run(SingleArm(), trials, known, bound, 50)
    other, _ = run(SingleArm(), trials * units, known * units, bound * units[1:], 50)
    assert [r.rejected for r in plain.history] == [r.rejected for r in other.history]


def test_its_schedule_is_that_of_successive_rejects():
    problem = problem_of(4, [], [1.0, 1.0])
    assert SingleArm().start(problem, 100).ask() == dict.fromkeys(problem.arms, naive.schedule(4, 4, 0, 100)[0])
