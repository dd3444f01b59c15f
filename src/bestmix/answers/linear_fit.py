"""Means of all arms from one fit, where they are linear in the arms' features.

Least squares over all trials: with n_c trials of arm c and rows phi_c of the design, arm a's mean is estimated by

    sum_c H_ac (mean of c's trials),   H_ac = phi_a' A^-1 phi_c n_c w_c,   A = sum_c n_c w_c phi_c phi_c'

so that a trial of any arm tells about every other. All trials weigh alike, w_c = 1, unless some kinds of arms are far
noisier in a metric than others: then w_c is one over the variance that an arm's features let expect. What is linear in
the means with coefficients v_a has the variance sum_c (sum_a v_a H_ac)^2 S_c / n_c, whatever the weights, and the
covariances S_c of a trial of each arm, are: those of the residuals, blended with the ones of all arms together as
everywhere.

Whether the arms are linear in their features is tested (``lack_of_fit.py``). In a metric whose fit is refuted each arm
has its own mean.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from bestmix.answers import pooling
from bestmix.answers.lack_of_fit import misfit
from bestmix.answers.safety import FEW_EVENTS, Estimates
from bestmix.arrays import Flags, Floats
from bestmix.kernels.conditions import PRIOR

if TYPE_CHECKING:
    from bestmix.answers.evidence import Evidence

REFUTED = 0.01  # chance of such distances from the fit, of all measures together, below which it is not believed
SINGULAR = 1e-12  # of the largest direction that trials tell of: in a smaller one they tell nothing
OUTSIDE = 1e-6  # part of an arm's features in such directions: what is smaller is rounding
UNEQUAL = 10.0  # times its variance: arms that differ by less weigh alike
WIDEST = 1e4  # times the variance of all arms together: as far as any may differ
SURELY = 4.0  # times what equal variances would show, for each free direction
RIDGE = 0.5  # of the fit of variances
MOST_COUNTED = 1e9  # trials that a mean without noise counts as


class LinearFit(NamedTuple):
    """A fit of K0 arms with d free directions, in M measures.

    Attributes
    ----------
    means
        Of the measures (K0, M); NaN for an arm that no trial tells about.
    weights
        H of each measure (M, K0, K0): what the mean of each arm's trials counts in each estimate.
    covariances
        Of one trial of each arm (K0, M, M), blended.
    freedoms
        Degrees of freedom of the variance of each arm's estimates (K0,), as Satterthwaite has them.
    worth
        As how many trials of its own an estimate counts (K0,): one over phi_a' A^-1 phi_a, without weights; its own
        where a measure is refuted.
    pooled
        Covariance of a trial of all arms together (M, M).
    counts
        Trials (K0,).
    design
        The directions that trials tell of (K0, d).
    misfit
        Chance of such distances from the fit as were seen, were it right, of each measure (M,); NaN where too few arms
        were tried twice, or each is fitted exactly.
    """

    means: Floats
    weights: Floats
    covariances: Floats
    freedoms: Floats
    worth: Floats
    pooled: Floats
    counts: Floats
    design: Floats
    misfit: Floats

    def mean_covariance(self, arm: int) -> Floats:
        """Covariance of the estimates of an arm (M, M)."""
        part = self.weights[:, arm]  # (M, K0)
        each = self.covariances / np.maximum(self.counts, 1.0)[:, None, None]
        return np.asarray(np.einsum("ic,cij,jc->ij", part, each, part))

    @property
    def refuted(self) -> Flags:
        """Measures that are not linear in the features (M,): each arm's own trials speak for it alone in these."""
        return _refuted(self.misfit)


