import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from tests import generators, naive

from bestmix import SFSR, Challenger, Instance, Known, Problem, SingleArm, Uniform, catalog, simulate
from bestmix.problems.solution import solve_means
from bestmix.strategies.rivals import OCBA, ConstrainedSR
from bestmix.strategies.schedule import rejects


def problem_of(unknown, known, bound):
    """A problem with these known means (reward, *costs)."""
    costs = [f"c{l}" for l in range(len(bound))]
    arms = {f"known{k}": Known(row[0], dict(zip(costs, row[1:], strict=True))) for k, row in enumerate(known)}
    return Problem([f"a{i}" for i in range(unknown)], dict(zip(costs, bound, strict=True)), arms)


def run(strategy, trials, known, bound, budget):
    """Tell a search the trials, in order, until it is over."""
    problem = problem_of(len(trials), known, bound)
    search, used = strategy.start(problem, budget), [0] * len(trials)
    while owed := search.ask():
        for arm, n in owed.items():
            i = problem.index(arm)
            rows = np.asarray(trials[i], dtype=float)[used[i] : used[i] + n]
            search.tell(arm, rows[:, 0], rows[:, 1:])
            used[i] += n
    return search, used


def weights(means, bound, left):
    """Of the columns left in the optimum; where there are several optima, in the one that the program finds."""
    solution = solve_means(np.array(means, dtype=float), np.array(bound, dtype=float), np.array(left))
    weight = np.r_[solution.mixture, solution.slack][left]
    return np.where(weight > 1e-9, weight, 0.0).tolist()


def as_run(search, used):
    """The search as ``naive.Run``."""
    columns = search.problem.columns
    rejected = [columns.index(r.rejected) for r in search.history if r.rejected is not None]
    left = search.strategy.columns(search.problem, search.memory)
    return naive.Run(rejected, None if left is None else left.tolist(), used)


def draw(rng, kind, arms, unknown, costs, budget):
    """(trials, known, bound)."""
    if kind == "gaussian":
        means, bound = rng.normal(size=(arms, 1 + costs)), rng.normal(0.2, 0.7, costs)
        trials = means[:unknown, None] + rng.normal(size=(unknown, budget, 1 + costs))
        return trials.tolist(), means[unknown:].tolist(), bound.tolist()
    chance = rng.uniform(0.1, 0.9, (arms, 1 + costs))
    trials = (rng.random((unknown, budget, 1 + costs)) < chance[:unknown, None]).astype(float)
    known = np.round(chance[unknown:] * 4) / 4
    return trials.tolist(), known.tolist(), (rng.integers(1, 8, costs) / 8).tolist()


@pytest.mark.parametrize("kind", ["gaussian", "binary"])
@pytest.mark.parametrize("costs", range(4))
def test_a_run_is_algorithm_1_step_by_step(costs, kind):
    rng = np.random.default_rng([costs, len(kind)])
    verdicts = set()
    for _ in range((20, 20, 12, 5)[costs]):
        arms = int(rng.integers(2, 7))
        unknown = int(rng.integers(1, arms + 1))
        budget = int(rng.integers(unknown + 1, 60))
        trials, known, bound = draw(rng, kind, arms, unknown, costs, budget)
        expected = naive.sfsr(trials, known, bound, budget, weights=weights)
        search, used = run(SFSR(), trials, known, bound, budget)
        assert as_run(search, used) == expected
        answer = search.recommend()
        assert answer.complete
        verdicts.add(expected.left is None)
        if expected.left is not None:
            found = naive.best_basis(naive.exact_means(trials, expected.pulls, known), bound, expected.left)
            assert answer.feasible == (found is not None)
            if found is not None:
                assert answer.basis == tuple(search.problem.columns[j] for j in expected.left)
                assert answer.best_guess_value == pytest.approx(float(found[0]), abs=1e-9)
    assert verdicts == ({False, True} if costs else {False})


