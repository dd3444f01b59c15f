"""Skewed values: how far their skewness counts, and a word of caution where it is not known or too large.

Where a few values are very large, as prices are, most samples have too few of them: mean and error are both too small,
and a normal limit is too near. What the third powers of the trials tell of it makes margins wider (``safety.farther``).
A sample's skewness is too small itself, above all that of an arm that looks cheap because it has not shown its large
values yet, so that an arm's counts no less than that of all arms together.

Where only sums and products are known the skewness is taken for that of a log-normal price whose deviation is v times
its mean, 3 v + v^3, and a note is all that is made of it. What very skewed prices do to limits was measured:
docs/research/safety.md.
"""

from typing import TYPE_CHECKING

import numpy as np

from bestmix.answers.moments import Moments
from bestmix.arrays import Flags, Floats
from bestmix.problems.quantities import Mean

if TYPE_CHECKING:
    from bestmix.answers.evidence import Evidence

SURELY = 2.5  # standard errors of the skewness of as many normal values, from which on it counts
POOL = 30.0  # trials of all arms together that an arm's own are blended with
UNSEEN = 1.5  # times the skewness of the trials, at most: a log-normal value's, of which the trials show a part
WIDE = 0.8  # deviation over the mean, from which on a positive metric is likely skewed
TRIALS = 25.0  # for each square of the skewness: with fewer a normal limit is too near (Cochran)
CORRECTED = 5.0  # the same of a limit that reckons with the skewness
FEW = 10  # trials, with fewer of which an arm says nothing of its skewness


# --- how far it counts ---------------------------------------------------------------------------------------


def sample_skewness(moments: list[Moments]) -> Floats | None:
    """That of the trials of each arm (K0, M), zero for fewer than three; None where it is not known of all."""
    found = [np.zeros(m.size) if m.count < 3 else m.skewness() for m in moments]
    known = [each for each in found if each is not None]
    return np.array(known) if known and len(known) == len(moments) else None


def counted(sample: Floats, counts: Floats, means: Floats, scatters: Floats, events: Flags) -> Floats | None:
    """The skewness to reckon with, of each arm and metric (K, M); None where no metric is skewed.

    ``sample`` is that of the trials, with counts (K,), means (K, M) and scatters (K, M, M). Values of 0 and 1
    (``events``) have limits of their own.

    >>> rng = np.random.default_rng(0)
    >>> trials = [Moments(1).plus(rng.exponential(size=(60, 1))) for _ in range(4)]
    >>> sums = np.full(4, 60.0), np.array([m.mean() for m in trials]), np.array([m.scatter() for m in trials])
    >>> sample = sample_skewness(trials)
    >>> sample.ravel().round(1), counted(sample, *sums, np.zeros((4, 1), bool)).ravel().round(1)
    (array([2.1, 1.2, 1. , 1.8]), array([2.9, 2.3, 2.3, 2.6]))
    """
    weight = np.where((counts >= 3) & np.isfinite(counts), counts, 0.0)[:, None]
    total, n = weight.sum(), np.maximum(weight, 3.0)
    if not total:
        return None
    own = sample * np.sqrt(n * (n - 1.0)) / (n - 2.0)  # few values cannot show how skewed they are (Fisher, Pearson)
    variance = 6.0 * n * (n - 1.0) / ((n - 2.0) * (n + 1.0) * (n + 3.0))  # of normal ones
    pooled, error = (weight * own).sum(axis=0) / total, np.sqrt((weight**2 * variance).sum()) / total
    sure = np.abs(pooled) > SURELY * error
    if not sure.any():
        return None
    own = (weight * own + POOL * pooled) / (weight + POOL)
    own = np.maximum(np.sign(pooled) * own, np.abs(pooled))
    spread = np.sqrt(np.diagonal(scatters, axis1=1, axis2=2) / np.maximum(weight - 1.0, 1.0))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        v = np.nan_to_num(np.fmin(spread / np.abs(means), UNSEEN * own))
    size = np.maximum(own, np.minimum(3.0 * v + v**3, UNSEEN * own))
    return np.where(sure & (weight > 0) & ~events & (spread > 0), np.sign(pooled) * size, 0.0)


def of_entries(transform: Floats, skewness: Floats, covariances: Floats) -> Floats:
    """Skewness of sums of metrics (K, R), with coefficients (R, M), or (K, R, M) for each arm.

    Third moments are added up as if metrics did not depend on each other, so that no sum is more skewed than its parts:
    of the difference of two that nearly cancel nothing is known.

    >>> of_entries(np.array([[1.0, 0.0], [0.0, -1.0]]), np.array([[0.5, 2.0]]), np.eye(2)[None])
    array([[ 0.5, -2. ]])
    """
    turn = np.broadcast_to(transform, (len(skewness), *transform.shape[-2:]))
    deviation = np.sqrt(np.maximum(np.diagonal(covariances, axis1=1, axis2=2), 0.0))
    with np.errstate(all="ignore"):
        whole = np.sqrt(np.maximum(np.einsum("kri,kij,krj->kr", turn, covariances, turn), 0.0))
        parts = turn * deviation[:, None]
        size = np.maximum(whole, np.linalg.norm(parts, axis=2))[:, :, None]
        parts = np.where((size > 0) & np.isfinite(size), parts / np.where(size > 0, size, 1.0), 0.0)
    return np.asarray((parts**3 * skewness[:, None]).sum(axis=2))


# --- a word of caution ---------------------------------------------------------------------------------------


def skew_note(evidence: "Evidence", mixture: Floats) -> str:
    """The note on limits of a mix (K,) of cells; no text where none is called for."""
    wide = [name for place, name in _limited(evidence) if _is_wide(evidence, place, mixture)]
    if not wide:
        return ""
    names = " and ".join(dict.fromkeys(wide))
    return (
        f"Values of {names} differ widely beside their mean: if that is because a few are very large, limits on them "
        "are broken more often than told; make more trials, or ask for a certainty of 0.99."
    )


def _limited(evidence: "Evidence") -> list[tuple[int, str]]:
    """Measures whose means have an upper limit: place and name."""
    measures = evidence.problem.rows.measures
    upper = [limit for limit in evidence.problem.limits if limit.relation == "<=" and isinstance(limit.quantity, Mean)]
    return [(measures.index(limit.columns[0]), str(limit.columns[0])) for limit in upper]


def _mean_of(mixture: Floats, means: Floats) -> float:
    """Of the mix, whose weights may be those of segments."""
    used = mixture > 0
    return float(mixture[used] @ means[used] / mixture[used].sum())


def _is_wide(evidence: "Evidence", place: int, mixture: Floats) -> bool:
    """Whether a positive metric of an arm of the mix varies more than its trials make good.

    An arm that is next to free is held against the mean of the mix: a little noise is wide beside nothing.
    """
    unknown = len(evidence.counts)
    mean, counts = evidence.measured[:unknown, place], evidence.counts
    used = (mixture[:unknown] > 0) & (counts > 1)
    if not used.any() or evidence.events[:unknown, place].any() or not (mean[counts > 0] > 0).all():
        return False
    variance = evidence.measured_scatters[used, place, place] / (counts[used] - 1)
    v = np.sqrt(variance) / np.maximum(mean[used], _mean_of(mixture, evidence.measured[:, place]))
    enough = TRIALS * (3.0 * v + v**3) ** 2
    if sample_skewness(evidence.moments) is not None:
        seen = evidence.skewness is not None and bool((evidence.skewness[:, place] > 0).any())
        enough = enough * CORRECTED / TRIALS if seen else np.full(len(v), float(FEW))
    return bool(((v > WIDE) & (counts[used] < enough)).any())