def linear_fit(
    design: Floats,
    counts: Floats,
    means: Floats,
    scatters: Floats,
    events: Flags | None = None,
    asked: Flags | bool = True,
) -> LinearFit | None:
    """The fit of arms with rows (K0, d) to counts (K0,), means (K0, M) and scatters (K0, M, M) of their trials.

    ``events`` (K0, M) are measures that were 0 or 1 in all trials: their variance is at least that of a share which is
    known as well as the fit tells it, for an event that was never seen may happen. ``asked`` (M,) are those that have
    to be linear. None where there are no more trials than free directions: nothing could be said of the noise.

    >>> line = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> found = linear_fit(line, np.array([4.0, 4.0, 0.0]), np.array([[1.0], [2.0], [np.nan]]), np.ones((3, 1, 1)))
    >>> found.means.ravel().round(6).tolist(), found.weights[0, 2].round(6).tolist()
    ([1.0, 2.0, 3.0], [-1.0, 2.0, 0.0])
    """
    counts, tried = np.asarray(counts, dtype=np.float64), counts > 0
    asked = np.broadcast_to(asked, means.shape[1:])
    own = np.where(tried[:, None], means, 0.0)
    size, turn = np.linalg.eigh(design.T @ (counts[:, None] * design))
    told = size > SINGULAR * size.max(initial=0.0)
    rows, aside = design @ turn[:, told], design @ turn[:, ~told]
    total = counts.sum() - told.sum()
    if not told.any() or total < 1:
        return None
    together = (rows / size[told]) @ rows.T  # phi_a' A^-1 phi_b
    alike = together * counts
    test = misfit(counts, scatters, own, alike)
    test[~asked] = 1.0
    spread = _expected_spread(rows, counts, scatters, np.zeros(own.shape, np.bool_) if events is None else events)
    spread[:, _refuted(test)] = 1.0
    weights = np.array([_weighted(rows, counts / s**2) if np.ptp(s) else alike for s in spread.T])
    weights[_refuted(test)] = np.diag(tried.astype(np.float64))  # each arm by itself
    fitted = np.einsum("mac,cm->am", weights, own)
    if events is not None:
        fitted = np.where(events, np.clip(fitted, 0.0, 1.0), fitted)
    worth = np.clip(1.0 / np.maximum(np.diagonal(together), 1.0 / MOST_COUNTED), 1.0, MOST_COUNTED)
    if _refuted(test).any():
        worth = np.where(tried, np.minimum(worth, counts), worth)
    apart = np.where(tried[:, None], own - fitted, 0.0)
    square = scatters + counts[:, None, None] * apart[:, :, None] * apart[:, None, :]
    spent = np.diagonal(weights, axis1=1, axis2=2).T  # (K0, M)
    freedom = np.where(tried[:, None], np.maximum(counts[:, None] - spent, 0.0), 0.0)
    shared = (freedom[:, :, None] + freedom[:, None, :]) / 2.0
    # Deviations over those that are to be expected have one covariance for all arms.
    both = spread[:, :, None] * spread[:, None, :]
    pooled = (square / both).sum(axis=0) / np.maximum(shared.sum(axis=0), 1.0)
    level = freedom.min(axis=1, initial=np.inf)
    pools, lent = pooling.among_equals(level, square / both, pooled)
    blended = (square + PRIOR * pools * both) / (shared + PRIOR)
    blended = pooling.as_own_trials_say(level, square, blended)
    if events is not None:
        _raise_events(blended, fitted, worth, events)
    lost = np.linalg.norm(aside, axis=1) > OUTSIDE * np.maximum(np.linalg.norm(design, axis=1), 1e-300)
    fitted[lost] = np.nan
    fitted[np.ix_(~tried, _refuted(test))] = np.nan
    parts = zip(weights, _variances(blended).T, freedom.T, strict=True)
    freedoms = np.min([_freedoms(weight, counts, variance, free, lent) for weight, variance, free in parts], axis=0)
    return LinearFit(fitted, weights, blended, freedoms, worth, pooled, counts, rows, test)


def _refuted(misfit: Floats) -> Flags:
    """Measures that are not linear in the features, by these chances of their misfits (M,)."""
    with np.errstate(invalid="ignore"):
        return np.asarray(misfit * max(len(misfit), 1) < REFUTED)


def _weighted(rows: Floats, trials: Floats) -> Floats:
    """H of trials with these weights (K0,)."""
    return np.asarray(rows @ solved(rows.T @ (trials[:, None] * rows), rows.T * trials))


def solved(matrix: Floats, right: Floats) -> Floats:
    """The solution of a linear system; the shortest one that comes nearest where the matrix is singular to rounding."""
    try:
        return np.asarray(np.linalg.solve(matrix, right))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(matrix, right, rcond=None)[0])


def _variances(covariances: Floats) -> Floats:
    return np.asarray(np.diagonal(covariances, axis1=1, axis2=2))