@pytest.mark.parametrize("costs", range(1, 4))
def test_a_run_with_lagrangian_scores_is_sfsr_l_step_by_step(costs):
    rng = np.random.default_rng(costs)
    for _ in range((0, 20, 12, 5)[costs]):
        arms = int(rng.integers(2, 7))
        unknown = int(rng.integers(1, arms + 1))
        budget = int(rng.integers(unknown + 1, 60))
        trials, known, bound = draw(rng, "gaussian", arms, unknown, costs, budget)
        expected = naive.sfsr(trials, known, bound, budget, naive.lagrangian_scores, weights=weights)
        assert as_run(*run(SFSR(score="lagrangian"), trials, known, bound, budget)) == expected


@pytest.mark.parametrize(("score", "twin"), [("intersection", "sfsr_float"), ("lagrangian", "sfsr_lagrangian_float")])
def test_the_float_twins_agree(score, twin):
    rng = np.random.default_rng(8)
    for costs in (1, 2):
        trials, known, bound = draw(rng, "gaussian", 10, 9, costs, 300)
        expected = getattr(naive, twin)(trials, known, bound, 300)
        assert as_run(*run(SFSR(score), trials, known, bound, 300)) == expected


@pytest.mark.parametrize("score", ["intersection", "lagrangian"])
@given(seed=generators.seeds, arms=st.integers(2, 9), budget=st.integers(10, 200), binary=st.booleans())
def test_without_costs_it_is_successive_rejects_to_the_pull(score, seed, arms, budget, binary):
    rng = np.random.default_rng(seed)
    rewards = rng.integers(0, 2, (arms, budget)).astype(float) if binary else rng.normal(size=(arms, budget))
    rejected, best, pulls = naive.successive_rejects(rewards.tolist(), budget)
    search, used = run(SFSR(score), rewards[:, :, None], [], [], budget)
    assert as_run(search, used) == naive.Run(rejected, [best], pulls)
    assert search.recommend().support == (f"a{best}",)


@pytest.mark.parametrize("bound", [Fraction(3, 10), Fraction(1, 3), Fraction(7, 10)])
def test_a_mean_that_equals_a_decimal_bound_is_at_the_bound(bound):
    # Means such as 3/10 are not exact floats; ties with the bound must be found all the same.
    rng = np.random.default_rng(bound.denominator)
    for _ in range(20):
        trials = rng.integers(0, 2, (5, 80, 2)).tolist()
        budget = int(rng.integers(30, 80))
        expected = naive.sfsr(trials, [], [bound], budget)
        assert as_run(*run(SFSR(), trials, [], [float(bound)], budget)) == expected


@given(seed=generators.seeds, costs=st.integers(0, 2), score=st.sampled_from(["intersection", "lagrangian"]))
def test_renaming_and_reordering_arms_permutes_the_answer(seed, costs, score):
    rng = np.random.default_rng(seed)
    trials, _, bound = draw(rng, "gaussian", 6, 6, costs, 60)
    plain, other = (as_named(score, trials, bound, order) for order in (np.arange(6), rng.permutation(6)))
    assert plain == other


def as_named(score, trials, bound, order):
    problem = Problem([f"a{i}" for i in order], {f"c{l}": b for l, b in enumerate(bound)})
    search, used = SFSR(score).start(problem, 60), [0] * 6
    while owed := search.ask():
        for arm, n in owed.items():
            i = int(arm[1:])
            rows = np.array(trials[i][used[i] : used[i] + n])
            search.tell(arm, rows[:, 0], rows[:, 1:])
            used[i] += n
    answer = search.recommend()
    return ([r.rejected for r in search.history], sorted(answer.basis), used, answer.feasible)


@pytest.mark.parametrize(("score", "grid"), [("intersection", 8), ("intersection", 2**20), ("lagrangian", 2**20)])
@given(seed=generators.seeds, scale=generators.powers, shift=st.integers(-64, 64))
def test_the_unit_and_the_origin_of_the_reward_change_nothing(score, grid, seed, scale, shift):
    # On a grid the shift rounds nothing. On the coarse one ties are common, and only intersection
    # values do not depend on which of several optimal bases is found.
    trials = np.random.default_rng(seed).integers(-2 * grid, 2 * grid + 1, (5, 50, 3)) / grid
    changed = trials.copy()
    changed[:, :, 0] = scale * (trials[:, :, 0] + shift)
    plain, other = (run(SFSR(score), t, [], [0.125, 0.25], 50) for t in (trials, changed))
    assert as_run(*plain) == as_run(*other)


