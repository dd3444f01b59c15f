"""How the rows of a program of segments are made of what trials return, the metrics.

An entry of the objective or of a limit is a linear function of a column's mean metrics plus a constant; a limit that
is relative to an arm has its mean, times a factor, taken off. One metric may serve several rows, a limit on shares
reads none, and some means may be known before any trial.
"""

from typing import NamedTuple

import numpy as np

from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels.columns import above
from bestmix.kernels.jit import compiled
from bestmix.kernels.segment_conditions import Noise


class Layout(NamedTuple):
    """Columns and rows of a program before any trial: n columns in S segments, R limits, M metrics.

    Attributes
    ----------
    sizes, arm
        Number of columns of each segment (S,), whose columns follow each other; the arm of each column (n,).
    transform
        The objective and the limits as linear functions of the metrics, by segment: (S, 1 + R, M).
    constant
        What is added to each column's entry in each limit, such as minus the bound: (n, R).
    right, equality
        Right sides (R,), zero where constants hold the bounds; which limits are equalities (R,).
    known
        Limits whose rows have no noise at all, those on shares and those on metrics that are all given, and the flow
        between states, which every policy keeps (R,).
    reference, factor
        For relative limits the column by whose mean each segment's entries are reduced, -1 for none: (S, R); and
        what multiplies that mean: (R,).
    given
        Means that are known beforehand, NaN where trials tell: (n, M).
    offset
        What is added to each column's objective: (n,).
    """

    sizes: Integers
    arm: Integers
    transform: Floats
    constant: Floats
    right: Floats
    equality: Flags
    known: Flags
    reference: Integers
    factor: Floats
    given: Floats
    offset: Floats


class Part(NamedTuple):
    """Some columns of a layout, the numbers of these in it, and those of the segments that they are in."""

    layout: Layout
    columns: Integers
    segments: Integers


@compiled
def set_entries(layout: Layout, means: Floats, mu: Floats, rows: Floats) -> None:
    """Write the objective (n,) and the entries in the limits (n, R) of columns with these mean metrics (n, M)."""
    sizes, transform, constant = layout.sizes, layout.transform, layout.constant
    reference, factor = layout.reference, layout.factor
    limits, first = layout.right.shape[0], 0
    for s in range(sizes.shape[0]):
        for j in range(first, first + sizes[s]):
            mu[j] = layout.offset[j] + seen(transform[s, 0], means[j])
            for r in range(limits):
                rows[j, r] = above(seen(transform[s, 1 + r], means[j]), -constant[j, r])
        for r in range(limits):
            if reference[s, r] >= 0:
                less = factor[r] * seen(transform[s, 1 + r], means[reference[s, r]])
                for j in range(first, first + sizes[s]):
                    rows[j, r] = above(rows[j, r], less)
        first += sizes[s]


@compiled
def seen(direction: Floats, means: Floats) -> float:
    """Linear function of the metrics; those that it does not read may be anything."""
    total = 0.0
    for m in range(means.shape[0]):
        if direction[m] != 0.0:
            total += direction[m] * means[m]
    return total


@compiled
def new_noise(layout: Layout, covariance: Floats, arrivals: float) -> Noise:
    """Where the noise of the entries comes from; covariances of what is given become zero."""
    given = layout.given
    for j in range(given.shape[0]):
        for m in range(given.shape[1]):
            if not np.isnan(given[j, m]):
                covariance[j, m, :] = 0.0
                covariance[j, :, m] = 0.0
    return Noise(layout.transform, covariance, layout.known, layout.reference, layout.factor, arrivals)


@compiled
def fill_given(layout: Layout, means: Floats) -> None:
    """Put the given means in the place of those that trials told."""
    given = layout.given
    for j in range(given.shape[0]):
        for m in range(given.shape[1]):
            if not np.isnan(given[j, m]):
                means[j, m] = given[j, m]