def _expected_spread(rows: Floats, counts: Floats, scatters: Floats, events: Flags) -> Floats:
    """Deviations of a trial that the features of an arm let expect, relative to each other (K0, M): one if alike.

    The logarithms of the arms' own variances are fitted by the same features: an arm's weight must not follow its own
    luck, for whoever looks cheap by luck looks quiet too. Only where these differ tenfold or more, beyond doubt, and
    each arm has shown some spread: what never varied in one arm may be rare, not certain.
    """
    from scipy.special import polygamma, psi

    result, twice = np.ones(events.shape), counts > 1
    half = np.maximum(counts - 1.0, 1.0) / 2.0
    with_level = np.column_stack([rows, np.ones(len(rows))])
    for m in range(events.shape[1]):
        variance = _variances(scatters)[:, m] / (2.0 * half)
        if events[:, m].any() or twice.sum() <= 2 * rows.shape[1] or not (variance[twice] > 0.0).all():
            continue
        logs = np.log(variance[twice]) - psi(half[twice]) + np.log(half[twice])
        sure = 1.0 / polygamma(1, half[twice])
        known = with_level[twice] * sure[:, None]
        found = with_level @ np.linalg.solve(known.T @ with_level[twice] + RIDGE * np.eye(len(known.T)), known.T @ logs)
        found -= np.average(found[twice], weights=sure)
        differ = (sure * found[twice] ** 2).sum()
        if np.ptp(found[twice]) >= np.log(UNEQUAL) and differ > SURELY * rows.shape[1]:
            result[:, m] = np.exp(np.clip(found, -np.log(WIDEST), np.log(WIDEST)) / 2.0)
    return result


def _raise_events(covariances: Floats, means: Floats, worth: Floats, events: Flags) -> None:
    """Give values of 0 and 1 at least the variance of a share with a few events added to those of the fit."""
    n, share = worth[:, None], np.clip(means, 0.0, 1.0)
    share = (n * share + FEW_EVENTS) / (n + 2.0 * FEW_EVENTS)
    each = np.arange(means.shape[1])
    least = np.where(events, share * (1.0 - share), 0.0)
    covariances[:, each, each] = np.maximum(covariances[:, each, each], least)


def _freedoms(weights: Floats, counts: Floats, variances: Floats, freedom: Floats, lent: Floats) -> Floats:
    parts = weights**2 * (variances / (variances.max() or 1.0) / np.maximum(counts, 1.0))
    squares = (parts**2 / np.maximum(freedom + lent, 1.0)).sum(axis=1)
    found = np.divide(parts.sum(axis=1) ** 2, squares, out=np.full(len(parts), np.inf), where=squares > 0)
    return np.asarray(np.minimum(found, max(freedom.sum(), 1.0)))


def fitted_estimates(evidence: "Evidence", fit: LinearFit) -> Estimates:
    """What the certainty of limits and supports is reckoned from, by a fit.

    An arm counts as many trials as would tell as much about it by itself.
    """
    problem, unknown, arms = evidence.problem, len(fit.counts), len(evidence.means)
    covariances = _mean_errors(evidence, fit)
    variances = np.maximum(np.diagonal(covariances[np.arange(unknown), np.arange(unknown)], axis1=1, axis2=2), 0.0)
    errors = np.sqrt(variances)
    lost = np.isnan(fit.means).any(axis=1)
    worth = np.floor(fit.worth)
    counts = np.r_[np.where(lost, 0.0, worth), np.full(arms - unknown, np.inf)]
    both = errors[:, None, :, None] * errors[None, :, None, :]
    shared = np.divide(covariances, both, out=np.zeros_like(covariances), where=both > 0.0)
    shared[np.arange(unknown), np.arange(unknown)] = 0.0
    own = covariances[np.arange(unknown), np.arange(unknown)] * worth[:, None, None]
    known = ((0, arms - unknown), (0, 0), (0, 0))
    return Estimates(
        evidence.means,
        np.pad(own, known),
        counts,
        problem.rows.events(evidence.events),
        shared=np.pad(shared, ((0, arms - unknown), *known)),
        lent=np.r_[fit.freedoms - (worth - 1.0), np.zeros(arms - unknown)],
        skew=_skew(evidence, fit, variances, worth),
        fitted=True,
    )


