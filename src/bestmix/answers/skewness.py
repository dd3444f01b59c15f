"""Skewed values: how far their skewness counts, and a word of caution where it is not known or too large.

Where a few values are very large, as prices are, most samples have too few of them: mean and error are both too small,
and a normal limit is too near. What the third powers of the trials tell of it makes margins wider (``safety.farther``).
A sample's skewness is too small itself, above all that of an arm that looks cheap because it has not shown its large
values yet, so that an arm's counts no less than that of all arms together; and rare values that other arms have shown
count as events which an arm may have missed (``safety.rare_margins``).

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

SKEWNESS, SIZE, SHARE = range(
    3
)  # of what is told of an arm's metric: with its sign; of rare values; of trials with one
MOST_SHARE = 0.5  # of trials with a rare value: rare ones are in the minority
SURELY = 2.5  # standard errors of the skewness of as many normal values, from which on it counts
POOL = 30.0  # trials of all arms together that an arm's own are blended with
UNSEEN = 1.5  # times the skewness of the trials, at most: a log-normal value's, of which the trials show a part
WIDE = 0.8  # deviation over the mean, from which on a positive metric is likely skewed
WIDEST = 100.0  # the same, at most: a mean may be next to zero
TRIALS = 25.0  # for each square of the skewness: with fewer a normal limit is too near (Cochran)
CORRECTED = 5.0  # the same of a limit that reckons with the skewness


# --- how far it counts ---------------------------------------------------------------------------------------


def sample_skewness(moments: list[Moments]) -> Floats | None:
    """That of the trials of each arm (K0, M), zero for fewer than three; None where it is not known of all."""
    found = [np.zeros(m.size) if m.count < 3 else m.skewness() for m in moments]
    known = [each for each in found if each is not None]
    return np.array(known) if known and len(known) == len(moments) else None


def counted(sample: Floats, counts: Floats, means: Floats, scatters: Floats, events: Flags) -> Floats | None:
    """What to reckon with, of each arm and metric (K, M, 3); None where no metric is skewed.

    ``sample`` is the skewness of the trials, with counts (K,), means (K, M) and scatters (K, M, M). Values of 0 and 1
    (``events``) have limits of their own.

    >>> rng = np.random.default_rng(0)
    >>> trials = [Moments(1).plus(rng.exponential(size=(60, 1))) for _ in range(4)]
    >>> sums = np.full(4, 60.0), np.array([m.mean() for m in trials]), np.array([m.scatter() for m in trials])
    >>> sample = sample_skewness(trials)
    >>> found = counted(sample, *sums, np.zeros((4, 1), bool))
    >>> sample.ravel().round(1), found[:, 0, SKEWNESS].round(1)
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
    square = np.diagonal(scatters, axis1=1, axis2=2)
    spread = np.sqrt(square / np.maximum(weight - 1.0, 1.0))
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        v = np.nan_to_num(np.fmin(spread / np.abs(means), UNSEEN * own))
    skewness = np.sign(pooled) * np.maximum(own, np.minimum(3.0 * v + v**3, UNSEEN * own))
    size, share = _rare(sample, weight, means, square)
    there = sure & (weight > 0) & ~events
    return np.stack([np.where(there & (spread > 0), skewness, 0.0), np.where(there, size, 0.0), share], axis=2)


def _rare(sample: Floats, weight: Floats, means: Floats, square: Floats) -> tuple[Floats, Floats]:
    """Size of rare values of each arm (K, M), below zero for low ones, and the share of its trials that had one.

    Of values that are alike but for a share p that is larger by J the second moment is J^2 p (1 - p) and the third one
    J^3 p (1 - p) (1 - 2 p): all arms' together tell J, and an arm's own second moment tells p. J is in proportion to an
    arm's mean, as far as no arm has shown a larger one: means may be next to zero.
    """
    n = np.maximum(weight, 1.0)
    with np.errstate(all="ignore"):
        third = weight * sample * (square / n) ** 1.5
        scale = np.where((weight > 0) & (means != 0), np.abs(means), np.inf)
        relative = _ratio(np.nansum(third / scale**3, axis=0), np.nansum(square / scale**2, axis=0))
        largest = np.abs(_ratio(third, square)).max(axis=0, initial=0.0)
        size = np.where(np.isfinite(scale), np.abs(relative) * np.abs(means), largest)
        size = np.sign(third.sum(axis=0)) * np.minimum(size, largest)
        share = np.where(size != 0, np.minimum(square / n / size**2, MOST_SHARE), 0.0)
    return np.nan_to_num(size, posinf=0.0, neginf=0.0), np.nan_to_num(share)


