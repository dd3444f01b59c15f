import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from bestmix.kernels import conditions, simplex, tracking

# The environments of Das and Basu (setup 1) and of Carlsson and others: the third arm's reward varies.
ROWS = np.array([[1.0, 1.0, 0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0, 1.0, 0.0]])
HALVES = np.array([0.5, 0.5])


def rewards(third):
    return np.array([1.5, 1.0, third, 0.4, 0.3, 0.2])


def sides_of(reward, rows, bound, noise=1.0, tolerance=0.0):
    means = np.column_stack([reward, rows.T])
    state = conditions.new_state(len(reward), len(reward), len(bound))
    assert conditions.solve(means, bound, np.arange(len(reward) + len(bound)), state) == simplex.OPTIMAL
    sides = tracking.facets(state.program, state.basis, state.scale, noise, len(reward), tolerance)
    return sides, np.ascontiguousarray(state.program.u[: len(reward)])


def characteristic_time(reward, rows, bound, restricted=False):
    sides, excess = sides_of(reward, rows, bound)
    share = np.full(len(reward), 1 / len(reward))
    tracking.spread_out(sides, excess if restricted else excess[:, :0], share)
    return 1 / tracking.nearest(sides, share)[1], share


def best_arm_time(reward):
    return characteristic_time(reward, np.empty((0, len(reward))), np.empty(0))[0]


def vertices(rows, bound):
    """All mixes that are vertices of the feasible set, by trying every choice of active constraints."""
    size = rows.shape[1]
    matrix, right = np.vstack([rows, -np.eye(size)]), np.r_[bound, np.zeros(size)]
    found = []
    for active in itertools.combinations(range(len(right)), size - 1):
        system = np.vstack([matrix[list(active)], np.ones(size)])
        if abs(np.linalg.det(system)) > 1e-9:
            mix = np.linalg.solve(system, np.r_[right[list(active)], 1.0])
            if (matrix @ mix <= right + 1e-9).all() and not any(np.allclose(mix, other) for other in found):
                found.append(mix)
    return found


def naive_distance(reward, rows, bound, share):
    """Smallest distance to rewards at which any other vertex is as good as the best one."""
    mixes = vertices(rows, bound)
    best = max(mixes, key=lambda mix: mix @ reward)
    ways = [best - mix for mix in mixes if not np.allclose(mix, best)]
    return min((way @ reward) ** 2 / (2 * (way**2 / share).sum()) for way in ways)


def test_two_arms_have_the_known_characteristic_time():
    time, share = characteristic_time(np.array([1.0, 0.6]), np.empty((0, 2)), np.empty(0))
    assert time == pytest.approx(8 / 0.4**2)
    assert share == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("third", [0.5, 0.9, 1.3])
def test_the_nearest_facet_is_the_nearest_other_vertex(third):
    rng = np.random.default_rng(0)
    sides, _ = sides_of(rewards(third), ROWS, HALVES)
    for _ in range(20):
        share = rng.dirichlet(np.ones(6))
        expected = naive_distance(rewards(third), ROWS, HALVES, share)
        assert tracking.nearest(sides, share)[1] == pytest.approx(expected)


def test_random_programs_have_the_distances_of_their_vertices():
    rng = np.random.default_rng(1)
    for _ in range(20):
        reward, rows = rng.normal(size=5), rng.uniform(0, 2, (2, 5))
        if linprog(-reward, A_ub=rows, b_ub=[1, 1], A_eq=np.ones((1, 5)), b_eq=[1]).status:
            continue
        sides, _ = sides_of(reward, rows, np.ones(2))
        share = rng.dirichlet(np.ones(5))
        expected = naive_distance(reward, rows, np.ones(2), share)
        assert tracking.nearest(sides, share)[1] == pytest.approx(expected)


