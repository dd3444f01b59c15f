"""Conditions of programs of segments: against simulation, and against the plain program's."""

from typing import NamedTuple

import numpy as np
import pytest
from tests.kernels.segment_problems import Data, loaded, outcome
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

    def entries(self, means):
        """Objective (..., n) and limits (..., n, R) for means (..., n, M)."""
        shape = means.shape[:-2]
        entries = np.einsum("srm,...sam->...sar", self.noise.transform, means.reshape(*shape, SEGMENTS, ARMS, METRICS))
        rows = entries[..., 1:] + self.constant
        for s, r in np.argwhere(self.noise.reference >= 0):
            reference = means[..., self.noise.reference[s, r], :] @ self.noise.transform[s, 1 + r]
            rows[..., s, :, r] -= self.noise.factor[r] * reference[..., None]
        return entries[..., 0].reshape(*shape, -1), rows.reshape(*shape, SEGMENTS * ARMS, -1)

    def data(self):
        mu, rows = self.entries(self.means)
        return Data(np.full(SEGMENTS, ARMS), self.weight, mu, rows, np.zeros(rows.shape[1]), self.equality)

    def estimates(self, rng):
        """(objective, limits, shares) as ``DRAWS`` experiments estimate them."""
        root = np.linalg.cholesky(self.noise.covariance / TRIALS)
        means = self.means + np.einsum("nij,dnj->dni", root, rng.normal(size=(DRAWS, *self.means.shape)))
        weight = np.broadcast_to(self.weight, (DRAWS, SEGMENTS))
        if self.noise.arrivals:
            weight = rng.multinomial(int(self.noise.arrivals), self.weight, DRAWS) / self.noise.arrivals
        return *self.entries(means), weight


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


def columns_of(mu, rows):
    """Objective (..., n + R) and all rows (..., S + R, n + R) of the columns and slacks, not scaled."""
    n, limits = rows.shape[-2:]
    every = np.zeros((*rows.shape[:-2], SEGMENTS + limits, n + limits))
    every[..., :SEGMENTS, :n] = np.repeat(np.eye(SEGMENTS), ARMS, axis=1)
    every[..., SEGMENTS:, :n] = np.swapaxes(rows, -1, -2)
    every[..., SEGMENTS:, n:] = np.eye(limits)
    return np.concatenate([mu, np.zeros((*mu.shape[:-1], limits))], axis=-1), every


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
    n, limits = program.rows.shape
    variance, unit = np.empty(n + 3 * limits), np.r_[np.ones(n), program.scale[2:]]
    variances(program, conditions, np.full(n, TRIALS), variance)
    basis = np.r_[program.key, program.basis]
    reduced, weights, possible = simulated(case, basis, rng)
    for j in range(n + limits):
        if j in basis:
            i = basis.tolist().index(j)
            kind, expected = "primal", weights[i] / unit[j]
            if not possible[i]:
                assert conditions.row[j] < 0
                continue
        else:
            kind, expected = "dual", reduced[j] * unit[j] / program.scale[1]
        if np.isfinite(conditions.gap[j]) and expected > 1e-12:
            assert np.sqrt(variance[j]) == pytest.approx(expected, rel=0.03)
            compared[kind] += 1


def simulated(case, basis, rng):
    """Standard deviations of reduced costs and of weights near zero; which weights can be zero."""
    _, every = columns_of(*case.entries(case.means))
    matrix, right = every[:, basis], np.r_[case.weight, np.zeros(len(case.equality))]
    noisy = np.r_[np.zeros(SEGMENTS, dtype=bool), ~case.noise.known]
    x = np.linalg.solve(matrix, right)
    mixes = [mix_at_zero(x, i, matrix[~noisy]) for i in range(len(basis))]
    shift = np.array([np.zeros(len(right)) if p is None else np.where(noisy, matrix @ p - right, 0.0) for p in mixes])
    mu, rows, weight = case.estimates(rng)
    mu, every = columns_of(mu, rows)
    inverse = np.linalg.inv(every[:, :, basis])
    prices = np.einsum("db,dbr->dr", mu[:, basis], inverse)
    reduced = np.einsum("dr,drj->dj", prices, every) - mu
    right = np.concatenate([weight, np.zeros((DRAWS, len(case.equality)))], axis=1)
    weights = np.einsum("dir,dir->di", inverse, right[:, None] + shift)
    return reduced.std(axis=0), weights.std(axis=0), [p is not None for p in mixes]


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
    noise = Noise(
        np.eye(1 + costs)[None], evidence.support_estimates.covariances, none.astype(bool), reference, none, 0.0
    )
    set_conditions(program, noise, conditions)
    return program, conditions


def test_a_change_of_basis_that_keeps_the_answer_does_not_count():
    # The limit of 30% on the first arm is just what the first segment uses of it: a zero slack without noise. Where
    # the second segment would rather have that arm too, the limit binds, and the answer stays.
    rows = np.array([[0.7], [-0.3], [0.7], [-0.3]])
    mu = np.array([1.0, 0.0, 0.5, 0.51])
    data = Data(np.array([2, 2]), np.array([0.3, 0.7]), mu, rows, np.zeros(1), np.zeros(1, dtype=bool))
    program, conditions = loaded(data), new_conditions(4, 1)
    assert bounding.maximise(program) == simplex.OPTIMAL
    transform = np.zeros((2, 2, 1))
    transform[:, 0, 0] = 1.0
    noise = Noise(transform, np.ones((4, 1, 1)), np.array([True]), np.full((2, 1), -1), np.zeros(1), 0.0)
    set_conditions(program, noise, conditions)
    counts = np.full(4, 200)
    z = segment_conditions.z_scores(program, conditions, counts)
    assert z[[1, 2]] == pytest.approx([10.0, 0.1])  # in standard errors of 0.1
    assert conditions.harmless.tolist() == [j == 2 for j in range(7)]
    assert segment_conditions.chance(program, conditions, counts) > 0.999
    mixtures = []
    for seed in range(50):
        drawn = loaded(data._replace(mu=mu + np.random.default_rng(seed).normal(size=4) / np.sqrt(200)))
        bounding.maximise(drawn)
        mixtures.append(outcome(drawn)[0])
    np.testing.assert_allclose(mixtures, np.tile([0.3, 0.0, 0.0, 0.7], (50, 1)), atol=1e-12)
