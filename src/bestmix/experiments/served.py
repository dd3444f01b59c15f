"""What live traffic has really cost: the mean of what each limit is about, over all requests that were served."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from bestmix.answers.moments import Moments
from bestmix.arrays import Flags, Floats
from bestmix.experiments.model import RunState
from bestmix.experiments.revision import Revision
from bestmix.experiments.store import TrafficContents
from bestmix.experiments.traffic import START, known_counts
from bestmix.experiments.traffic_model import TrafficState
from bestmix.problems.limits import Limit
from bestmix.problems.quantities import Ratio, Share


def traffic_state(now: Revision, run: RunState, held: TrafficContents) -> TrafficState:
    """What is told of live traffic, from what a store keeps of it."""
    sums: defaultdict[int, dict[int, Moments]] = defaultdict(dict)
    for (number, arm), found in held.sums.items():
        sums[number][arm] = found
    start, versions = sums[START], [sums[version.number] for version in held.versions]
    known = [found.count for found in known_counts(now.problem, run.memory)]
    return TrafficState(
        held.versions,
        [sum(found.count for found in version.values()) for version in versions],
        held.edges,
        served_means(now, all_served(now, run.moments, known, start)),
        [served_means(now, version) for version in versions],
    )


def served_means(now: Revision, sums: Mapping[int, Moments]) -> dict[str, float]:
    """Means by the names of the limits, from sums by the number of ``Revision.served``; without those of no request.

    >>> from bestmix import Known, Problem
    >>> now = Revision.beginning(Problem(["a"], {"dollars": 1.0}, known={"off": Known(0.0, {"dollars": 0.0})}))
    >>> served_means(now, {0: Moments.from_sums(2, [1.0, 3.0], [1.0, 1.0, 5.0]), 1: Moments(2, 1)})
    {'dollars': 1.0}
    """
    problem = now.problem
    counts, totals = np.zeros(len(now.served)), np.zeros((len(now.served), len(problem.measures)))
    for arm, found in sums.items():
        counts[arm] = found.count
        totals[arm] = _total(found)
    for cell, means in zip(problem.known_cells, problem.known_measures, strict=True):
        arm = now.served.index(cell)
        totals[arm] = counts[arm] * means
    limits = zip(problem.costs, problem.limits, strict=True)
    found_means = {name: _mean(now, limit, counts, totals) for name, limit in limits}
    return {name: mean for name, mean in found_means.items() if mean is not None}


def all_served(
    now: Revision, moments: Sequence[Moments], known: Sequence[int], start: Mapping[int, Moments]
) -> dict[int, Moments]:
    """Sums of all requests by the number of ``Revision.served``: what the store has, but for what was known before."""
    ours = dict(zip(now.cells, moments, strict=True))
    counts = dict(zip(now.problem.known_cells, known, strict=True))
    size, found = len(now.problem.measures), dict[int, Moments]()
    for arm, cell in enumerate(now.served):
        if cell in counts:
            found[arm] = Moments(size, counts[cell])
        elif cell in ours and ours[cell].count:
            found[arm] = _without(ours[cell], start.get(now.cells.index(cell)))
    return found


def _without(all_: Moments, before: Moments | None) -> Moments:
    """Sums without some of those that they have; products are not asked for."""
    if before is None:
        return all_
    count, totals = all_.count - before.count, _total(all_) - _total(before)
    return Moments.from_sums(count, totals.tolist(), [0.0] * len(all_.products))


def _total(sums: Moments) -> Floats:
    return np.array([s.total / (1 << s.shift) for s in sums.sums])


def _mean(now: Revision, limit: Limit, counts: Floats, totals: Floats) -> float | None:
    """Of one limit; None without requests."""
    inside: Flags = np.array([limit.segment in (None, cell.segment) for cell in now.served])
    requests, quantity, measures = float(counts[inside].sum()), limit.quantity, now.problem.rows.measures
    if not requests:
        return None
    if isinstance(quantity, Share):
        return float(sum(counts[inside & np.array([cell.arm == quantity.arm for cell in now.served])]) / requests)
    parts = [float(totals[inside, measures.index(column)].sum()) for column in limit.columns]
    if isinstance(quantity, Ratio):
        return parts[0] / parts[1] if parts[1] > 0 else None
    return parts[0] / requests