def _mean_errors(evidence: "Evidence", fit: LinearFit) -> Floats:
    """Covariances of the estimated goal and limits of every two arms (K0, K0, 1 + L, 1 + L); zero for what is known."""
    size, turn = fit.covariances.shape[1], evidence.problem.rows.transform
    each = fit.covariances / np.maximum(fit.counts, 1.0)[:, None, None]
    measured = np.empty((*fit.weights.shape[1:], size, size))
    for i in range(size):
        for j in range(i + 1):
            measured[:, :, i, j] = (fit.weights[i] * each[:, i, j]) @ fit.weights[j].T
            measured[:, :, j, i] = measured[:, :, i, j].T
    learnt = np.isnan(evidence.problem.partly_known)
    measured *= learnt[:, None, :, None] & learnt[None, :, None, :]
    return measured if evidence.problem.rows.direct else np.asarray(turn @ measured @ turn.T)


def _skew(evidence: "Evidence", fit: LinearFit, variances: Floats, worth: Floats) -> Floats | None:
    """Skewness to reckon with (K, 1 + L, 3), of as many trials as an arm counts: third moments of arms add up.

    Rare values are an arm's own.
    """
    from bestmix.answers.skewness import SKEWNESS

    skew, unknown = evidence.row_skew, len(fit.counts)
    if skew is None:
        return None
    spread = np.diagonal(evidence.problem.rows.scatters(fit.covariances), axis1=1, axis2=2)
    third = skew[:unknown, :, SKEWNESS] * np.maximum(spread, 0.0) ** 1.5 / np.maximum(fit.counts, 1.0)[:, None] ** 2
    size = variances**1.5
    main = np.abs(evidence.problem.rows.transform).argmax(axis=1)  # the measure that a row is mostly made of
    cubes = np.einsum("rac,cr->ar", fit.weights[main] ** 3, third)
    found = np.divide(cubes, size, out=np.zeros_like(size), where=size > 0)
    result = skew.copy()
    result[:unknown, :, SKEWNESS] = found * np.sqrt(worth)[:, None]
    return result


def fit_note(evidence: "Evidence") -> str:
    """What the trials say of the features; no text where that is nothing."""
    fit, measures = evidence.fitted, evidence.problem.measures
    if fit is None:
        return "There are too few trials for a fit by features." if evidence.problem.features else ""
    wrong = [f"{name} (p = {p:.2g})" for name, p, bad in zip(measures, fit.misfit, fit.refuted, strict=True) if bad]
    told = "Means are of one fit of all trials by the arms' features"
    if wrong:
        said = f"The arms are not linear in their features: {', '.join(wrong)}."
        if evidence.fit is None:
            return f"{said} Each arm's own trials were used instead; add features, or leave them out."
        said += " There each arm's own trials were used instead."
        rest = [name for name, bad in zip(measures, fit.refuted, strict=True) if not bad]
        told = f"{said} Means of {' and '.join(rest)} are of one fit of all trials by these features"
    if fit.design.shape[1] >= np.count_nonzero(evidence.counts):
        return f"{told}.{_untried(evidence, fit)}"
    if np.isnan(fit.misfit).any():
        return f"{told}, on which all of this rests; too few arms were tried twice to test it.{_untried(evidence, fit)}"
    least = min(float(fit.misfit[~fit.refuted].min()) * len(fit.misfit), 1.0)
    tested = f"they do not contradict it (lack of fit: p = {least:.2g})"
    return f"{told}, on which all of this rests; {tested}.{_untried(evidence, fit)}"


def _untried(evidence: "Evidence", fit: LinearFit) -> str:
    """Which arms are known by others' trials alone, and of which nothing is known."""
    never, lost = evidence.counts == 0, np.isnan(fit.means).any(axis=1)
    text = ""
    for what, some in (
        ("Never tried, so known by others' trials alone and not in the mix to deploy", never & ~lost),
        ("Never tried, and others' trials do not tell of", never & lost),
    ):
        names = [evidence.problem.trial_names[a] for a in np.flatnonzero(some)]
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if names[5:] else "")
        text += f" {what}: {shown}." if names else ""
    return text
