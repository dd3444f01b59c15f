"""What is kept of live traffic, checked against itself: sums of versions, of arms and of edges must tell the same."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from bestmix.answers.moments import Moments
from bestmix.experiments.revision import Revision, revision
from bestmix.experiments.store import Contents, TrafficContents
from bestmix.experiments.traffic import START, basis_of, known_counts
from bestmix.experiments.traffic_model import Version
from bestmix.problems.problem import Problem
from bestmix.strategies.traffic import Traffic

Changes = Sequence[tuple[int, Mapping[str, Any]]]  # the round that each ended, and the event's data

CLOSE = 1e-9  # to one, that shares must add up to
MOST_PLANNED = 200  # versions, the newest ones, that are planned again


def damage(contents: Contents, now: Revision, changes: Changes) -> Iterator[str]:
    """Where the evidence contradicts itself."""
    traffic, head = contents.traffic, contents.head
    if head.trials or next(iter(contents.trials), None) is not None:
        yield "trials: an experiment on live traffic has none"
    revisions = revisions_of(contents, changes)
    for place, (version, then) in enumerate(zip(traffic.versions, revisions, strict=True), start=1):
        if version.number != place or not _whole_shares(version, then.problem):
            yield f"version {place}: its number or its shares are not in order"
    if len(traffic.versions) != len(contents.run.rounds) + 1:
        yield f"versions: there are {len(traffic.versions)}, after {len(contents.run.rounds)} rounds"
    served, last = len(now.served), len(traffic.versions)
    strange = [place for place in traffic.sums if not (0 <= place[0] <= last and 0 <= place[1] < served)]
    if strange:
        yield f"sums: there is no version {strange[0][0]} with arm {strange[0][1]}"
        return
    yield from _totals(contents, now)
    yield from _rounds(contents, now, revisions)


def revisions_of(contents: Contents, changes: Changes) -> list[Revision]:
    """What each version was planned by."""
    found, now, left = [], revision(contents.record, None), list(changes)
    for version in contents.traffic.versions:
        while left and left[0][0] < version.number:
            now = now.becoming(Problem.from_dict(left.pop(0)[1]["problem"]), {})
        found.append(now)
    return found


def _whole_shares(version: Version, problem: Problem) -> bool:
    arms, segments = {*problem.arms, *problem.known}, {segment or "" for segment in problem.segments or [None]}
    tables = [*version.weights.values(), *version.alone.values()]
    sums = [math.isclose(sum(table.values()), 1.0, abs_tol=CLOSE) for table in tables]
    inside = all(set(table) <= arms and min(table.values(), default=0.0) >= 0.0 for table in tables)
    return inside and all(sums) and set(version.weights) == set(version.alone) == segments


def _totals(contents: Contents, now: Revision) -> Iterator[str]:
    """Whether versions, arms and edges add up to the same."""
    traffic, size = contents.traffic, len(now.problem.measures)
    total = [Moments(size) for _ in now.served]
    for (_, arm), sums in traffic.sums.items():
        total[arm] = total[arm].joined(sums)
    tried = contents.run.moments
    kept = [*tried[: now.first], *known_counts(now.problem, contents.run.memory), *tried[now.first :]]
    if len(kept) != len(total):
        yield f"arms: there are sums of {len(kept)}, the problem has {len(total)}"
        return
    for cell, derived, stored in zip(now.served, total, kept, strict=True):
        if not derived.matches(stored):
            yield f"arm {str(cell)!r}: its running sums are not those of the versions"
    reported, counted = sum(edge.requests for edge in traffic.edges), _counts(traffic)
    requests = sum(n for version, n in counted.items() if version != START)
    if reported != requests or any(edge.sequence < 1 for edge in traffic.edges):
        yield f"edges: they reported {reported} requests, the versions have {requests}"


def _rounds(contents: Contents, now: Revision, revisions: Sequence[Revision]) -> Iterator[str]:
    """Whether every round ended with requests that are still there, and planned from sums that only grow."""
    traffic, names = contents.traffic, {str(cell): arm for arm, cell in enumerate(now.served)}
    for place, ended in enumerate(contents.run.rounds, start=1):
        for name, n in ended.pulls.items():
            held = traffic.sums.get((place, names.get(name, -1)))
            if ended.number != place or held is None or held.count < n:
                yield f"round {ended.number}: it had {n} requests of {name!r}, which are not there"
    sizes = [sum(sums.count for sums in version.evidence) for version in traffic.versions]
    shrunk = [
        a > b and then is after for (a, b), (then, after) in zip(pairwise(sizes), pairwise(revisions), strict=True)
    ]
    if any(shrunk) or sizes[-1] > sum(sums.count for sums in traffic.sums.values()):
        yield "versions: one was planned from more than is there"


def _counts(traffic: TrafficContents) -> Counter[int]:
    """Requests of each version."""
    counts = Counter[int]()
    for (version, _), sums in traffic.sums.items():
        counts[version] += sums.count
    return counts


def figures(contents: Contents) -> dict[str, int]:
    """Figures of the head that follow from the sums."""
    counts, last = _counts(contents.traffic), contents.traffic.versions[-1]
    return {
        "complete": counts.total(),
        "round": len(contents.run.rounds),
        "owing": max(last.requests - counts[last.number], 0),
    }


def planned_again(
    contents: Contents, strategy: Traffic, changes: Changes
) -> Iterator[tuple[Version, Mapping[str, Any]]]:
    """The newest versions with what their sums lead to now, as plain data."""
    traffic, ends = contents.traffic, [came for came, _ in changes]
    start = {arm: sums for (version, arm), sums in traffic.sums.items() if version == START}
    pairs = list(zip(traffic.versions, revisions_of(contents, changes), strict=True))
    for version, then in pairs[-MOST_PLANNED:]:
        since = max((came for came in ends if came < version.number), default=None)
        account = None if since is None else [sums.to_dict() for sums in traffic.versions[since].evidence]
        tried = len(then.problem.cells)
        basis = basis_of(then, account, start)
        plan = basis.plan(strategy, version.expected, version.evidence[:tried], version.evidence[tried:])
        yield version, plan._asdict()
