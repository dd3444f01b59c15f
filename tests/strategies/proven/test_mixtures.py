"""The proof of a support: one joint mixture for each condition of a named basis, most of it on one side."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestmix.problems.solution import solve_means
from bestmix.strategies.proven import mixtures
from bestmix.strategies.proven.columns import columns_of
from bestmix.strategies.proven.mixtures import EITHER, RIGHT, WRONG, Mixture, Proof, Sums


def twice_log(mixture, trials, y, one_sided):
    """Of the integral of the mixture, from its definition."""
    weight = np.diag(trials)
    spread = np.linalg.inv(weight + mixture.precision)
    mean = spread @ (trials * y)
    found = y @ weight @ mean - np.log(np.linalg.det(weight + mixture.precision) / np.linalg.det(mixture.precision))
    if one_sided:
        z = mixture.side @ mean / math.sqrt(mixture.side @ spread @ mixture.side)
        found += 2 * math.log(EITHER + (1 - EITHER) * (1 + math.erf(z / math.sqrt(2))))
    return found


def one(mixture):
    return Mixture(mixture.arms[0], mixture.side[0], mixture.precision[0])


def case(seed, costs, known=0):
    """A program with an answer, trials since it was named, and its proof; None where there is no answer."""
    rng = np.random.default_rng(seed)
    scale, bound, means = rng.uniform(0.2, 2.0, 1 + costs), np.zeros(costs), rng.normal(size=(5, 1 + costs))
    solution, unknown = solve_means(means, bound), 5 - known
    if not solution.feasible or len(solution.basis) != 1 + costs:
        return None
    before = rng.uniform(1, 30, unknown)
    counts = before * rng.uniform(0.5, 30, unknown)
    named = means.copy()
    named[:unknown] += rng.normal(size=(unknown, 1 + costs)) * scale / np.sqrt(before)[:, None]
    trials = np.full((2, 5 + costs), np.inf)
    trials[:, :unknown] = before, counts
    of = columns_of(named, bound), trials[0], columns_of(means, bound), trials[1]
    return rng, means, bound, Proof(sorted(int(j) for j in solution.basis), *of, scale)


def failing(proof, truth, bound):
    """What of a basis fails at a truth, as the theorem says it: a column, and (w, -v) with w.x_a = v but for one."""
    columns = columns_of(truth, bound)
    matrix = columns[proof.basis, 1:]
    inverse = np.linalg.inv(matrix)
    weights = inverse[-1]
    for i, row in zip(proof.basis, range(len(weights)), strict=True):
        if weights[row] <= 0:
            return i, np.r_[0.0, inverse[:, row]], columns
    plane = np.r_[1.0, -inverse @ columns[proof.basis, 0]]
    for j in range(len(columns)):
        if j not in proof.basis and columns[j] @ plane >= 0:
            return j, plane, columns
    return None


@given(st.integers(0, 2**32 - 1), st.integers(0, 2), st.integers(0, 2), st.floats(0.0, 3.0))
@settings(max_examples=300)
def test_no_truth_at_which_the_basis_is_wrong_has_a_smaller_mixture_than_the_evidence(seed, costs, known, far):
    made = case(seed, costs, known)
    if made is None:
        return
    rng, means, bound, proof = made
    truth = means.copy()
    truth[: 5 - known] += far * rng.normal(size=(5 - known, 1 + costs)) / np.sqrt(rng.uniform(1, 30))
    found = failing(proof, truth, bound)
    if found is None:
        return
    j, plane, columns = found
    mixture = one(proof.mixture([j]))
    size = math.sqrt((proof.scale**2) @ (plane[:-1] ** 2))
    if size == 0.0:
        return
    y = (proof.columns - columns)[mixture.arms] @ plane / size
    one_sided = j not in proof.basis and mixture.side.any()
    exact = twice_log(mixture, proof.counts[mixture.arms], y, one_sided)
    assert proof.evidence()[j] <= exact + 1e-6 * max(abs(exact), 1.0)


def test_the_evidence_is_attained_where_the_rival_moves_to_the_hyperplane():
    # One metric, two arms: the nearest truth has both at the same reward, and the side is clear there.
    counts, before = np.array([400.0, 200.0]), np.array([40.0, 20.0])
    means = np.array([[1.0], [0.3]])
    found = mixtures.evidence([0], before, means, counts, means, np.empty(0), np.ones(1))
    proof = Proof([0], columns_of(means, np.empty(0)), before, columns_of(means, np.empty(0)), counts, np.ones(1))
    mixture = one(proof.mixture([1]))
    places = np.linspace(0.0, 1.3, 2001)
    least = min(twice_log(mixture, counts, means[:, 0] - v, one_sided=True) for v in places)
    assert found[0] == math.inf  # without a limit a single arm has the weight one
    assert least - 0.05 < found[1] <= least  # the side counts as known from a z-score of 2 on


def test_the_mixture_is_wide_along_the_failing_of_its_condition_and_narrow_across():
    before = np.array([40.0, 20.0])
    columns = columns_of(np.array([[1.0], [0.3]]), np.empty(0))
    mixture = one(Proof([0], columns, before, columns, before, np.ones(1)).mixture([1]))
    assert mixture.side.tolist() == [1.0, -1.0]
    variance = np.linalg.inv(mixture.precision)
    root = np.sqrt(before)[:, None] * variance * np.sqrt(before)
    assert np.linalg.eigvalsh(root) == pytest.approx([mixtures.ACROSS, mixtures.ALONG])


def test_arms_that_are_left_out_are_where_the_form_is_smallest():
    rng = np.random.default_rng(2)
    half = rng.normal(size=(3, 3))
    sums = Sums.of(Mixture(np.arange(3), np.ones(3), half @ half.T), np.array([3.0, 5.0, 8.0]))
    y = rng.normal(size=2)
    third = -(sums.form[2, :2] @ y) / sums.form[2, 2]
    assert np.sum((sums.root([0, 1]) @ y) ** 2) == pytest.approx(np.r_[y, third] @ sums.form @ np.r_[y, third])


def test_a_plane_on_the_other_side_has_what_is_left_for_either():
    """The mixture expects the side of the naming."""
    counts, before, bound = np.array([400.0, 400.0]), np.array([40.0, 40.0]), np.empty(0)
    columns = columns_of(np.array([[1.0], [0.3]]), bound)
    proof = Proof([0], columns, before, columns, counts, np.ones(1))
    sums = Sums.of(proof.mixture([1]), counts[None])
    rows, exact = columns[None, [0, 1]], np.empty((0, 2))
    right, wrong = (proof._one_sided(rows, sums.root([0, 1]), exact, side * sums.z)[0] for side in (1.0, -1.0))
    assert right - wrong == pytest.approx(RIGHT - WRONG)
    assert math.exp(RIGHT / 2) == pytest.approx(1.9, abs=0.05)
