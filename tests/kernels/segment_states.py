"""Random problems of segments with limits of every kind, and what trials say about them."""

from typing import NamedTuple

import numpy as np

from bestmix.answers.noisy_program import noisy_program
from bestmix.kernels import segment_state
from bestmix.kernels.layout import new_layout

METRICS = 3
KINDS = ("all segments", "one segment", "ratio", "share", "relative", "equality")


class Case(NamedTuple):
    """A layout with the truth, and the sums of some trials."""

    rows: segment_state.Layout
    weight: np.ndarray
    truth: np.ndarray
    means: np.ndarray
    scatter: np.ndarray
    counts: np.ndarray

    def program(self, arrivals=0.0, as_possible=False):
        told = self.means, self.scatter, self.counts
        return noisy_program(self.rows, self.weight, *told, arrivals=arrivals, as_possible=as_possible)

    def tried(self, arrivals=0.0):
        data = self.program(arrivals).data
        return segment_state.tried_state(self.rows, self.weight, arrivals, data.counts, data.means, self.scatter)


def random_case(rng, kinds=("all segments",), sizes=(4, 3, 4), trials=(5, 60), given=0.0, shift=-0.1):
    """Rewards that rise with costs; ``given`` is the share of means that are known."""
    sizes = np.array(sizes)
    n, count, limits = sizes.sum(), len(sizes), len(kinds)
    first = np.r_[0, np.cumsum(sizes)]
    transform, constant = np.zeros((count, 1 + limits, METRICS)), np.zeros((n, limits))
    reference, factor = np.full((count, limits), -1), np.zeros(limits)
    transform[:, 0, 0] = 1.0
    for r, kind in enumerate(kinds):
        for s in [rng.integers(count)] if kind == "one segment" else range(count):
            inside = slice(first[s], first[s + 1])
            if kind == "share":
                constant[inside, r] = (np.arange(sizes[s]) == 1) - 0.3
                continue
            transform[s, 1 + r, 1] = 1.0
            if kind == "ratio":
                transform[s, 1 + r, 2] = -0.4
            elif kind == "relative":
                reference[s, r], factor[r] = first[s], 0.8
            else:
                constant[inside, r] = shift
    truth = rng.normal(size=(n, METRICS))
    truth[:, 0] += 0.5 * truth[:, 1]  # what pays more costs more, so that limits bind
    counts = rng.integers(*trials, n).astype(float)
    means, scatter = np.empty((n, METRICS)), np.empty((n, METRICS, METRICS))
    for j in range(n):
        trial = truth[j] + rng.normal(size=(int(counts[j]), METRICS)) @ rng.normal(size=(METRICS, METRICS))
        means[j] = trial.mean(axis=0)
        scatter[j] = (trial - means[j]).T @ (trial - means[j])
    known = np.where(rng.random(truth.shape) < given, truth, np.nan)
    equality = np.array([kind == "equality" for kind in kinds], dtype=bool)
    rows = new_layout(sizes, transform, constant, equality=equality, reference=reference, factor=factor, given=known)
    return Case(rows, rng.dirichlet(np.full(count, 5.0)), truth, means, scatter, counts)


def plain_case(evidence, bound):
    """One segment with the arms and bounds of a plain problem."""
    arms, size = evidence.means.shape
    unknown = len(evidence.counts)
    given = np.where(np.arange(arms)[:, None] < unknown, np.nan, evidence.means)
    scatter, counts = np.zeros((arms, size, size)), np.zeros(arms)
    scatter[:unknown], counts[:unknown] = evidence.scatters, evidence.counts
    rows = new_layout([arms], np.eye(size)[None], np.tile(-bound, (arms, 1)), given=given)
    rows = rows._replace(known=np.zeros(size - 1, dtype=bool))
    return Case(rows, np.ones(1), evidence.means, evidence.means, scatter, counts)