@given(seed=generators.seeds, scale=generators.powers, binary=st.booleans())
def test_the_unit_of_a_cost_changes_no_intersection_value(seed, scale, binary):
    rng = np.random.default_rng(seed)
    trials, known, bound = (np.array(x) for x in draw(rng, "binary" if binary else "gaussian", 6, 5, 2, 50))
    units = np.array([1.0, scale, 1.0])
    plain = run(SFSR(), trials, known, bound, 50)
    assert as_run(*plain) == as_run(*run(SFSR(), trials * units, known * units, bound * units[1:], 50))


@given(size=generators.sizes(), seed=generators.seeds, score=st.sampled_from(["intersection", "lagrangian"]))
def test_the_budget_is_never_exceeded_and_known_arms_are_never_pulled(size, seed, score):
    arms, unknown, costs, budget = size
    rng = np.random.default_rng(seed)
    trials = rng.integers(0, 3, (unknown, budget, 1 + costs)) - (rng.random() < 0.5)
    known = rng.integers(0, 3, (arms - unknown, 1 + costs)).astype(float)
    search, used = run(SFSR(score), trials, known, [1.0] * costs, budget)
    assert sum(used) == search.trials <= budget
    assert search.done
    assert search.ask() == {}
    assert set().union(*(r.pulls for r in search.history)) <= set(search.problem.arms)
    assert len(search.history) <= max(arms - 1, 1)


@pytest.mark.parametrize("bounds", [{}, {"x": 1.0}])
def test_one_arm_alone_gets_the_budget(bounds):
    search = SFSR().start(Problem(["only"], bounds), budget=10)
    assert search.ask() == {"only": 10}
    search.tell("only", np.ones(10), np.full((10, len(bounds)), 0.5))
    answer = search.recommend()
    assert (answer.support, answer.trials, answer.complete) == (("only",), 10, True)


def test_one_arm_that_was_not_tried_is_not_said_to_keep_a_bound():
    answer = SFSR().start(Problem(["only"], {"x": 1.0}), budget=10).recommend()
    assert (answer.support, answer.feasible, answer.complete) == ((), False, False)
    assert "there is no answer" in answer.sentence()


def test_known_arms_alone_are_solved_at_once():
    known = [[1.0, 0.0], [3.0, 2.0], [2.0, 2.0]]
    search = SFSR().start(problem_of(0, known, [1.0]), budget=0)
    assert search.done
    assert search.recommend().mixture == {"known0": 0.5, "known1": 0.5}


def test_the_history_tells_scores_and_margins():
    rng = np.random.default_rng(0)
    trials, known, bound = draw(rng, "gaussian", 5, 4, 1, 60)
    search, _ = run(SFSR(), trials, known, bound, 60)
    for k, entry in enumerate(search.history, 1):
        assert entry.number == k
        scores = sorted(entry.scores.values())
        assert entry.scores[entry.rejected] == pytest.approx(scores[0])
        assert entry.margin == pytest.approx(scores[1] - scores[0])
        assert len(entry.scores) == 5 + 1 - (k - 1)


# --- a user's own score ----------------------------------------------------------------------------


def reward_only(mu, u, e):
    """Arms by their reward; slacks stay to the end."""
    return np.where(e > 0, mu, 1e9)


@njit
def reward_only_compiled(mu, u, e):
    return np.where(e > 0, mu, 1e9)


@pytest.mark.parametrize("function", [reward_only, reward_only_compiled])
def test_a_function_scores_the_columns(function):
    trials = np.zeros((3, 30, 2))
    trials[:, :, 0] = [[1.0], [3.0], [2.0]]
    search, _ = run(SFSR(function), trials, [], [1.0], 30)
    assert [r.rejected for r in search.history] == ["a0", "a2"]
    assert search.recommend().support == ("a1",)
    assert "reward_only" in SFSR(function).name


