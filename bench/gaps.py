"""Gaps of an instance with 24 arms and two costs, against brute force in the paper's own variables.

Brute force is SciPy's SLSQP on the moved means with the paper's constraints, from four random starts for every basis.
It is timed on a sample of the bases and scaled to all of them. Times are of the processor, so that others on the
machine do not count.
"""

import time

import numpy as np
from scipy.optimize import minimize

from bench import routines
from bench.timing import Figure, shown
from bestmix import catalog, gaps
from bestmix.problems.instance import Instance
from bestmix.theory.gaps.hyperplanes import basis_weights

TITLE = "gaps: 24 arms, two costs (D3P), one core"
STARTS = 4
SAMPLE = 24


def measure(quick: bool) -> list[Figure]:
    instance = catalog.load("A1" if quick else "D3P")
    gaps(instance)  # compiles
    every, arms = (_fastest(instance, bases, 1 if quick else 3) for bases in (True, False))
    found = gaps(instance)
    rivals = [basis for basis in found.bases or {} if basis != found.basis]
    sample = np.random.default_rng(0).permutation(len(rivals))[: 4 if quick else SAMPLE]
    start = time.process_time()
    brute = [_brute(instance, found.basis, rivals[r]) for r in sample]
    seconds = (time.process_time() - start) / len(sample) * len(rivals)
    ours = [(found.bases or {})[rivals[r]] for r in sample]
    worse = sum(b < o * (1 - 1e-3) for b, o in zip(brute, ours, strict=True))
    missed = sum(b > o * (1 + 1e-3) for b, o in zip(brute, ours, strict=True))
    note = f"{shown(seconds)} for {len(rivals)} bases, from a sample of {len(sample)}; missed the nearest in {missed}"
    return [
        Figure("all gaps", every, "s", 30.0, at_most=True),
        Figure("arm gaps alone", arms, "s", 5.0, at_most=True),
        Figure("all gaps, against brute force", seconds / every, note=note),
        Figure("arm gaps alone, against brute force", seconds / arms),
        Figure("bases of the sample where brute force found a nearer alternative", worse, "", 0, at_most=True),
        *routines.measure(quick),
    ]


def _fastest(instance: Instance, bases: bool, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.process_time()
        gaps(instance, bases=bases)
        times.append(time.process_time() - start)
    return min(times)


def _brute(instance: Instance, best: tuple[int, ...], rival: tuple[int, ...]) -> float:
    """The gap of a basis by descent on the moved means."""
    size, unknown = 1 + len(instance.bound), len(instance.problem.arms)
    arms = sorted({a for a in (*best, *rival) if a < unknown})
    deviation = np.sqrt(np.einsum("aii->ai", instance.covariance))[arms]
    total = np.r_[np.ones(len(instance.arms)), np.zeros(size - 1)]
    columns = np.zeros((len(total), size))
    columns[: len(instance.arms)] = instance.means - np.r_[0.0, instance.bound]
    columns[len(instance.arms) :, 1:] = np.eye(size - 1)

    def room(free: np.ndarray) -> np.ndarray:
        there = columns.copy()
        there[arms] += deviation * free.reshape(len(arms), size)
        sides = [basis_weights(there[list(basis)], total[list(basis)]) for basis in (best, rival)]
        if sides[0] is None or sides[1] is None:
            return np.full(2 * size + 1, -1e3)
        lead = sides[1] @ there[list(rival), 0] - sides[0] @ there[list(best), 0]
        return np.r_[sides[0], sides[1], lead]

    rng, smallest = np.random.default_rng(rival), np.inf
    for _ in range(STARTS):
        begin = rng.normal(0.0, 0.5, len(arms) * size)
        conditions = {"type": "ineq", "fun": room}
        found = minimize(lambda x: x @ x, begin, jac=lambda x: 2 * x, constraints=conditions, method="SLSQP")
        if room(found.x).min() > -1e-7:
            smallest = min(smallest, float(found.fun))
    return float(np.sqrt(smallest))
