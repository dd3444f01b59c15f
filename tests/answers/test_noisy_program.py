import numpy as np
import pytest
from tests.kernels.segment_states import KINDS, plain_case, random_case
from tests.kernels.states import SIZES, random_instance, told

from bestmix.answers import certainty, safety
from bestmix.answers.noisy_program import noisy_program, solve
from bestmix.kernels.layout import new_layout
from bestmix.problems.solution import solve_means

SUMS = ("truth", "means", "scatter", "counts")


@pytest.mark.parametrize("size", SIZES)
def test_one_segment_is_the_plain_problem(size):
    feasible = 0
    for seed in range(8):
        instance = random_instance(*size, seed)
        evidence = told(instance, np.random.default_rng(seed).integers(5, 60, size[1]), seed)
        plain, found = (
            solve_means(evidence.means, instance.bound),
            solve(plain_case(evidence, instance.bound).program(as_possible=True)),
        )
        assert found.feasible == plain.feasible
        if plain.feasible:
            feasible += 1
            np.testing.assert_allclose(found.weights, plain.mixture, atol=1e-12)
            np.testing.assert_allclose(found.prices, plain.dual, rtol=1e-9, atol=1e-12)
            np.testing.assert_allclose(found.slack, plain.slack, atol=1e-12)
            assert found.value == pytest.approx(plain.value)
            assert found.basis.tolist() == list(plain.basis)
            z = certainty.z_scores(evidence, plain)
            np.testing.assert_allclose(found.z, z, rtol=1e-9)
            assert found.chance == pytest.approx(certainty.support_probability(z), rel=1e-9)
    assert feasible >= 2


def test_columns_without_trials_are_not_used():
    case = random_case(np.random.default_rng(3), ("all segments", "share"))
    whole = solve(case.program())
    case.counts[np.argmax(whole.weights)] = 0.0
    found = solve(case.program())
    assert found.weights[case.counts == 0] == 0.0
    assert np.isnan(found.z[:11]).tolist() == (case.counts == 0).tolist()
    assert found.chance is None
    np.testing.assert_allclose(np.add.reduceat(found.weights, [0, 4, 7]), case.weight)


def test_columns_that_may_not_be_used_still_have_conditions():
    for seed in range(5):
        case = random_case(np.random.default_rng(seed), ("all segments", "relative"))
        whole = solve(case.program())
        if not whole.feasible:
            continue
        same = solve(case.program(), whole.weights > 0)
        np.testing.assert_allclose(same.weights, whole.weights, atol=1e-12)
        np.testing.assert_allclose(same.z, whole.z, rtol=1e-7)
        others = np.ones(11, dtype=bool)
        others[np.argmax(whole.weights)] = False
        less = solve(case.program(), others)
        assert less.weights[~others] == 0.0
        if less.feasible:
            assert less.value < whole.value
            assert less.z[:11][~others] < 0
            assert less.chance < 0.5
            return
    raise AssertionError("no case had a feasible mix of the others")


def test_limits_that_contradict_each_other_are_named():
    # At least 70% and at most 60% of the first arm; a third limit has nothing to do with it.
    constant = np.array([[-0.3, 0.4, -1.0], [0.7, -0.6, -1.0]])
    rows = new_layout([2], np.array([[[1.0], [0.0], [0.0], [0.0]]]), constant)
    found = solve(noisy_program(rows, np.ones(1), np.array([[1.0], [2.0]]), np.ones((2, 1, 1)), np.full(2, 9.0)))
    assert not found.feasible
    assert found.contradicts.tolist() == [True, True, False]
    assert np.abs(found.excess).sum() == pytest.approx(0.1)
    relaxed = rows._replace(right=found.excess + 1e-9)
    assert solve(
        noisy_program(relaxed, np.ones(1), np.array([[1.0], [2.0]]), np.ones((2, 1, 1)), np.full(2, 9.0))
    ).feasible


def test_before_any_trial_there_is_no_answer():
    case = random_case(np.random.default_rng(1))
    case.counts[:] = 0.0
    found = solve(case.program())
    assert (found.feasible, found.chance, found.weights.any()) == (False, None, False)


def test_what_is_given_takes_the_place_of_trials():
    case = random_case(np.random.default_rng(2), given=0.5)
    data = case.program().data
    given = ~np.isnan(case.rows.given)
    np.testing.assert_array_equal(data.means[given], case.truth[given])
    assert not data.covariances[given].any()
    whole = given[:, :2].all(axis=1)  # the third metric is read by no row
    assert whole.any()
    assert np.isinf(data.counts).tolist() == whole.tolist()