def test_a_function_sees_unscaled_columns():
    seen = []

    def look(mu, u, e):
        seen.append((mu.copy(), u.copy(), e.copy()))
        return mu

    run(SFSR(look), np.full((2, 20, 2), 7.0), [], [2.0], 20)
    mu, u, e = seen[0]
    np.testing.assert_array_equal(mu, [7, 7, 0])
    np.testing.assert_array_equal(u, [[5], [5], [1]])
    np.testing.assert_array_equal(e, [1, 1, 0])


def test_minus_infinity_for_all_is_infeasible_and_for_some_is_not():
    search, _ = run(SFSR(lambda mu, u, e: np.full(len(mu), -np.inf)), np.zeros((3, 20, 2)), [], [1.0], 20)
    assert search.done
    assert not search.recommend().feasible
    some = SFSR(lambda mu, u, e: np.where(np.arange(len(mu)) < 2, -np.inf, 1.0))
    search, _ = run(some, np.zeros((4, 20, 2)), [], [1.0], 20)
    assert search.history[0].rejected == "a1"


@pytest.mark.parametrize("bad", [lambda mu, u, e: mu[:-1], lambda mu, u, e: mu * np.nan, lambda mu, u, e: 3.0])
def test_a_function_that_returns_something_else_is_told_so(bad):
    with pytest.raises(ValueError, match=r"score: expected .* to return 4 numbers"):
        run(SFSR(bad), np.ones((3, 20, 2)), [], [1.0], 20)


def test_a_function_that_fails_once_can_be_tried_again():
    calls = []

    def flaky(mu, u, e):
        calls.append(1)
        if len(calls) == 1:
            raise KeyError("temporary")
        return reward_only(mu, u, e)

    strategy = SFSR(flaky)
    search = strategy.start(Problem(["a", "b"], {}), budget=10)
    owed = search.ask()
    search.tell("a", [1.0] * owed["a"])
    with pytest.raises(KeyError):
        search.tell("b", [2.0] * owed["b"])
    if search.ask():  # the last trials may be asked for again; else they were taken, and the round goes on
        search.tell("b", [2.0] * search.ask()["b"])
    again = type(search).from_json(search.to_json(), strategy)
    for one in (search, again):
        assert one.done
        assert one.recommend().support == ("b",)


# --- refusals --------------------------------------------------------------------------------------


@pytest.mark.parametrize("score", ["iv", None, 3])
def test_an_unknown_score_is_refused(score):
    with pytest.raises(ValueError, match=r"score: expected one of 'intersection', 'lagrangian', got"):
        SFSR(score)


@pytest.mark.parametrize("budget", [0, 1, 3])
def test_a_budget_that_leaves_an_arm_untried_is_refused(budget):
    with pytest.raises(ValueError, match=f"budget: expected at least 4 trials for 3 unknown arms, got {budget}"):
        SFSR().start(Problem(["a", "b", "c"], {"x": 1.0}), budget=budget)


def test_work_out_of_reach_is_refused_and_the_lagrangian_score_named():
    problem = Problem([f"a{i}" for i in range(300)], {f"c{l}": 1.0 for l in range(6)})
    assert math.comb(306, 7) > 1e12
    with pytest.raises(ValueError, match=r"300 arms and 6 costs.*lagrangian"):
        SFSR().start(problem, budget=10_000)
    assert SFSR("lagrangian").start(problem, budget=10_000).ask()