@compiled
def usable(layout: Layout, tried: Flags) -> Flags:
    """Columns that can be used (n,): those tried, in segments whose columns of reference were tried as well."""
    result, first = tried.copy(), 0
    for s in range(layout.sizes.shape[0]):
        last = first + layout.sizes[s]
        for r in range(layout.right.shape[0]):
            if layout.reference[s, r] >= 0 and not tried[layout.reference[s, r]]:
                result[first:last] = False
        first = last
    return result


@compiled
def part(layout: Layout, use: Flags) -> Part:
    """Only the columns ``use`` (n,), which include those of reference; without the segments that have none of them."""
    place, count = np.full(use.shape[0], -1), 0
    for j in range(use.shape[0]):
        if use[j]:
            place[j], count = count, count + 1
    left, first = np.zeros(layout.sizes.shape[0], dtype=np.int64), 0
    for s in range(left.shape[0]):
        for j in range(first, first + layout.sizes[s]):
            left[s] += 1 if use[j] else 0
        first += layout.sizes[s]
    columns, segments = np.flatnonzero(use), np.flatnonzero(left > 0)
    reference = layout.reference[segments]
    for s in range(reference.shape[0]):
        for r in range(reference.shape[1]):
            if reference[s, r] >= 0:
                reference[s, r] = place[reference[s, r]]
    inner = Layout(
        left[segments],
        layout.arm[columns],
        layout.transform[segments],
        layout.constant[columns],
        layout.right,
        layout.equality,
        layout.known,
        reference,
        layout.factor,
        layout.given[columns],
        layout.offset[columns],
    )
    return Part(inner, columns, segments)


def known_rows(layout: Layout) -> Flags:
    """Limits that read only what is given (R,)."""
    first = np.r_[0, np.cumsum(layout.sizes)]
    result = np.ones(len(layout.right), dtype=np.bool_)
    for s in range(len(layout.sizes)):
        open_ = np.isnan(layout.given[first[s] : first[s + 1]]).any(axis=0)
        result &= ~((layout.transform[s, 1:] != 0) & open_).any(axis=1)
    return result


def known_columns(rows: Layout) -> Flags:
    """Columns of which all that the objective and the limits read is given (n,)."""
    read = np.repeat((rows.transform != 0).any(axis=1), rows.sizes, axis=0)
    return np.asarray(~(read & np.isnan(rows.given)).any(axis=1))


def new_layout(
    sizes: Integers | list[int],
    transform: Floats,
    constant: Floats,
    *,
    arm: Integers | None = None,
    right: Floats | None = None,
    equality: Flags | None = None,
    reference: Integers | None = None,
    factor: Floats | None = None,
    given: Floats | None = None,
) -> Layout:
    """Layout with what is usual where nothing is said: limits "at most" zero, none relative, nothing given.

    >>> import numpy as np
    >>> shares = new_layout([2, 2], np.zeros((2, 2, 1)), np.array([[0.6], [-0.4], [0.6], [-0.4]]))
    >>> shares.known, shares.arm
    (array([ True]), array([0, 1, 0, 1]))
    """
    sizes, limits = np.array(sizes, dtype=np.int64), transform.shape[1] - 1
    n, none = int(sizes.sum()), np.zeros(limits)
    arms = np.concatenate([np.arange(size) for size in sizes]) if arm is None else np.array(arm)
    result = Layout(
        sizes,
        arms.astype(np.int64),
        np.array(transform, dtype=np.float64),
        np.array(constant, dtype=np.float64),
        none if right is None else np.array(right, dtype=np.float64),
        np.zeros(limits, dtype=np.bool_) if equality is None else np.array(equality, dtype=np.bool_),
        np.zeros(limits, dtype=np.bool_),
        np.full((len(sizes), limits), -1) if reference is None else np.array(reference, dtype=np.int64),
        none.copy() if factor is None else np.array(factor, dtype=np.float64),
        np.full((n, transform.shape[2]), np.nan) if given is None else np.array(given, dtype=np.float64),
        np.zeros(n),
    )
    return result._replace(known=known_rows(result))
