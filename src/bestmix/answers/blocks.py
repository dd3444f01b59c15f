"""Errors of means from sums by blocks, where trials are not independent: a user's many requests, the requests of a day.

A mean of an arm is a ratio of totals over blocks, so its error is that of the blocks' deviations from it (the
linearised, or cluster-robust, variance), and at least that of its trials one by one: blocks whose means happen to be
the same tell of no price. Blocks that differ in size count as fewer: as many as there would be of one size.

Deviations that arms have in common, as on a day that was bad for all, add up in a mix, which independent arms' errors
do not tell: where those of a limit at the recommended mix are wider together than apart, all errors of what it reads
are widened so. The bootstrap redraws whole blocks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.bootstrap import RedrawnLog
from bestmix.answers.evidence import Evidence
from bestmix.answers.logs.sum_tables import Sums
from bestmix.answers.moments import Moments
from bestmix.answers.recommend import recommend
from bestmix.answers.recommendation import Recommendation
from bestmix.arrays import Floats, Integers
from bestmix.problems.problem import Problem

MOST_ROUNDS = 8  # of recommending and widening
CLOSE = 1.01  # errors that would be wider by less are wide enough
NOTHING = 1e-12  # of a variance: rounding
TAIL = 0.975  # where Student's distribution and the normal one are compared


@dataclass(frozen=True, eq=False)
class Blocks:
    """Trials and sums of each arm (in each segment) in each block.

    >>> blocks = Blocks(np.array([[2.0], [2.0]]), np.array([[[2.0]], [[6.0]]]))
    >>> blocks.means, blocks.deviations.ravel()
    (array([[2.]]), array([-0.5,  0.5]))
    """

    counts: Floats  # (B, K0)
    sums: Floats  # (B, K0, M)

    @classmethod
    def of(cls, problem: Problem, found: Mapping[int, Sums], number: int) -> "Blocks":
        """From what a table says of each place in the problem; every arm must have trials in two blocks."""
        counts = np.zeros((number, len(problem.cells)))
        sums = np.zeros((number, len(problem.cells), len(problem.measures)))
        for place, part in found.items():
            np.add.at(counts[:, place], part.blocks, part.counts)
            np.add.at(sums[:, place], part.blocks, part.sums)
            if (counts[:, place] > 0).sum() < 2:
                name = problem.trial_names[place]
                raise checks.InvalidInput(
                    "blocks", expected=f"trials of {name!r} in at least two blocks", got="one", remedy="use more blocks"
                )
        return cls(counts, sums)

    @property
    def repeated(self) -> bool:
        """Whether an arm has several trials in one block."""
        return bool((self.counts > 1).any())

    @cached_property
    def means(self) -> Floats:
        """Of each arm (K0, M); 0 for one without trials."""
        return np.asarray(self.sums.sum(axis=0) / np.maximum(self.counts.sum(axis=0), 1.0)[:, None])

    @cached_property
    def deviations(self) -> Floats:
        """What each block adds to the error of each mean (B, K0, M)."""
        trials = np.maximum(self.counts.sum(axis=0), 1.0)
        return np.asarray((self.sums - self.counts[:, :, None] * self.means) / trials[:, None])

    @cached_property
    def covariances(self) -> Floats:
        """Of each arm's means (K0, M, M), wide enough for few blocks."""
        wider = widened(alike(self.counts))[:, None, None]
        return np.asarray(np.einsum("bki,bkj->kij", self.deviations, self.deviations) * wider)

    def variances(self, weights: Floats, transform: Floats, covariances: Floats) -> tuple[Floats, Floats]:
        """Of linear functions of the measures, each at weights of its own (R, K0): arms together, and apart (R,).

        Arms apart have the ``covariances`` of their means. Together, a block is as large as its share of the mix.
        """
        rows = np.einsum("bkm,rm,rk->br", self.deviations, transform, weights)
        apart = np.einsum("rk,rm,kmn,rn->r", weights**2, transform, covariances, transform)
        sizes = self.counts / np.maximum(self.counts.sum(axis=0), 1.0) @ np.abs(weights).T
        return (rows**2).sum(axis=0) * widened(alike(sizes)), np.asarray(apart)

    def errors(self, plain: list[Moments]) -> Floats:
        """``covariances``, with those of the trials one by one where these are wider."""
        result = self.covariances.copy()
        for place, one in enumerate(plain):
            if one.count > 1:  # a scatter s makes a mean's variance s / (n - 1) / n
                result[place] = at_least(one.scatter() / (one.count * (one.count - 1.0)), result[place])
        return result

    def redrawn(self, rng: np.random.Generator, segments: int = 1) -> RedrawnLog:
        """As many blocks, redrawn; of an arm that they miss, the means of all."""
        times = rng.multinomial(len(self.counts), np.full(len(self.counts), 1.0 / len(self.counts))).astype(np.float64)
        trials = times @ self.counts
        sums = np.einsum("b,bkm->km", times, self.sums)
        means = np.where(trials[:, None] > 0, sums / np.maximum(trials, 1.0)[:, None], self.means)
        means[~self.counts.any(axis=0)] = np.nan
        return RedrawnLog(means, trials.reshape(segments, -1).sum(axis=1).astype(np.int64))