@pytest.mark.parametrize("score", ["intersection", "lagrangian"])
def test_the_optimal_arm_stays_where_all_scores_tie(score):
    """Prices are exact, and the best arm costs exactly its bound: it alone is the optimum, here and simulated."""
    instance = Instance([0.5, 1.0, 0.2], [[0.5, 1.0, 0.4]], [1.0], sigma_reward=0.01, sigma_cost=0.0)
    search = SFSR(score=score).start(instance.problem, 60)
    rng = np.random.default_rng(0)
    while owed := search.ask():
        for arm, n in owed.items():
            rows = instance.draw(instance.problem.index(arm), n, rng)
            search.tell(arm, rows[:, 0], rows[:, 1:])
    assert search.recommend().support == ("arm1",)
    assert search.recommend().mixture == {"arm1": 1.0}
    assert simulate(instance, SFSR(score=score), budget=60, runs=200, seed=1).regret == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    "strategy",
    [SFSR(), SFSR(score="lagrangian"), SingleArm(), ConstrainedSR(), OCBA(), Uniform(), Challenger()],
    ids=lambda strategy: strategy.name,
)
@pytest.mark.parametrize("bounds", [0, 1, 2])
@pytest.mark.parametrize("known", [0, 1])
def test_one_arm_alone_is_judged_alike_live_and_simulated(strategy, bounds, known):
    cost = np.full((bounds, 1), 0.5)
    instance = Instance([1.0], cost, np.ones(bounds), sigma_reward=0.1, sigma_cost=0.01, known=known)
    search = strategy.start(instance.problem, 10 * (1 - known))
    rng = np.random.default_rng(0)
    while owed := search.ask():
        for n in owed.values():
            rows = instance.draw(0, n, rng)
            search.tell("arm0", rows[:, 0], rows[:, 1:])
    found = simulate(instance, strategy, budget=10 * (1 - known), runs=20, seed=1)
    assert found.errors == 0
    assert search.recommend().mixture == {"arm0": 1.0}
    assert search.trials == found.mean_pulls == 10 * (1 - known)


@pytest.mark.parametrize("strategy", [SFSR(), SFSR(score="lagrangian"), SingleArm(), ConstrainedSR()])
def test_one_arm_alone_may_be_found_infeasible(strategy):
    instance = Instance([1.0], [[1.5]], [1.0], sigma_cost=0.1)
    search = strategy.start(instance.problem, 30)
    assert search.ask() == {"arm0": 30}
    search.tell("arm0", np.ones(30), np.full((30, 1), 1.5))
    assert search.done
    assert not search.recommend(safety=None).feasible
    assert simulate(instance, strategy, budget=30, runs=10, seed=1).errors == 0  # infeasible is right


@pytest.mark.parametrize("strategy", [SFSR(), SingleArm()])
def test_one_unknown_arm_beside_known_ones_keeps_its_rounds(strategy):
    instance = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], known=2)
    costs = 1 if isinstance(strategy, SFSR) else 0
    assert strategy.start(instance.problem, 100).ask() == {"arm0": rejects(3, 1, costs, 100)[0]}


def test_one_arm_a_segment_is_tried_though_nothing_is_to_be_rejected():
    problem = Problem(["a"], {"dollars": 1.0}, segments={"free": 0.5, "paid": 0.5})
    search = SFSR(score="lagrangian").start(problem, 40)
    while owed := search.ask():
        for (segment, arm), n in owed.items():
            search.tell(arm, np.ones(n), np.full((n, 1), 0.5), segment=segment)
    assert search.trials == 40
    assert search.recommend().feasible


@pytest.mark.parametrize("score", [lambda mu, u, e: mu[:-1], lambda mu, u, e: mu * np.nan, lambda mu, u, e: "x"])
def test_simulation_refuses_scores_that_are_no_numbers_as_a_live_search_does(score):
    with pytest.raises(ValueError, match=r"^score: expected .* numbers, one for each column"):
        simulate(catalog.load("A2"), SFSR(score=score), budget=800, runs=2)


def test_scores_may_be_a_list_in_simulation_too():
    inst, budget = catalog.load("A2"), 800
    listed, array = (simulate(inst, SFSR(score=f), budget, runs=3) for f in (_as_list, _as_array))
    assert listed.runs == array.runs == 3


def _as_list(mu, u, e):
    return list(mu)


def _as_array(mu, u, e):
    return mu
