"""An instance as points in the space of reward and costs, in units of its noise."""

from dataclasses import dataclass

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import balance, jit
from bestmix.problems.instance import Instance
from bestmix.problems.solution import Solution

SAME = 1e-9  # covariances that differ by less, as a share, count as equal
FLOOR = 1e-3  # standard deviation, in units of the others, that is lent to a mean without noise
SMALLEST_SPREAD = 1e-150  # of means without noise; the square of a smaller one is no float
FARTHEST = 1e60  # standard deviations between means: the squares of squares of larger numbers overflow


@dataclass(frozen=True, eq=False)
class Geometry:
    """Columns (reward, costs minus bounds) of arms and slacks, measured in standard deviations.

    Attributes
    ----------
    columns
        One a row (K + L, 1 + L), reward first.
    total
        One for an arm and zero for a slack (K + L,).
    covariance
        Of one trial of each arm that can be moved, in these units (K0, 1 + L, 1 + L).
    scale
        The units (1 + L,).
    basis, share
        The optimal basis, ascending, and its weights.
    white
        The map of ``columns`` to coordinates in which every arm's covariance is the identity; None
        when the arms differ in their noise.

    A mean without noise is known to the experimenter at once, and an alternative cannot move it. It is lent a
    thousandth of the usual noise, so that moving it costs a million times as much.
    """

    columns: Floats
    total: Floats
    covariance: Floats
    scale: Floats
    basis: Integers
    share: Floats
    white: Floats | None

    @property
    def movable(self) -> int:
        """Arms that an alternative instance can move: the first ones."""
        return len(self.covariance)

    @property
    def costs(self) -> int:
        """Number of costs."""
        return int(self.columns.shape[1]) - 1

    @property
    def whitened(self) -> Floats:
        """The columns, where every covariance is the identity."""
        assert self.white is not None
        return np.ascontiguousarray(self.columns @ self.white.T)


def geometry_of(instance: Instance, solution: Solution) -> Geometry:
    """The geometry of an instance and its solution."""
    arms, costs = instance.means.shape[0], len(instance.bound)
    movable = arms - instance.known
    covariance = instance.covariance[:movable]
    columns = np.zeros((arms + costs, 1 + costs))
    columns[:arms] = instance.means
    columns[:arms, 1:] -= instance.bound
    noise = np.sqrt(np.einsum("aii->i", covariance) / max(movable, 1))
    spread = np.abs(columns[:arms] - np.r_[solution.value, np.zeros(costs)]).max(axis=0)
    scale = np.where(noise > 0, noise, np.where(spread > SMALLEST_SPREAD, spread, 1.0))
    _check_distance(float((spread / scale).max()))
    columns[:arms] /= scale
    columns[:arms, 0] -= solution.value / scale[0]  # only differences of rewards matter
    columns[arms:, 1:] = np.eye(costs)  # the unit of a slack's weight is free
    basis = np.array(solution.basis, dtype=np.int64)
    covariance = _lifted(covariance / np.outer(scale, scale))
    return Geometry(
        columns=columns,
        total=np.r_[np.ones(arms), np.zeros(costs)],
        covariance=np.ascontiguousarray(covariance),
        scale=scale,
        basis=basis,
        share=np.r_[solution.mixture, solution.slack / scale[1:]][basis],
        white=_whitening(covariance),
    )


def _check_distance(farthest: float) -> None:
    if farthest > FARTHEST:
        raise ValueError(
            f"instance: expected means at most {FARTHEST:g} standard deviations apart, got {farthest:.3g}; "
            "at such a distance nothing is in doubt: leave the noise out, or change its size"
        )


def _lifted(covariance: Floats) -> Floats:
    """Covariances without a zero eigenvalue."""
    lacking = np.linalg.eigvalsh(covariance).min(axis=1, initial=np.inf) < FLOOR**2
    result: Floats = covariance + FLOOR**2 * lacking[:, None, None] * np.eye(covariance.shape[1])
    return result


def _whitening(covariance: Floats) -> Floats | None:
    if not len(covariance):
        return None
    common = covariance.mean(axis=0)
    values, vectors = np.linalg.eigh(common)
    if np.abs(covariance - common).max() > SAME * values[-1]:
        return None
    white: Floats = vectors.T / np.sqrt(values)[:, None]
    return white


def nearest_balance(shape: Geometry, support: Integers) -> tuple[float, Floats, bool]:
    """Cheapest moves of arms that let these columns balance their costs by themselves.

    Returns the squared length, the moves (columns of ``support``, 1 + L) and whether that is proven. Rewards move
    only where their noise goes along with that of the costs.
    """
    moving, fixed = support[support < shape.movable], support[support >= shape.movable]
    moves = np.zeros((len(support), 1 + shape.costs))
    if not len(moving):
        return (0.0 if _balances(shape, fixed) else np.inf), moves, True
    weight = np.empty(len(support))
    common = shape.covariance.mean(axis=0)[1:, 1:]
    values, vectors = np.linalg.eigh(common)
    white = vectors.T / np.sqrt(np.maximum(values, SAME * values[-1]))[:, None]
    spots = np.ascontiguousarray(shape.columns[:, 1:] @ white.T)
    nearest = jit.speed_for(2 ** len(support) * len(support) ** 2)(balance.nearest)
    value = nearest(spots[moving], spots[fixed], weight)
    if not np.isfinite(value):
        return np.inf, moves, True
    if shape.white is None and len(support) > 1:
        weight = _descend(shape, moving, fixed, weight)
    missing = weight @ shape.columns[support, 1:]  # the movable columns come first
    spreads, weight = shape.covariance[moving], weight[: len(moving)]
    matrix = np.einsum("a,aij->ij", weight**2, spreads[:, 1:, 1:])
    multiplier = np.linalg.lstsq(matrix, missing, rcond=None)[0]
    if np.abs(matrix @ multiplier - missing).max(initial=0.0) > 1e-6 * np.abs(missing).max(initial=0.0):
        return np.inf, moves, False
    moves[: len(moving)] = -weight[:, None] * (spreads[:, :, 1:] @ multiplier)
    return float(missing @ multiplier), moves, shape.white is not None or len(support) == 1


def _balances(shape: Geometry, fixed: Integers) -> bool:
    """Whether fixed columns balance their costs as they are."""
    rows = np.ascontiguousarray(shape.columns[fixed, 1:])
    if not shape.total[fixed].any():
        return False
    if len(fixed) == 1:
        return bool(np.abs(rows).max(initial=0.0) < balance.SIGN)
    return any(balance.alone(chosen, rows) for chosen in range(1, 2 ** len(fixed)))


def _descend(shape: Geometry, moving: Integers, fixed: Integers, weight: Floats) -> Floats:
    """Better weights where the arms differ in their noise; a local search."""
    from scipy.optimize import minimize

    order, n = np.r_[moving, fixed], len(moving)
    spreads = shape.covariance[moving][:, 1:, 1:]
    ridge = 1e-12 * np.eye(shape.costs)

    def length(free: Floats) -> float:
        x = free**2 / np.sum(free[:n] ** 2)
        missing = x @ shape.columns[order, 1:]
        matrix = np.einsum("a,aij->ij", x[:n] ** 2, spreads) + ridge
        return float(missing @ np.linalg.solve(matrix, missing))

    starts = [np.sqrt(weight + 1e-3), np.ones(len(order)), *(np.ones(len(order)) * 0.3 + np.eye(len(order)))]
    found = min((minimize(length, start, method="L-BFGS-B") for start in starts), key=lambda result: float(result.fun))
    x: Floats = found.x**2 / np.sum(found.x[:n] ** 2)
    return x
