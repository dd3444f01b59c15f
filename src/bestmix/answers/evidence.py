"""What the trials have told so far: counts, means and covariances of every arm."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from bestmix.answers.moments import Moments
from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels import sampling
from bestmix.problems.problem import Problem
from bestmix.problems.quantities import Share

if TYPE_CHECKING:
    from bestmix.answers.blocks import Blocks
    from bestmix.answers.linear_fit import LinearFit
    from bestmix.answers.safety import Estimates

SMALLEST = 1e-145  # of the largest value of a measure: the squares of smaller deviations are no floats any more


@dataclass(frozen=True, eq=False)
class Evidence:
    """The problem and the running sums of its unknown arms, in order; by item too, where arms share these.

    ``least`` (M,) is what the scatter of each measure counts as where an arm's trials were all alike; 0 by default.
    """

    problem: Problem
    moments: list[Moments]
    items: "Blocks | None" = None
    least: Floats | None = None

    @cached_property
    def counts(self) -> Integers:
        """Trials of each unknown arm (K0,)."""
        return np.array([m.count for m in self.moments], dtype=np.int64)

    @cached_property
    def fitted(self) -> "LinearFit | None":
        """The fit of all arms by their features; None where they have none, or there are too few trials for one."""
        if self.problem.design is None or self.items is not None:
            return None
        from bestmix.answers.linear_fit import linear_fit

        known = self.problem.partly_known
        means = np.where(np.isnan(known), self._own_means, known)
        told = self.counts.astype(np.float64), means, self._own_scatters
        asked = np.asarray(np.isnan(known).any(axis=0))  # what is known of all arms needs no fit
        return linear_fit(self.problem.design, *told, self.events[: len(self.moments)], asked)

    @property
    def fit(self) -> "LinearFit | None":
        """The same, unless the trials refute all of it: then each arm's own trials speak for it alone."""
        asked = np.isnan(self.problem.partly_known).any(axis=0)
        return None if self.fitted is None or self.fitted.refuted[asked].all() else self.fitted

    @cached_property
    def _own_means(self) -> Floats:
        """Mean of each measure in the trials of each unknown arm (K0, M); NaN for one without trials."""
        return np.array([m.mean() for m in self.moments]).reshape(self.problem.partly_known.shape)

    @cached_property
    def measured(self) -> Floats:
        """Mean of each measure of every arm (K, M), as estimated or as known; NaN for an arm without trials."""
        known = self.problem.partly_known
        means = self._own_means if self.fit is None else self.fit.means
        return np.vstack([np.where(np.isnan(known), means, known), self.problem.known_measures])

    @cached_property
    def vanishing(self) -> Flags:
        """Measures that are so small everywhere that their squares vanish (M,): they would seem to have no spread.

        Values next to nothing beside larger ones, or under a larger bound, are as good as zero.
        """
        sizes = np.nanmax(np.abs(self.measured), axis=0, initial=0.0)
        for limit in self.problem.limits:
            if len(limit.columns) == 1 and limit.arm is None:
                place = self.problem.rows.measures.index(limit.columns[0])
                sizes[place] = max(sizes[place], abs(limit.bound))
        return np.asarray((sizes > 0.0) & (sizes < SMALLEST) & self.counts.any())

    @property
    def scale_note(self) -> str:
        """Why nothing is said of values that are too small; no text where none are."""
        names = " and ".join(name for name, tiny in zip(self.problem.measures, self.vanishing, strict=True) if tiny)
        return f"Values of {names} are too small to be squared: change the unit of measurement." if names else ""

    @property
    def fit_note(self) -> str:
        """What the trials say of the features; no text where that is nothing."""
        from bestmix.answers.linear_fit import fit_note

        return fit_note(self) if self.problem.features else ""

    @cached_property
    def means(self) -> Floats:
        """Mean reward and costs of every arm (K, 1 + L): the goal and the limits in the measures.

        By a fit a limit on a share is one of these, too: on the mean of what is 1 for its arm.
        """
        means = self.problem.rows.means(self.measured)
        shares = [l for l, limit in enumerate(self.problem.limits) if limit.on_share]
        if self.fit is not None and shares:
            means = means.copy()
            for l in shares:
                limit = self.problem.limits[l]
                means[:, 1 + l] = [limit.sign * (Share(name) == limit.quantity) for name in self.problem.names]
        return means

    @cached_property
    def tried(self) -> Integers:
        """Columns that can be used: known arms, arms with trials, and all slacks."""
        unknown, columns = len(self.moments), len(self.problem.columns)
        told = self.counts > 0 if self.fit is None else ~np.isnan(self.fit.means).any(axis=1)
        return np.array([*np.flatnonzero(told), *range(unknown, columns)], dtype=np.int64)

    @cached_property
    def measured_scatters(self) -> Floats:
        """Scatter of the measures in the trials of each unknown arm (K0, M, M), zero for what is known."""
        known = ~np.isnan(self.problem.partly_known)
        scatters = self._own_scatters
        return np.where(known[:, :, None] | known[:, None, :], 0.0, scatters) if known.any() else scatters

    @cached_property
    def _own_scatters(self) -> Floats:
        arms, size = self.problem.partly_known.shape
        scatters = np.array([m.scatter() for m in self.moments]).reshape(arms, size, size)
        sampling.raise_scatter(self.least, scatters)
        return scatters

    @cached_property
    def scatters(self) -> Floats:
        """Scatter of the trials of each unknown arm (K0, 1 + L, 1 + L), seen through the goal and the limits."""
        return self.problem.rows.scatters(self.measured_scatters)

    @cached_property
    def pooled(self) -> Floats | None:
        """Covariance of one trial, of all arms together (1 + L, 1 + L); None when no arm has two trials."""
        from bestmix.kernels import conditions, jit

        if self.fit is not None:
            return np.asarray(self.problem.rows.scatters(self.fit.pooled[None])[0])
        pooled = np.empty(self.scatters.shape[1:])
        pool = jit.speed_for(len(self.counts))(conditions.pool_scatter)
        return pooled if pool(self.counts, self.scatters, pooled) else None

    @cached_property
    def estimates(self) -> "Estimates":
        """What the limits' certainty is reckoned from: means, covariances, counts, flags."""
        return self._estimates(as_possible=False)

    @cached_property
    def deployable(self) -> "Estimates":
        """The same for what may be deployed: an arm that a fit alone knows has no trials, and is to be tried first."""
        tried = np.r_[self.counts > 0, np.ones(len(self.means) - len(self.counts), dtype=np.bool_)]
        return self.estimates._replace(counts=np.where(tried, self.estimates.counts, 0.0))

    @cached_property
    def support_estimates(self) -> "Estimates":
        """What the chance of a support is reckoned from: arms that are unlike the others are not made like them."""
        return self.estimates if self.fit is not None else self._estimates(as_possible=True)

    def _estimates(self, as_possible: bool) -> "Estimates":
        from bestmix.answers.linear_fit import fitted_estimates
        from bestmix.answers.safety import estimates

        if self.fit is not None:
            return fitted_estimates(self, self.fit)
        known = np.zeros((len(self.means) - len(self.moments), *self.scatters.shape[1:]))
        counts, events = np.r_[self.counts, np.full(len(known), np.inf)], self.problem.rows.events(self.events)
        scatters = np.concatenate([self.scatters, known])
        return estimates(self.means, scatters, counts, events, as_possible, self.row_skew)._replace(shared=self.shared)

    def freedom(self, arm: int) -> float:
        """Degrees of freedom of the errors of an unknown arm's means."""
        return float(self.counts[arm] - 1) if self.fit is None else float(self.fit.freedoms[arm])

    def mean_covariance(self, arm: int) -> Floats | None:
        """Covariance of the estimated measures of an unknown arm (M, M); None where it cannot be said."""
        if self.fit is not None:
            return self.fit.mean_covariance(arm)
        moments = self.moments[arm]
        return moments.covariance() / moments.count if moments.count > 1 else None

    @cached_property
    def skew(self) -> Floats | None:
        """Skewness and rare values of measures (K, M, 3) to reckon with; None where there are none, or not known."""
        from bestmix.answers.skewness import counted, sample_skewness

        sample, unknown = sample_skewness(self.moments), len(self.moments)
        if sample is None:
            return None
        told = self.counts.astype(np.float64), self._own_means, self.measured_scatters
        found = counted(sample, *told, self.events[:unknown])
        if found is None:
            return None
        found[~np.isnan(self.problem.partly_known)] = 0.0
        return np.pad(found, ((0, len(self.measured) - unknown), (0, 0), (0, 0)))

    @cached_property
    def row_skew(self) -> Floats | None:
        """The same of the goal and the limits (K, 1 + L, 3)."""
        from bestmix.answers.skewness import of_entries

        if self.skew is None or self.problem.rows.direct:
            return self.skew
        found = of_entries(self.problem.rows.transform, self.skew[: len(self.moments)], self.measured_scatters)
        return np.pad(found, ((0, len(self.means) - len(found)), (0, 0), (0, 0)))

    @cached_property
    def shared(self) -> Floats | None:
        """Correlations of the means of different arms (K, K, 1 + L, 1 + L); None where they share no items."""
        from bestmix.answers.shared_items import mean_correlations

        if self.items is None:
            return None
        known = len(self.means) - len(self.moments)
        found = mean_correlations(self.items, self.counts.astype(np.float64), self.problem.rows.transform)
        return np.pad(found, ((0, known), (0, known), (0, 0), (0, 0)))

    @property
    def reward_range(self) -> tuple[float, float]:
        """Between what the objective of any mix is: of values of 0 and 1 it is a share; infinite ends for others."""
        problem = self.problem
        shares = self.measured[:, 0]
        if problem.goal.quantity != problem.rows.measures[0] or not self.events[: len(self.moments), 0].all():
            return -np.inf, np.inf
        if ((shares < 0.0) | (shares > 1.0)).any():  # means that are known otherwise
            return -np.inf, np.inf
        return (0.0, 1.0) if problem.goal.maximise else (-1.0, 0.0)

    @cached_property
    def events(self) -> Flags:
        """Measures of each arm that were 0 or 1 in every trial of all arms (K, M).

        An arm that is free of charge has no events that were never seen: a metric is of 0 and 1 for all arms or none.
        """
        flags = np.array([m.binary() for m in self.moments if m.count], dtype=np.bool_)
        events = np.zeros((len(self.moments) + len(self.problem.known_measures), len(self.problem.measures)), np.bool_)
        events[: len(self.moments)] = flags.all(axis=0) if len(flags) else False
        return events