def test_what_is_given_does_not_make_the_other_columns_surer():
    case = random_case(np.random.default_rng(5))
    known = np.full(case.truth.shape, np.nan)
    known[0, 1] = case.truth[0, 1]
    some = case._replace(rows=case.rows._replace(given=known))
    assert case.counts[0] < case.counts.max()
    others = np.delete(some.program().data.covariances, 0, axis=0)
    expected = safety.estimates(case.means[1:], case.scatter[1:], case.counts[1:]).covariances
    np.testing.assert_allclose(others[:, 1, 1], expected[:, 1, 1])


def test_known_costs_make_the_answer_surer():
    more = 0
    for seed in range(10):
        case = random_case(np.random.default_rng(seed))
        case = case._replace(means=case.truth)
        known = case.truth.copy()
        known[:, [0, 2]] = np.nan
        sure = case._replace(rows=case.rows._replace(given=known))
        more += solve(sure.program()).chance > solve(case.program()).chance
    assert more >= 9


def halves(case):
    """The same problem with its first segment in two halves that have all of its trials each."""
    first, old = case.rows.sizes[0], case.rows
    moved = np.where(old.reference >= 0, old.reference + first, -1)
    rows = old._replace(
        sizes=np.r_[first, old.sizes],
        arm=np.r_[old.arm[:first], old.arm],
        constant=np.vstack([old.constant[:first], old.constant]),
        given=np.vstack([old.given[:first], old.given]),
        offset=np.r_[old.offset[:first], old.offset],
        transform=np.concatenate([old.transform[:1], old.transform]),
        reference=np.vstack([old.reference[:1], moved]),
    )
    weight = np.r_[case.weight[0] / 2, case.weight[0] / 2, case.weight[1:]]
    twice = {name: np.concatenate([getattr(case, name)[:first], getattr(case, name)]) for name in SUMS}
    return case._replace(rows=rows, weight=weight, **twice)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "one segment"])
def test_splitting_a_segment_into_equal_halves_changes_nothing(kind):
    compared = 0
    for seed in range(6):
        case = random_case(np.random.default_rng([KINDS.index(kind), seed]), (kind, "all segments"))
        one, two = solve(case.program()), solve(halves(case).program())
        assert one.feasible == two.feasible
        if one.feasible:
            compared += 1
            joined = two.weights[4:].copy()
            joined[:4] += two.weights[:4]
            np.testing.assert_allclose(joined, one.weights, atol=1e-9)
            np.testing.assert_allclose(two.prices, one.prices, rtol=1e-7, atol=1e-9)
            assert two.value == pytest.approx(one.value)
    assert compared >= 2


def test_two_segments_with_one_arm_each_are_a_fixed_mix():
    rows = new_layout([1, 1], np.tile(np.eye(2), (2, 1, 1)), np.full((2, 1), -1.0))
    means, scatter, counts = np.array([[1.0, 0.5], [3.0, 1.8]]), np.tile(9.0 * np.eye(2), (2, 1, 1)), np.full(2, 10.0)
    found = solve(noisy_program(rows, np.array([0.7, 0.3]), means, scatter, counts))
    assert found.weights.tolist() == [0.7, 0.3]
    assert found.value == pytest.approx(1.6)
    assert found.slack == pytest.approx([0.11])
    assert np.isinf(found.z[:2]).all()  # nothing to choose
    assert found.z[2] == pytest.approx(0.11 / np.sqrt((0.49 + 0.09) * 1.0 / 10))


def test_a_relative_limit_counts_the_noise_of_its_arm():
    # seconds <= 1.1 seconds(small), where the answer is the arm itself with a slack of a tenth of its seconds
    means = np.array([[1.0, 2.0], [0.5, 1.9]])
    relative = new_layout([2], np.eye(2)[None], np.zeros((2, 1)), reference=np.array([[0]]), factor=np.array([1.1]))
    scatter, counts = np.tile(9.0 * np.eye(2), (2, 1, 1)), np.full(2, 10.0)
    found = solve(noisy_program(relative, np.ones(1), means, scatter, counts))
    assert found.weights.tolist() == [1.0, 0.0]
    assert found.z[2] == pytest.approx(0.2 / (0.1 * np.sqrt(1.0 / 10)))
