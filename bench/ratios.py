"""How much less one way needs than another at equal error, with a standard error: runs in pairs, at several sizes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr, ndtri

from bench.timing import Figure

DRAWS = 200  # of the runs, for a standard error
NEWTON = 30  # steps of the fit at most
SLACK = 2.0  # standard errors by which a figure may miss its goal by chance
PRIOR = 0.5  # wrong and right runs that are added to each size: with none wrong there is no slope


class Ratio(NamedTuple):
    """A ratio with its standard error; None where the runs do not show any."""

    value: float | None
    error: float | None

    def __str__(self) -> str:
        return "-" if self.value is None or self.error is None else f"{self.value:.2f} +- {self.error:.2f}"


def size_for(sizes: Sequence[float], wrong: np.ndarray, runs: int, error: float) -> float:
    """The size at which a share ``error`` of the runs is wrong, of so many wrong ones (sizes,) at each; NaN for none.

    Errors fall as normal tails of the root of the size do: a probit fit by Newton's method.
    """
    x = np.column_stack([np.ones(len(sizes)), np.sqrt(np.asarray(sizes, dtype=np.float64))])
    bad, good = wrong + PRIOR, runs - wrong + PRIOR
    score = -ndtri(bad / (bad + good))
    beta = np.linalg.lstsq(x, score, rcond=None)[0]
    for _ in range(NEWTON):
        z = x @ beta  # chance of a wrong run: that of a normal above z
        up, down = (np.exp(-0.5 * z**2 - 0.5 * np.log(2 * np.pi) - log_ndtr(sign * z)) for sign in (1.0, -1.0))
        slope = good * up - bad * down
        weight = good * up * (up + z) + bad * down * (down - z)
        step = np.linalg.solve(x.T @ (weight[:, None] * x), x.T @ slope)
        beta = beta + step
        if np.abs(step).max() < 1e-9:
            break
    root = (-ndtri(error) - beta[0]) / beta[1] if beta[1] > 0 else -1.0
    return float(root**2) if root > 0 else np.nan


def ratio(sizes: Sequence[Sequence[float]], plain: np.ndarray, better: np.ndarray, error: float) -> Ratio:
    """What the plain way needs over what the better one needs, from wrong runs (sizes, runs) that are made in pairs.

    Each way has its own sizes, as many as the other.
    """
    rng, runs = np.random.default_rng(0), plain.shape[1]

    def found(chosen: np.ndarray) -> float:
        ways = zip(sizes, (plain, better), strict=True)
        needs = [size_for(n, np.take_along_axis(w, chosen, 1).sum(axis=1), runs, error) for n, w in ways]
        return float(np.log(needs[0] / needs[1]))

    value = found(np.tile(np.arange(runs), (len(plain), 1)))
    again = np.array([found(rng.integers(runs, size=plain.shape)) for _ in range(DRAWS)])
    if not np.isfinite(value) or np.isfinite(again).mean() < 0.9:
        return Ratio(None, None)
    return Ratio(float(np.exp(value)), float(np.exp(value) * np.nanstd(again)))


def pooled(found: Sequence[Ratio]) -> Ratio:
    """The geometric mean of several ratios."""
    known = [(r.value, r.error) for r in found if r.value is not None and r.error is not None]
    if not known:
        return Ratio(None, None)
    value = float(np.exp(np.mean([np.log(v) for v, _ in known])))
    return Ratio(value, value * float(np.sqrt(sum((e / v) ** 2 for v, e in known))) / len(known))


def gain(what: str, found: Ratio, goal: float | None, note: str = "") -> Figure:
    """A ratio as a figure: it is above 1 beyond chance, and no further below its goal than chance explains."""
    told = f"{found}{'' if goal is None else f', wanted {goal:g}'}{note and f'; {note}'}"
    if goal is None or found.error is None:
        return Figure(what, found.value, note=told)
    return Figure(what, found.value, "x", max(goal - SLACK * found.error, 1.0 + SLACK * found.error), note=told)


def share(wrong: np.ndarray) -> str:
    """A share in per cent with its standard error.

    >>> share(np.array([True, False, False, False]))
    '25.0% +- 21.7%'
    """
    mean = float(np.mean(wrong))
    return f"{100 * mean:.1f}% +- {100 * np.sqrt(mean * (1 - mean) / np.size(wrong)):.1f}%"