def test_limits_make_the_hard_environment_harder_than_the_best_arm_and_the_easy_one_easier():
    """Observation 2 of Das and Basu, section 5; the figures are of SLSQP from several starts on the naive distance."""
    hard, easy = (characteristic_time(rewards(third), ROWS, HALVES, restricted=True) for third in (0.5, 1.3))
    assert hard[0] == pytest.approx(1714.2, rel=1e-3)
    assert hard[0] > best_arm_time(rewards(0.5))
    assert easy[0] == pytest.approx(64.0, rel=1e-3)
    assert easy[0] < best_arm_time(rewards(1.3))
    for _, share in (hard, easy):
        assert (ROWS @ share <= HALVES + 1e-3).all()


# Rewards, costs and bounds of figures 8 and 4 of Carlsson and others, and of their tutorial; and the trials that shares
# within the limits take at least, in units of log(1 / delta) for small delta, by SLSQP from several starts.
EIGHT = (
    np.array([2.0, 1.5, 1.45, 0.5, 0.3, -1.0, -1.0]),
    np.array([[4.0, 1, 0, 0, 0, 0, 0], [0, 1, 2, 0, 0, 0, 0]]),
    np.array([0.7, 0.5]),
)
FOUR = np.array([1, 0.7, 0.3, 0, -0.5, -1, -2, -3.0]), np.array([[7.0, 7, 1, 0, 0, 0, 0, 0]]), np.array([0.5])
TUTORIAL = np.array([0.92, 0.91, 0.8]), np.array([[5.0, 1, 0]]), np.array([0.5])


@pytest.mark.parametrize(("instance", "expected"), [(EIGHT, 586.34), (FOUR, 425.96), (TUTORIAL, 1408.76)])
def test_shares_within_the_limits_keep_them_and_are_the_best_of_these(instance, expected):
    time, share = characteristic_time(*instance, restricted=True)
    assert time == pytest.approx(expected, rel=1e-3)
    assert (instance[1] @ share <= instance[2] + 1e-5).all()


def test_random_programs_have_shares_within_their_limits():
    """One to three limits; no random shares that keep them are better."""
    rng, found = np.random.default_rng(4), 0
    while found < 30:
        arms, limits = rng.integers(3, 8), rng.integers(1, 4)
        reward, rows, bound = rng.normal(size=arms), rng.uniform(0, 2, (limits, arms)), np.ones(limits)
        if linprog(-reward, A_ub=rows, b_ub=bound, A_eq=np.ones((1, arms)), b_eq=[1]).status:
            continue
        found += 1
        sides, excess = sides_of(reward, rows, bound)
        share = np.full(arms, 1 / arms)
        tracking.spread_out(sides, excess, share)
        assert (share @ excess).max() < 1e-4
        others = rng.dirichlet(np.ones(arms), 3000)
        kept = others[(others @ excess <= 0).all(axis=1)]
        assert all(tracking.nearest(sides, other)[1] <= 1.01 * tracking.nearest(sides, share)[1] for other in kept)


def test_the_lower_bounds_that_are_drawn_in_the_paper_on_known_constraints():
    """T kl(delta, 1 - delta) of Carlsson and others, read off figures 8a (delta 1e-4) and 3c (best arm, delta 0.1)."""

    def trials(time, delta):
        return time * (1 - 2 * delta) * np.log((1 - delta) / delta)

    assert trials(characteristic_time(*EIGHT)[0], 1e-4) == pytest.approx(4514.3, rel=0.002)
    assert trials(best_arm_time(np.array([1.0, 0.5, 0.4, 0.4, 0.5])), 0.1) == pytest.approx(109.0, rel=0.002)


@pytest.mark.parametrize(
    ("means", "expected"), [([0.5, 0.9, 0.4, 0.45, 0.44999], 422.37), ([1.0, 0.8, 0.75, 0.7], 1264.37)]
)
def test_best_arm_times_are_those_printed_for_top_two(means, expected):
    """Shang and others (AISTATS 2020), figure 1: trials T log(1 / delta) of an oracle at delta 0.01."""
    assert best_arm_time(np.array(means)) * np.log(100) == pytest.approx(expected, rel=1e-4)


