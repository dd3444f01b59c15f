"""The proven stop for the support: distances against brute force, the heart of its theorem, and runs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from bestmix import Challenger, Instance, Problem, limit, solve
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.problems.solution import solve_means
from bestmix.strategies import proven_support
from bestmix.strategies.built_in import restore_strategy
from bestmix.strategies.proven_support import flatness

EASY = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=1.0, sigma_cost=1.0)
SURE = Challenger(confidence=0.95, proven=True, sigma=1.0)


def drive(strategy, instance, seed):
    search, rng = strategy.start(instance.problem), np.random.default_rng(seed)
    while owed := search.ask():
        for arm, count in owed.items():
            rows = instance.draw(instance.arms.index(arm), count, rng)
            search.tell(arm, rows[:, 0], rows[:, 1:])
    return search


def conditions(means, bound, counts, scale):
    solution = solve_means(means, bound)
    columns = proven_support.columns_of(means, bound)
    n = np.append(counts, np.full(len(bound), np.inf))
    return solution, proven_support.Conditions(columns, list(solution.basis), n, scale)


@pytest.mark.parametrize("seed", range(4))
def test_flatness_is_the_smallest_of_its_quotients(seed):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.normal(size=(4, 3)), np.ones(4)])
    counts, scale = rng.uniform(5, 50, 4), np.array([1.0, 0.5, 2.0, 0.0])
    if seed % 2:
        counts[1] = np.inf  # an exact point: w is orthogonal to it

    def quotient(w):
        if seed % 2:
            w = w - rows[1] * (w @ rows[1]) / (rows[1] @ rows[1])
        noisy = np.isfinite(counts)
        return counts[noisy] @ (rows[noisy] @ w) ** 2 / (scale**2 @ w**2)

    found = min(minimize(quotient, rng.normal(size=4)).fun for _ in range(8))
    assert flatness(rows, counts, scale) == pytest.approx(found, rel=1e-5)


def test_exact_points_that_leave_no_hyperplane_are_infinitely_far():
    assert flatness(np.eye(2), np.full(2, np.inf), np.ones(2)) == np.inf
    assert flatness(np.array([[1.0, 2.0]]), np.array([9.0]), np.ones(2)) == 0.0


def test_at_the_best_shares_the_distance_is_what_the_limit_asks_for():
    instance, delta = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=1.0, sigma_cost=0.5), 1e-3
    best = limit(instance, delta=delta)
    counts = best.trials * np.array([best.shares[arm] for arm in instance.arms])
    _, found = conditions(instance.means, instance.bound, counts, np.array([1.0, 0.5]))
    kl = (1 - 2 * delta) * np.log((1 - delta) / delta)
    assert found.nearest(found.counts) / 2 == pytest.approx(kl, rel=2e-3)


@given(st.integers(0, 2**32 - 1), st.integers(1, 2))
@settings(max_examples=100)
def test_a_truth_with_another_answer_is_no_nearer_than_the_distance(seed, costs):
    rng = np.random.default_rng(seed)
    scale, bound = rng.uniform(0.2, 2.0, 1 + costs), np.zeros(costs)
    truth, counts = rng.normal(size=(5, 1 + costs)), rng.uniform(1, 30, 5)
    means = truth + rng.normal(size=truth.shape) * scale / np.sqrt(counts)[:, None]
    solution, found = conditions(means, bound, counts, scale)
    right = solve_means(truth, bound)
    if solution.feasible and (not right.feasible or right.basis != solution.basis):
        away = counts @ ((means - truth) ** 2 / scale**2).sum(axis=1)
        assert found.nearest(found.counts) <= away * (1 + 1e-9)


def test_runs_end_with_the_right_support_and_need_more_than_the_calibrated_rule():
    calibrated = [drive(Challenger(confidence=0.95), EASY, seed).trials for seed in range(5)]
    searches = [drive(SURE, EASY, seed) for seed in range(5)]
    assert {search.recommend().support for search in searches} == {("arm0", "arm1")}
    assert np.mean(calibrated) < np.mean([search.trials for search in searches]) < 20 * np.mean(calibrated)


@pytest.mark.parametrize(("scale", "least", "most"), [(1.0, 0, 8), (0.2, 20, 40)])
def test_of_two_equal_arms_none_is_called_the_better_but_by_a_scale_that_is_too_small(scale, least, most):
    rng, looks, wrong = np.random.default_rng(5), np.array([10, 30, 100, 300]), 0
    for _ in range(40):
        trials = rng.normal(size=(2, looks[-1], 2))
        found = (conditions(trials[:, :n].mean(axis=1), np.ones(1), np.full(2, n), np.full(2, scale)) for n in looks)
        wrong += any(held.all_hold(0.2, edition=2) for _, held in found)
    assert least <= wrong <= most  # the theorem allows 20%, 8 of 40, and is cautious


def test_that_no_mix_keeps_the_limits_is_proven_too():
    never = Instance([1.0, 2.0], [[1.5, 1.8]], [1.0], sigma_reward=1.0, sigma_cost=1.0)
    search = drive(SURE, never, 0)
    assert not search.recommend().feasible
    assert search.trials < 20_000


def test_known_arms_have_no_noise():
    known = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=1.0, sigma_cost=1.0, known=1)
    assert drive(SURE, known, 1).recommend().support == tuple(
        known.arms[k] for k in np.flatnonzero(solve(known).mixture)
    )


def test_one_arm_alone_is_certain_at_once():
    assert drive(SURE, Instance([1.0], [[0.0]], [5.0], sigma_reward=1.0, sigma_cost=1.0), 0).trials < 1000


def test_it_knows_plain_problems_alone():
    with pytest.raises(ValueError, match="Challenger with proven knows one segment"):
        SURE.start(Problem(["a", "b"], limits=["share(a) <= 40%"]), budget=100)


def test_its_name_and_its_file():
    assert SURE.name == "Challenger[0.95, proven]"
    assert SURE.to_dict() == {**Challenger(confidence=0.95).to_dict(), "proven": True, "sigma": 1.0}


def test_mixtures_add_up_in_the_second_edition():
    def held(trials, edition):
        _, found = conditions(EASY.means, EASY.bound, np.full(3, trials), np.ones(2))
        return found.all_hold(0.05, edition)

    assert [(held(n, 1), held(n, 2)) for n in (50, 55, 60)] == [(False, False), (False, True), (True, True)]


def test_challenger_asks_its_own_edition():
    means, counts = EASY.means, 55
    scatter = counts * np.eye(2)
    told = Evidence(EASY.problem, [Moments.from_statistics(counts, row, scatter) for row in means])
    ended = [
        replace(SURE, edition=edition).close(told, 10**6, {"quota": None, "basis": [], "reasons": {}})[0]["quota"]
        for edition in (1, 2)
    ]
    assert sum(ended[0]) > 0
    assert ended[1] is None


def test_experiments_that_were_saved_before_keep_the_first_edition():
    assert restore_strategy(SURE.to_dict()) == SURE
    before = {key: value for key, value in SURE.to_dict().items() if key != "edition"}
    assert restore_strategy(before).edition == 1
    assert restore_strategy(before).to_dict() == before
    within = Challenger(confidence=0.95, tolerance=0.1, proven=True, sigma=1.0)
    assert "edition" not in within.to_dict()
    assert restore_strategy(within.to_dict()) == within


@pytest.mark.parametrize("edition", [8, 0, True, "5", None, [5], 4.5], ids=str)
def test_there_are_seven_editions(edition):
    with pytest.raises(ValueError, match="edition: expected 1, 2, 3, 4, 5, 6 or 7, got"):
        Challenger(confidence=0.95, proven=True, sigma=1.0, edition=edition)


@pytest.mark.parametrize("proven", ["yes", "", 1, None, [True]], ids=str)
def test_proven_is_true_or_false(proven):
    with pytest.raises(ValueError, match="proven: expected True or False, got"):
        Challenger(confidence=0.95, proven=proven, sigma=1.0)


@pytest.mark.parametrize("options", [{}, {"tolerance": 0.1}, {"proven": True, "sigma": 1.0}], ids=str)
@pytest.mark.filterwarnings("error")
def test_a_chance_of_error_is_a_number_whose_parts_are_numbers(options):
    with pytest.raises(ValueError, match="delta: expected a chance of at least 1e-200, got 5e-324; try 0"):
        Challenger(delta=5e-324, **options)
    search = Challenger(delta=1e-200, **options).start(EASY.problem, 1000)
    rng = np.random.default_rng(0)
    while owed := search.ask():
        for arm, count in owed.items():
            rows = EASY.draw(EASY.arms.index(arm), count, rng)
            search.tell(arm, rows[:, 0], rows[:, 1:])
    assert search.trials == 1000


@pytest.mark.parametrize("far", [0.0, 2e6, 1e9])
def test_a_known_arm_far_from_zero_is_as_near_as_one_at_zero(far):
    """In units of the noise it is the same distance; its direction passed for one without noise."""
    points, trials = np.array([[far - 0.1, 1.0], [far, 1.0]]), np.array([400.0, np.inf])
    found = proven_support.flatness(points, trials, np.array([1.0, 0.0]))
    assert found == pytest.approx(4.0, rel=1e-5)


ONE = np.array([[0.525, 0.1], [0.75, 0.55], [0.225, 0.3]]), [0.35]
TWO = np.array([[0.525, 0.1, 0.175], [0.75, 0.55, 0.15], [0.225, 0.3, 0.325], [0.9, 0.4, 0.7]]), [0.35, 0.35]
SLACK = ONE[0], [0.9]  # the limit does not bind: its unused part is in the basis
UNITS = [(1.0, 2.0**43, 1.0), (1.0, 2.0**-43, 1.0), (2.0**-43, 1.0, 2.0**43), (2.0**90, 2.0**43, 2.0**-43)]


def ended(means, bound, how, edition, unit):
    """Trials and support of a run on 0 and 1, where the metrics are told in such units."""
    unit = np.array(unit[: 1 + len(bound)])
    problem = Problem(
        [f"arm{k}" for k in range(len(means))], {f"cost{c}": b * unit[1 + c] for c, b in enumerate(bound)}
    )
    given = {name: 0.25 * u if how == "sigma" else (0, u) for name, u in zip(problem.metrics, unit, strict=True)}
    search = Challenger(confidence=0.95, proven=True, edition=edition, **{how: given}).start(problem, 6000)
    draws = [np.random.default_rng([0, arm]) for arm in range(len(means))]
    while owed := search.ask():
        for name, count in owed.items():
            arm = problem.arms.index(name)
            rows = (draws[arm].random((count, len(unit))) < means[arm]) * unit
            search.tell(name, rows[:, 0], rows[:, 1:])
    return search.trials, search.recommend().support


@pytest.mark.parametrize("edition", [3, 4, 5])
@pytest.mark.parametrize("how", ["sigma", "ranges"])
@pytest.mark.parametrize("case", [ONE, TWO, SLACK], ids=["one cost", "two costs", "a slack"])
def test_a_run_ends_at_the_same_trial_whatever_the_units_are(case, how, edition):
    usual = ended(*case, how, edition, (1.0, 1.0, 1.0))
    assert usual[0] < 6000
    for unit in UNITS:
        assert ended(*case, how, edition, unit) == usual


def test_bytes_and_terabytes_end_alike():
    """A cost of trillions once left its slack no exact point, and the run never ended."""
    found = []
    for most in (8.0, 8e12):
        problem = Problem(["a", "b"], {"bytes": most / 2})
        search = Challenger(confidence=0.95, proven=True, ranges={"reward": (0, 1), "bytes": (0, most)}).start(
            problem, 5000
        )
        rng = np.random.default_rng(0)
        while owed := search.ask():
            for name, count in owed.items():
                reward, cost = {"a": (0.2, 0.1), "b": (0.8, 0.2)}[name]
                rows = rng.random((count, 2)) < [reward, cost]
                search.tell(name, rows[:, 0].astype(float), rows[:, 1:] * most)
        found.append((search.trials, search.recommend().support))
    assert found[0] == found[1]
    assert found[0][0] < 1000


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(0, 2))
@settings(max_examples=100)
def test_distances_do_not_depend_on_units(seed, costs, known):
    """Known arms and slacks are exact whatever the scale is; with scales of one the quotients above are the check."""
    rng = np.random.default_rng(seed)
    means, bound, scale = rng.normal(size=(5, 1 + costs)), rng.normal(size=costs), rng.uniform(0.2, 2.0, 1 + costs)
    counts, unit = np.full(5 + costs, np.inf), 2.0 ** rng.integers(-99, 99, 1 + costs)
    counts[: 5 - known] = rng.uniform(5, 50, 5 - known)
    some = rng.choice(5 + costs, 2 + costs, replace=False)

    def found(means, bound, scale):
        columns = proven_support.columns_of(means, bound, proven_support.units(means, bound, scale))
        return flatness(columns[some], counts[some], np.append(np.sign(scale), 0.0))

    assert found(means * unit, bound * unit[1:], scale * unit) == found(means, bound, scale)
    plain = flatness(proven_support.columns_of(means, bound)[some], counts[some], np.append(scale, 0.0))
    assert found(means, bound, scale) == pytest.approx(plain, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("far", [1.0, 1e6, 1e12, 1e15])
def test_a_slack_is_exact_beside_a_known_arm_that_is_far_away(far):
    # w has no part on the cost, so that only the rewards differ: 100 (0.3 / 2)^2.
    points = np.array([[1.3, 0.2, 1.0], [1.0, far, 1.0], [0.0, 1.0, 0.0]])
    assert flatness(points, np.array([100.0, np.inf, np.inf]), np.array([2.0, 1.0, 0.0])) == pytest.approx(2.25)


def test_large_known_arms_do_not_make_others_pass_for_zero_and_rounding_errors_do():
    noisy, ones = np.array([[1.0, 2.0]]), np.ones(2)
    counts = np.array([9.0, np.inf, np.inf])
    assert flatness(np.vstack([noisy, [[1e15, 3.0], [1.0, 5.0]]]), counts, ones) == np.inf
    assert flatness(np.vstack([noisy, [[1e15, 0.0], [1e-17, 2e-17]]]), counts, ones) == pytest.approx(36.0)


@pytest.mark.parametrize("edition", [3, 4, 5])
@pytest.mark.parametrize(
    "sigma", [5e-324, 1e-300, {"reward": 0.5, "cost0": 1e-300}, {"reward": 0.0, "cost0": 0.5}], ids=str
)
@pytest.mark.filterwarnings("error")
def test_scales_of_nearly_nothing_serve(sigma, edition):
    noise = 0.0 if sigma == {"reward": 0.0, "cost0": 0.5} else 1e-3  # what varies is refused with a scale of 0
    instance = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=noise, sigma_cost=1e-3)
    search = drive(Challenger(confidence=0.95, proven=True, sigma=sigma, edition=edition), instance, 0)
    assert search.recommend().support == ("arm0", "arm1")
    assert search.trials < 100


def test_a_metric_and_its_tail_are_not_independent():
    goal, tail = "minimise seconds", "p(seconds > 2) <= 20%"
    apart, both = Problem(["a"], goal="minimise dollars", limits=[tail]), Problem(["a"], goal=goal, limits=[tail])
    assert proven_support.joint_scales(apart, 3.0, None).tolist() == [3.0, 0.5]
    assert proven_support.joint_scales(both, 3.0, None) == pytest.approx(np.array([3.0, 0.5]) * np.sqrt(2))
    assert proven_support.joint_scales(both, None, {"seconds": (0, 6)}) == pytest.approx(
        np.array([3.0, 0.5]) * np.sqrt(2)
    )
