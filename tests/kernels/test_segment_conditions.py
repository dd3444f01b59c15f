"""Conditions of programs of segments: against simulation, and against the plain program's."""

from typing import NamedTuple

import numpy as np
import pytest
from tests.kernels.segment_problems import Data, loaded
from tests.kernels.states import SIZES, decided, random_instance, told

from bestmix import Instance, solve
from bestmix.answers.certainty import z_scores
from bestmix.kernels import bounding, segment_conditions, simplex
from bestmix.kernels.segment_conditions import Noise, new_conditions, set_conditions, variances

TRIALS = 40_000  # of each column: so many that gaps are linear in the noise
DRAWS = 20_000
SEGMENTS, ARMS, METRICS = 4, 5, 3
KINDS = ("all segments", "one segment", "ratio", "share", "relative", "equality")


class Case(NamedTuple):
    """A random problem: means of the metrics, and how limits are made of them."""

    means: np.ndarray
    noise: Noise
    constant: np.ndarray
    equality: np.ndarray
    weight: np.ndarray

    def data(self, means=None, weight=None):
        means, weight = self.means if means is None else means, self.weight if weight is None else weight
        sizes = np.full(SEGMENTS, ARMS)
        entries = np.einsum("srm,sam->sar", self.noise.transform, means.reshape(SEGMENTS, ARMS, METRICS))
        rows = entries[:, :, 1:] + self.constant
        for s, r in np.argwhere(self.noise.reference >= 0):
            reference = means[self.noise.reference[s, r]] @ self.noise.transform[s, 1 + r]
            rows[s, :, r] -= self.noise.factor[r] * reference
        flat = rows.reshape(SEGMENTS * ARMS, -1)
        return Data(sizes, weight, entries[:, :, 0].ravel(), flat, np.zeros(flat.shape[1]), self.equality)


def random_case(rng, kinds, arrivals):
    n, limits = SEGMENTS * ARMS, len(kinds)
    half = rng.normal(size=(n, METRICS, METRICS))
    transform, constant = np.zeros((SEGMENTS, 1 + limits, METRICS)), np.zeros((SEGMENTS, ARMS, limits))
    reference, factor = np.full((SEGMENTS, limits), -1), np.zeros(limits)
    transform[:, 0, 0] = 1.0
    for r, kind in enumerate(kinds):
        where = [rng.integers(SEGMENTS)] if kind == "one segment" else range(SEGMENTS)
        for s in where:
            if kind == "share":
                constant[s, :, r] = (np.arange(ARMS) == 1) - 0.3
                continue
            transform[s, 1 + r, 1] = 1.0
            if kind == "ratio":
                transform[s, 1 + r, 2] = -0.4
            elif kind == "relative":
                reference[s, r], factor[r] = s * ARMS, 0.8
            else:
                constant[s, :, r] = -0.1
    noise = Noise(
        transform, half @ half.transpose(0, 2, 1), np.array([k == "share" for k in kinds]), reference, factor, arrivals
    )
    equality = np.array([kind == "equality" for kind in kinds])
    means = rng.normal(size=(n, METRICS))
    means[:, 0] += 0.5 * means[:, 1]  # what pays more costs more, so that limits bind
    return Case(means, noise, constant, equality, rng.dirichlet(np.full(SEGMENTS, 5.0)))


def solved(case):
    """(program, conditions) or None when infeasible."""
    program = loaded(case.data())
    if bounding.maximise(program) != simplex.OPTIMAL:
        return None
    result = new_conditions(*program.rows.shape)
    set_conditions(program, case.noise, result)
    return program, result


def columns_of(data, basis):
    """Objective (B,) and all rows (S + R, B) of basic columns, not scaled."""
    n, limits = data.rows.shape
    every = np.zeros((len(data.sizes) + limits, n + limits))
    every[:, :n] = np.vstack([data.totals, data.rows.T])
    every[len(data.sizes) :, n:] = np.eye(limits)
    return np.r_[data.mu, np.zeros(limits)][basis], every[:, basis], every