def test_limits_get_easier_with_the_third_arm_and_the_best_arm_is_hardest_where_two_are_alike():
    """Observation 1 of Das and Basu, section 5."""
    thirds = [0.5, 0.7, 0.9, 1.1, 1.3, 1.45, 1.8, 2.2]
    limited = [characteristic_time(rewards(third), ROWS, HALVES)[0] for third in thirds]
    assert limited == sorted(limited, reverse=True)
    free = [best_arm_time(rewards(third)) for third in thirds]
    assert np.argmax(free) == thirds.index(1.45)


def test_a_tolerance_moves_every_facet_away():
    near, far = (tracking.nearest(sides_of(rewards(0.5), ROWS, HALVES, 1.0, r)[0], np.ones(6) / 6) for r in (0, 0.1))
    assert far[1] > near[1]


def test_the_game_comes_ever_nearer_to_the_shares_of_the_program():
    sides, excess = sides_of(rewards(1.3), ROWS, HALVES)
    tracker, counts = tracking.new_tracker(6), np.full(6, 10**9)
    total, times = np.zeros(6), {}
    for step in range(1, 3001):
        tracking.ascend(sides, excess[:, :0], np.inf, 1.0, counts, tracker)
        total += tracker.share
        times[step] = 1 / tracking.nearest(sides, total / step)[1] if step in (300, 1000, 3000) else 0.0
    best = characteristic_time(rewards(1.3), ROWS, HALVES)[0]
    assert times[300] > times[1000] > times[3000] > best
    assert times[3000] < 1.2 * best


def test_gains_are_optimistic_divergences():
    """Two arms with means 1 and 0: evenly tried, both are confused at 1/2; U_a = (1/2 + sqrt(2 g / N_a))^2 / 2."""
    sides, excess = sides_of(np.array([1.0, 0.0]), np.zeros((0, 2)), np.zeros(0))
    tracker, counts = tracking.new_tracker(2), np.array([50, 8])
    tracking.ascend(sides, excess, np.inf, 4.0, counts, tracker)
    np.testing.assert_allclose(np.sqrt(tracker.curvature), (0.5 + np.sqrt(8.0 / counts)) ** 2 / 2)


def test_the_game_with_multipliers_keeps_the_limits_nearly():
    sides, excess = sides_of(rewards(0.5), ROWS, HALVES)
    tracker, total = tracking.new_tracker(6), np.zeros(6)
    for step in range(2000):
        tracking.ascend(sides, excess, 0.02, 1.0, np.full(6, 10**9), tracker)
        total += tracker.share if step >= 1000 else 0.0
    assert (ROWS @ (total / total.sum()) <= HALVES + 0.05).all()


def test_projection_is_the_nearest_point():
    rng = np.random.default_rng(2)
    point, stiff, share = rng.normal(size=4), rng.uniform(0.5, 2, 4), np.empty(4)
    tracking.project(point, stiff, share)
    far = (stiff * (share - point) ** 2).sum()
    others = rng.dirichlet(np.ones(4), size=2000)
    assert share.sum() == pytest.approx(1)
    assert far <= (stiff * (others - point) ** 2).sum(axis=1).min() + 1e-6


def test_trials_follow_the_sum_of_the_shares_and_forget_no_arm():
    tracker, counts, owed = tracking.new_tracker(3), np.full(3, 5), np.empty(3, dtype=np.int64)
    tracker.share[:] = 0.6, 0.4, 0.0
    tracking.follow(tracker, counts, 1000, owed)
    assert owed.sum() == 1000
    assert np.abs(counts + owed - tracker.total).max() < 20
    assert owed[2] > 10


def test_new_trackers_and_those_that_restart_are_alike():
    tracker = tracking.new_tracker(3)
    tracker.share[:], tracker.total[:], tracker.curvature[:] = 0.0, 7.0, 8.0
    tracking.restart(tracker)
    for values, expected in zip(tracker, tracking.new_tracker(3), strict=True):
        np.testing.assert_array_equal(values, expected)
