"""Distances with 0/1 metrics: the divergence of independent coins, and of Gaussian costs beside them.

An arm moves to the hyperplane n.z = v where (z_i - mu_i) / variance(z_i) = eta n_i in every metric i; the multiplier
eta is found by Newton's steps inside of a bracket. The hyperplane itself is searched for, from those of Gaussian noise.
"""

import math

import numpy as np

from bestmix.arrays import Flags, Floats
from bestmix.theory.limit.conditions import Condition, Points
from bestmix.theory.limit.gaussian import GaussianDistances, Nearest, Part

STEPS = 100  # of Newton and bisection
SMALLEST = 1e-6  # multiplier from which a bracket is halved, in its logarithm
FARTHEST = 1e12  # multiplier at which a coin is as good as certain
EDGE = 1e-9  # from a plane to the last coins that reach it, as a share of the normal, that counts as none
SETTLED = 1e-13  # step, as a share of the multiplier, that ends the search
LEAST_VARIANCE = 0.01  # of a coin where a search begins: also those that always fall on one side may be others
BEYOND = 1e9  # divergence that a search sees where no coins reach the plane


class BernoulliDistances(GaussianDistances):
    """Of the conditions of one instance with 0/1 metrics, at any shares.

    Parameters
    ----------
    points
        The columns.
    covariance
        Of one trial of each arm, in their units; those of the costs count where the costs are Gaussian.
    means
        Mean reward and costs (K, 1 + L).
    binary
        Which metrics are 0/1 (1 + L,).
    """

    def __init__(self, points: Points, covariance: Floats, means: Floats, binary: Flags) -> None:
        super().__init__(points, covariance)
        self.mu = means[: points.movable]
        self.binary = binary
        self.variance = np.einsum("aii->ai", self.covariance) * points.scale**2

    def divergence(self, condition: Condition, plane: Floats) -> Floats:
        """Of each movable arm, when it moves to the plane (n, v); infinite where no coins reach it."""
        result, arms = np.zeros(self.points.movable), condition.arms
        result[arms] = self._move(condition, plane)[0]
        return result

    def means(self, nearest: Nearest) -> Floats:
        """Points of the movable arms there (K0, 1 + L)."""
        result = self.points.columns[: self.points.movable].copy()
        place = self._move(nearest.part, nearest.plane)[1]
        result[nearest.part.arms] = (place - self.points.origin) / self.points.scale
        return result

    def _reach(self) -> Floats:
        """A coin has a finite divergence from every other one, also where its own variance is zero."""
        lent = np.where(self.binary, np.maximum(LEAST_VARIANCE - self.variance, 0.0), 0.0) / self.points.scale**2
        result: Floats = self.covariance + lent[:, :, None] * np.eye(len(self.binary))
        return result

    def _part(self, condition: Condition) -> Part:
        """With one normal the divergence is convex in v, and descent finds the smallest; otherwise it may not."""
        part = super()._part(condition)
        part.common, part.exact = False, part.normals == 1
        return part

    def _slope(self, inner: Floats, condition: Condition, share: Floats) -> tuple[float, Floats]:
        """Weighted divergence and its gradient in the free directions: eta times (-z, 1)."""
        plane, weight = condition.free @ inner, share[condition.arms]
        far, place, eta = self._move(condition, plane)
        if not np.isfinite(far).all():
            return BEYOND, np.zeros(len(inner))
        spots = (place - self.points.origin) / self.points.scale
        slope = np.r_[-(weight * eta) @ spots, weight @ eta]
        return float(weight @ far), condition.free.T @ slope

    def _move(self, condition: Condition, plane: Floats) -> tuple[Floats, Floats, Floats]:
        """Divergence, means (n, 1 + L) and multiplier of each arm of a condition on the plane."""
        normal = plane[:-1] / self.points.scale
        mu, variance = self.mu[condition.arms], self.variance[condition.arms]
        target = float(plane[-1] + normal @ self.points.origin)
        edge = EDGE * float(np.abs(normal).sum())
        inside = np.minimum(normal, 0).sum() + edge < target < np.maximum(normal, 0).sum() - edge
        if self.binary.all() and not inside:  # certain coins alone are there, and others are infinitely far from them
            return np.where(np.abs(mu @ normal - target) <= edge, 0.0, np.inf), mu, np.zeros(len(mu))
        eta = _multiplier(mu, variance, self.binary, normal, target)
        place = _tilted(mu, variance, self.binary, normal, eta)
        missed = np.abs(place @ normal - target) > 1e-7 * (np.abs(normal).sum() + abs(target))
        return np.where(missed, np.inf, _divergence(mu, variance, self.binary, place)), place, eta