def draws(case, rng):
    """Programs whose means and shares are estimates."""
    root = np.linalg.cholesky(case.noise.covariance / TRIALS)
    for _ in range(DRAWS // 10):
        means = case.means + np.einsum("nij,nj->ni", root, rng.normal(size=case.means.shape))
        weight = case.weight
        if case.noise.arrivals:
            weight = rng.multinomial(int(case.noise.arrivals), case.weight) / case.noise.arrivals
        yield case.data(means, weight)


def mix_at_zero(x, i, known):
    """The weights where x_i is zero, by NumPy's pseudo-inverse; None where the known rows forbid it."""
    root = np.sqrt(np.maximum(x, 0.0))
    root[i] = 0.0
    t = root * (np.linalg.pinv(known * root) @ known[:, i])
    if np.abs(known @ t - known[:, i]).max() > 1e-8:
        return None
    mix = x + x[i] * t
    mix[i] = 0.0
    return mix


@pytest.mark.parametrize("arrivals", [0.0, 1e7])
@pytest.mark.parametrize("kind", KINDS)
def test_standard_errors_are_those_of_simulated_estimates(kind, arrivals):
    compared = {"dual": 0, "primal": 0}
    for seed in range(4):
        rng = np.random.default_rng([KINDS.index(kind), seed])
        case = random_case(rng, (kind, "all segments", "share") if seed % 2 else (kind,), arrivals)
        found = solved(case)
        if found is not None:
            compare(case, *found, rng, compared)
    assert compared["dual"] > 20
    assert compared["primal"] > 1


def compare(case, program, conditions, rng, compared):
    """Standard deviations of all gaps: formula against simulation with the basis kept."""
    data = case.data()
    n, limits = data.rows.shape
    basis = np.r_[program.key, program.basis]
    _, matrix, _ = columns_of(data, basis)
    right = np.r_[data.weight, data.right]
    x, noisy = np.linalg.solve(matrix, right), np.r_[np.zeros(SEGMENTS, dtype=bool), ~case.noise.known]
    mixes = [mix_at_zero(x, i, matrix[~noisy]) for i in range(len(basis))]
    shift = [np.where(noisy, 0.0 if p is None else matrix @ p - right, 0.0) for p in mixes]  # to where x_i is zero
    gaps, weights = [], []
    for drawn in draws(case, rng):
        mu, inside, every = columns_of(drawn, basis)
        inverse = np.linalg.inv(inside)
        gaps.append((mu @ inverse) @ every - np.r_[drawn.mu, np.zeros(limits)])
        here = np.r_[drawn.weight, drawn.right]
        weights.append([inverse[i] @ (here + shift[i]) for i in range(len(basis))])
    variance = np.empty(n + 3 * limits)
    variances(program, conditions, np.full(n, TRIALS), variance)
    unit = np.r_[np.full(n, 1.0), program.scale[2:]]
    for j in range(n + limits):
        if j in basis:
            i = basis.tolist().index(j)
            if conditions.row[j] < 0 or mixes[i] is None:
                assert conditions.row[j] < 0 or variance[j] == 0.0 or np.std(weights, axis=0)[i] == pytest.approx(0.0)
                continue
            expected, kind = np.std(weights, axis=0)[i] / unit[j], "primal"
        else:
            expected, kind = np.std(gaps, axis=0)[j] * (1.0 if j < n else unit[j]) / program.scale[1], "dual"
        if np.isfinite(conditions.gap[j]) and expected > 1e-12:
            assert np.sqrt(variance[j]) == pytest.approx(expected, rel=0.06)
            compared[kind] += 1


@pytest.mark.parametrize("size", SIZES)
def test_one_segment_has_the_z_scores_of_the_plain_program(size):
    arms, unknown, costs = size
    compared = 0
    for seed in range(8):
        instance = random_instance(*size, seed)
        evidence = told(instance, np.random.default_rng(seed).integers(5, 60, unknown), seed)
        plain = solve(Instance(evidence.means[:, 0], evidence.means[:, 1:].T, instance.bound))
        program, conditions = one_segment(evidence, instance.bound)
        counts = np.r_[evidence.counts, np.ones(arms - unknown, dtype=np.int64)]
        if plain.feasible:
            ours = segment_conditions.z_scores(program, conditions, counts)[: arms + costs]
            theirs = z_scores(evidence, plain)
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
            compared += 1
        elif costs == 1:  # with one cost the plain program has the same elastic column
            np.testing.assert_allclose(conditions.gap[:arms], decided(evidence).gap[:arms], rtol=1e-7)
    assert compared >= 2


def one_segment(evidence, bound):
    """(program, conditions) of the plain problem."""
    arms, costs = len(evidence.means), len(bound)
    means = evidence.means
    data = Data(
        np.array([arms]), np.ones(1), means[:, 0], means[:, 1:] - bound, np.zeros(costs), np.zeros(costs, dtype=bool)
    )
    program, conditions = loaded(data), new_conditions(arms, costs)
    bounding.maximise(program)
    reference, none = np.full((1, costs), -1), np.zeros(costs)
    noise = Noise(np.eye(1 + costs)[None], evidence.covariances, none.astype(bool), reference, none, 0.0)
    set_conditions(program, noise, conditions)
    return program, conditions


def test_a_change_of_basis_that_keeps_the_answer_does_not_count():
    # The share limit of 30% is that of the first segment, where its arm is alone: a zero slack without noise.
    rows = np.array([[0.7], [-0.3], [-0.3]])
    data = Data(
        np.array([1, 2]), np.array([0.3, 0.7]), np.array([1.0, 1.0, 0.9]), rows, np.zeros(1), np.zeros(1, dtype=bool)
    )
    program, conditions = loaded(data), new_conditions(3, 1)
    assert bounding.maximise(program) == simplex.OPTIMAL
    transform = np.zeros((2, 2, 1))
    transform[:, 0, 0] = 1.0
    noise = Noise(transform, np.ones((3, 1, 1)), np.array([True]), np.full((2, 1), -1), np.zeros(1), 0.0)
    set_conditions(program, noise, conditions)
    counts = np.full(3, 100)
    z = segment_conditions.z_scores(program, conditions, counts)
    expected = 0.1 / np.sqrt(2 / 100)
    assert z[2] == pytest.approx(expected)
    assert not conditions.harmless[2]
    assert segment_conditions.chance(program, conditions, counts) == pytest.approx(0.760, abs=1e-3)
