"""Arms without noise in some or all directions: the parts of a condition on which its distances are continuous.

An arm moves to the hyperplane (n, v) only if it has noise along n, n'Sn > 0; otherwise it must lie there as it is. The
hyperplanes on which some arms lie without noise along n are a linear space of their own, in which only the other arms
move. These spaces are thin, so that no search comes upon them by chance, and the nearest hyperplane may be in one.
"""

from dataclasses import replace

import numpy as np

from bestmix.arrays import Floats
from bestmix.theory.limit.conditions import RANK, Condition, Points

NOISE = 1e-12  # variance of a direction, as a share of the largest, that counts as none


def strata(condition: Condition, points: Points, covariance: Floats, after: int = -1) -> list[Condition]:
    """The parts of a condition; ``arms`` of each are those that move. No part: the condition cannot fail.

    Parameters
    ----------
    condition, points
        What lies on one hyperplane where it fails.
    covariance
        Of one trial of each movable arm (K0, 1 + L, 1 + L).
    after
        Arms up to this one do not rest, but for those without any noise: every set of resting arms is looked at once.
    """
    whole = _without_fixed(condition, points, covariance)
    if not whole.free.shape[1]:
        return []
    resting = [(int(a), _at_rest(whole, int(a), points, covariance)) for a in whole.arms if a > after]
    return [whole, *(part for a, rest in resting for part in strata(rest, points, covariance, a))]


def noisy_arms(covariance: Floats) -> Floats:
    """One for each arm with noise in some direction, zero for the others (K0,)."""
    size = np.einsum("aii->a", covariance)
    result: Floats = np.where(size > NOISE * size.max(initial=0.0), 1.0, 0.0)
    return result


def inner_covariance(condition: Condition, covariance: Floats) -> Floats:
    """Covariances of the arms of a condition in its free directions (n, r, r)."""
    normals = condition.free[:-1]
    result: Floats = np.einsum("ir,aij,js->ars", normals, covariance[condition.arms], normals)
    return result


def _without_fixed(condition: Condition, points: Points, covariance: Floats) -> Condition:
    """Let arms rest that have no noise along any of the hyperplanes, as if they were known."""
    while len(still := condition.arms[_largest(condition, covariance) <= _none(condition, covariance)]):
        condition = _at_rest(condition, int(still[0]), points, covariance)
    return condition


def _largest(condition: Condition, covariance: Floats) -> Floats:
    """The largest variance of each arm along a hyperplane of the condition (n,)."""
    inner = inner_covariance(condition, covariance)
    if not inner.shape[1]:
        return np.zeros(len(inner))
    return np.asarray(np.linalg.eigvalsh(inner)[:, -1], dtype=np.float64)


def _none(condition: Condition, covariance: Floats) -> Floats:
    """The variance of each arm that counts as none: a rounding of its own largest, or nothing beside others' (n,)."""
    size = np.einsum("aii->a", covariance)
    own = size[condition.arms]
    result: Floats = np.where(own > NOISE * size.max(initial=0.0), NOISE * own, np.inf)
    return result


def _at_rest(condition: Condition, arm: int, points: Points, covariance: Floats) -> Condition:
    """The hyperplanes on which an arm lies as it is, and along whose normal it has no noise."""
    alone = replace(condition, arms=np.array([arm]))
    values, vectors = np.linalg.eigh(inner_covariance(alone, covariance)[0])
    free = condition.free @ vectors[:, values <= _none(alone, covariance)]
    point = np.r_[points.columns[arm], -1.0]
    return replace(condition, arms=condition.arms[condition.arms != arm], free=_through(free, point))


def _through(free: Floats, point: Floats) -> Floats:
    """Directions of a space that are orthogonal to a point: all of them, or one fewer."""
    along = point @ free
    if np.linalg.norm(along) <= RANK * np.linalg.norm(point):
        return free
    result: Floats = free @ np.linalg.svd(along[None])[2][1:].T
    return result