def alike(sizes: Floats) -> Floats:
    """How many blocks of one size tell as much as blocks of these sizes (B, ...).

    >>> alike(np.array([[4.0, 4.0, 4.0], [9.0, 1.0, 0.0]]).T).round(2)
    array([3.  , 1.22])
    """
    squares = (sizes**2).sum(axis=0)
    return np.asarray(sizes.sum(axis=0) ** 2 / np.where(squares > 0, squares, 1.0))


def at_least(own: Floats, scatter: Floats) -> Floats:
    """A scatter (M, M) with no measure's below that of the trials one by one.

    >>> at_least(np.diag([4.0, 1.0]), np.array([[1.0, 1.0], [1.0, 9.0]])).tolist()
    [[4.0, 2.0], [2.0, 9.0]]
    """
    least, found = np.diag(own), np.diag(scatter)
    none = found <= NOTHING * least  # the means of the blocks happen to be the same
    ratio = np.sqrt(np.maximum(np.divide(least, found, out=np.ones_like(found), where=~none), 1.0))
    result = scatter * np.outer(ratio, ratio)
    result[none], result[:, none] = 0.0, 0.0
    result[np.ix_(none, none)] = own[np.ix_(none, none)]
    return np.asarray(result)


def widened(blocks: Floats | np.ndarray) -> Floats:
    """What makes squared deviations of few blocks a variance that normal intervals may use: unbiased, and Student's.

    >>> widened(np.array([2, 10, 1000])).round(2)
    array([84.06,  1.48,  1.  ])
    """
    from scipy.special import ndtri, stdtrit

    number = np.maximum(np.asarray(blocks, dtype=np.float64), 2.0)
    return np.asarray(number / (number - 1.0) * (stdtrit(number - 1.0, TAIL) / ndtri(TAIL)) ** 2)


def recommend_in_blocks(
    problem: Problem, plain: list[Moments], blocks: Blocks, safety: float | None, strategy: str
) -> Recommendation:
    """The recommendation with the errors of blocks, widened until they are those of the mix that it recommends."""
    errors = blocks.errors(plain)

    def answered(widening: Floats) -> Recommendation:
        evidence = Evidence(problem, with_errors(plain, errors * np.outer(widening, widening)))
        return recommend(evidence, evidence.tried, strategy=strategy, safety=safety)

    return _widened_answer(problem, blocks, errors, answered)


def with_errors(plain: list[Moments], covariances: Floats) -> list[Moments]:
    """Trials with the same means, whose errors have these covariances (K0, M, M)."""
    pairs = zip(plain, covariances, strict=True)
    return [_with_scatter(one, error * (one.count * (one.count - 1.0))) for one, error in pairs]


def recommend_on_items(evidence: Evidence, items: Blocks, columns: Integers | None, **asked: Any) -> Recommendation:
    """The recommendation where arms share items, and limits are not on means of one segment alone.

    Errors are widened until they are those of the mix that it recommends; nothing is narrowed.
    """
    problem = evidence.problem

    def answered(widening: Floats) -> Recommendation:
        scale = np.outer(widening, widening)
        same = bool((widening == 1.0).all())
        moments = [m if same else _with_scatter(m, m.scatter() * scale) for m in evidence.moments]
        return recommend(Evidence(problem, moments), columns, **asked)

    answer = _widened_answer(problem, items, items.covariances, answered)
    return replace(answer, items=len(items.counts), told=tuple(evidence.moments))


def _with_scatter(moments: Moments, scatter: Floats) -> Moments:
    """Trials with the same mean and another scatter; a single one has none."""
    if moments.count < 2:
        return moments
    return Moments.from_statistics(moments.count, moments.mean(), scatter).as_skewed(moments.skewness())


def _widened_answer(
    problem: Problem, blocks: Blocks, errors: Floats, answered: Callable[[Floats], Recommendation]
) -> Recommendation:
    """The answer whose errors, those of arms apart at first, are wide enough for the mix that it recommends."""
    widening = np.ones(len(problem.measures))
    for _ in range(MOST_ROUNDS):
        answer = answered(widening)
        wider = np.maximum(widening, _widening(problem, blocks, errors, answer.mixture))
        if (wider <= CLOSE * widening).all():
            break
        widening = wider
    return answer


def _widening(problem: Problem, blocks: Blocks, errors: Floats, mixture: Mapping[str, float]) -> Floats:
    """By how much the error of each measure is wider than independent arms' errors tell, at a mix; at least 1 (M,)."""
    transform = problem.rows.transform
    together, apart = blocks.variances(_weights(problem, mixture), transform, errors)
    ratio = np.sqrt(np.divide(together, apart, out=np.ones_like(apart), where=apart > 0))
    return np.asarray(np.where(transform != 0.0, np.maximum(ratio, 1.0)[:, None], 1.0).max(axis=0))


def _weights(problem: Problem, mixture: Mapping[str, float]) -> Floats:
    """Weight of each arm that is tried in the goal and in each limit (1 + L, K0)."""
    cells = (*problem.cells, *problem.known_cells)
    shares = {cell: mixture.get(name, 0.0) for cell, name in zip(cells, problem.names, strict=True)}
    rows = [np.array([shares[cell] for cell in problem.cells])]
    for limit in problem.limits:
        weights = [shares[cell] if limit.segment in (None, cell.segment) else 0.0 for cell in problem.cells]
        for place, cell in enumerate(problem.cells):
            if limit.arm == cell.arm and limit.segment in (None, cell.segment):
                users = sum(share for other, share in shares.items() if other.segment == cell.segment)
                weights[place] -= limit.factor * users
        rows.append(np.array(weights))
    return np.array(rows)