def _tilted(mu: Floats, variance: Floats, binary: Flags, normal: Floats, eta: Floats) -> Floats:
    """Means at which (z - mu) / variance(z) is eta n in every metric (n, 1 + L)."""
    c = eta[:, None] * normal
    root = np.sqrt(np.maximum((1.0 - c) ** 2 + 4.0 * c * mu, 0.0))
    small = c < 1.0  # of two forms of one root of c z^2 + (1 - c) z = mu the one without cancellation
    with np.errstate(divide="ignore", invalid="ignore"):
        coin = np.where(small, 2.0 * mu / (1.0 - c + root), (c - 1.0 + root) / (2.0 * c))
    result: Floats = np.where(binary, np.clip(coin, 0.0, 1.0), mu + c * variance)
    return result


def _multiplier(mu: Floats, variance: Floats, binary: Flags, normal: Floats, target: float) -> Floats:
    """With which the tilted means lie on the plane; at the end of the bracket where none does."""
    kinds, slopes = binary.tolist(), normal.tolist()
    rows = zip(mu.tolist(), variance.tolist(), strict=True)
    return np.array([_root(list(zip(m, v, kinds, slopes, strict=True)), target) for m, v in rows])


def _root(metrics: list[tuple[float, float, bool, float]], target: float) -> float:
    """The multiplier of one arm: in plain floats, which for so few metrics are faster than arrays."""
    start = sum(mu * n for mu, _, _, n in metrics)
    sign = 1.0 if start < target else -1.0
    enough = SETTLED * (sum(abs(n) for *_, n in metrics) + abs(target))
    near, far, eta = 0.0, FARTHEST, 0.0
    for _ in range(STEPS):
        place, steep = _along(metrics, sign * eta)
        miss = (place - target) * sign
        near, far = (eta, far) if miss < 0 else (near, eta)
        if abs(miss) <= enough:
            break
        step = eta - miss / steep if steep > 0 else -1.0
        step = step if near < step < far else math.sqrt(max(near, SMALLEST) * far)
        if abs(step - eta) <= SETTLED * eta:
            break
        eta = step
    return sign * eta


def _along(metrics: list[tuple[float, float, bool, float]], eta: float) -> tuple[float, float]:
    """n.z of the tilted means, and its derivative in the multiplier."""
    place = steep = 0.0
    for mu, variance, binary, n in metrics:
        c = eta * n
        if not binary:
            place, steep = place + n * (mu + c * variance), steep + n * n * variance
            continue
        root = math.sqrt(max((1.0 - c) ** 2 + 4.0 * c * mu, 0.0))
        low = 1.0 - c + root
        z = (2.0 * mu / low if low > 0 else mu) if c < 1.0 else (c - 1.0 + root) / (2.0 * c)
        place += n * z
        steep += n * n * z * (1.0 - z) / root if root > 0 else 0.0
    return place, steep


def _divergence(mu: Floats, variance: Floats, binary: Flags, place: Floats) -> Floats:
    """From means to means, all metrics together (n,)."""
    from scipy.special import rel_entr

    with np.errstate(divide="ignore", invalid="ignore"):
        normal = np.where(place == mu, 0.0, 0.5 * (place - mu) ** 2 / variance)
    result: Floats = np.where(binary, rel_entr(mu, place) + rel_entr(1 - mu, 1 - place), normal).sum(axis=1)
    return result