def _ratio(third: Floats, second: Floats) -> Floats:
    return np.nan_to_num(third / second, posinf=0.0, neginf=0.0)


def of_entries(transform: Floats, skew: Floats, covariances: Floats) -> Floats:
    """Skewness and rare values of sums of metrics (K, R, 3), with coefficients (R, M), or (K, R, M) for each arm.

    Third moments are added up as if metrics did not depend on each other, so that no sum is more skewed than its parts:
    of the difference of two that nearly cancel nothing is known. Rare values are those of a single metric.

    >>> skew = np.array([[[0.5, 0.0, 0.0], [2.0, 9.0, 0.1]]])
    >>> of_entries(np.array([[1.0, 0.0], [0.0, -1.0]]), skew, np.eye(2)[None])[0].tolist()
    [[0.5, 0.0, 0.0], [-2.0, -9.0, 0.1]]
    """
    turn = np.broadcast_to(transform, (len(skew), *transform.shape[-2:]))
    deviation = np.sqrt(np.maximum(np.diagonal(covariances, axis1=1, axis2=2), 0.0))
    with np.errstate(all="ignore"):
        whole = np.sqrt(np.maximum(np.einsum("kri,kij,krj->kr", turn, covariances, turn), 0.0))
        parts = turn * deviation[:, None]
        size = np.maximum(whole, np.linalg.norm(parts, axis=2))[:, :, None]
        parts = np.where((size > 0) & np.isfinite(size), parts / np.where(size > 0, size, 1.0), 0.0)
    alone = ((turn != 0).sum(axis=2) == 1)[:, :, None] & (turn != 0)
    result = np.empty((*turn.shape[:2], 3))
    result[..., SKEWNESS] = (parts**3 * skew[:, None, :, SKEWNESS]).sum(axis=2)
    result[..., SIZE] = np.where(alone, turn * skew[:, None, :, SIZE], 0.0).sum(axis=2)
    result[..., SHARE] = np.where(alone, skew[:, None, :, SHARE], 0.0).sum(axis=2)
    return result


# --- a word of caution ---------------------------------------------------------------------------------------


def skew_note(evidence: "Evidence", mixture: Floats) -> str:
    """The note on limits of a mix (K,) of cells; no text where none is called for."""
    if sample_skewness(evidence.moments) is not None:
        return _seen(evidence, mixture)
    wide = [name for place, name, upper in _limited(evidence) if upper and _is_wide(evidence, place, mixture)]
    if not wide:
        return ""
    return (
        f"Values of {_listed(wide)} differ widely beside their mean: if that is because a few are very large, limits "
        "on them are broken more often than told; make more trials, or ask for a certainty of 0.99."
    )


def _seen(evidence: "Evidence", mixture: Floats) -> str:
    """The note where the trials tell the skewness."""
    unknown = len(evidence.counts)
    used = (mixture[:unknown] > 0) & (evidence.counts > 0)
    found: dict[bool, list[str]] = {True: [], False: []}
    for place, name, upper in _limited(evidence):
        if evidence.skew is not None:
            towards = evidence.skew[:unknown, place, SKEWNESS] * (1.0 if upper else -1.0)
            if (evidence.counts[used] < CORRECTED * towards.max(initial=0.0) ** 2).any():
                found[upper].append(name)
    words = {True: "larger", False: "smaller"}
    return " ".join(
        f"A few values of {_listed(names)} are far {words[upper]} than most: limits on them may be broken more often "
        "than told until there are more trials."
        for upper, names in found.items()
        if names
    )


def _listed(names: list[str]) -> str:
    return " and ".join(dict.fromkeys(names))


def _limited(evidence: "Evidence") -> list[tuple[int, str, bool]]:
    """Measures whose means are limited: place, name, and whether from above."""
    measures = evidence.problem.rows.measures
    means = [limit for limit in evidence.problem.limits if isinstance(limit.quantity, Mean)]
    limits = [limit for limit in means if limit.relation != "="]
    return [(measures.index(limit.columns[0]), str(limit.columns[0]), limit.relation == "<=") for limit in limits]


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
    if not used.any() or evidence.events[:unknown, place].any() or not (mean[counts > 0] >= 0).all():
        return False
    variance = evidence.measured_scatters[used, place, place] / (counts[used] - 1)
    size = np.maximum(mean[used], _mean_of(mixture, evidence.measured[:, place]))
    with np.errstate(over="ignore"):
        v = np.minimum(np.sqrt(variance) / np.where(size > 0, size, np.inf), WIDEST)
    return bool(((v > WIDE) & (counts[used] < TRIALS * (3.0 * v + v**3) ** 2)).any())
