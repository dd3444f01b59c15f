"""What is kept of live traffic, checked against itself: sums of versions, of arms and of edges must tell the same."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.experiments.store import Contents, TrafficContents
from bestmix.experiments.traffic import START, beginning, known_counts
from bestmix.experiments.traffic_model import Version
from bestmix.problems.problem import Problem
from bestmix.strategies.traffic import Traffic, plan_round

CLOSE = 1e-9  # to one, that shares must add up to
MOST_PLANNED = 200  # versions, the newest ones, that are planned again


def damage(contents: Contents, problem: Problem) -> Iterator[str]:
    """Where the evidence contradicts itself."""
    traffic, head = contents.traffic, contents.head
    if head.trials or next(iter(contents.trials), None) is not None:
        yield "trials: an experiment on live traffic has none"
    for place, version in enumerate(traffic.versions, start=1):
        if version.number != place or not _whole_shares(version, problem):
            yield f"version {place}: its number or its shares are not in order"
    if len(traffic.versions) != len(contents.run.rounds) + 1:
        yield f"versions: there are {len(traffic.versions)}, after {len(contents.run.rounds)} rounds"
    names, last = len(problem.names), len(traffic.versions)
    strange = [place for place in traffic.sums if not (0 <= place[0] <= last and 0 <= place[1] < names)]
    if strange:
        yield f"sums: there is no version {strange[0][0]} with arm {strange[0][1]}"
        return
    yield from _totals(contents, problem)
    yield from _rounds(contents, problem)


def _whole_shares(version: Version, problem: Problem) -> bool:
    arms, segments = {*problem.arms, *problem.known}, {segment or "" for segment in problem.segments or [None]}
    tables = [*version.weights.values(), *version.alone.values()]
    sums = [math.isclose(sum(table.values()), 1.0, abs_tol=CLOSE) for table in tables]
    inside = all(set(table) <= arms and min(table.values(), default=0.0) >= 0.0 for table in tables)
    return inside and all(sums) and set(version.weights) == set(version.alone) == segments


def _totals(contents: Contents, problem: Problem) -> Iterator[str]:
    """Whether versions, arms and edges add up to the same."""
    traffic, size = contents.traffic, len(problem.measures)
    total = [Moments(size) for _ in problem.names]
    for (_, arm), sums in traffic.sums.items():
        total[arm] = total[arm].joined(sums)
    kept = [*contents.run.moments, *known_counts(problem, contents.run.memory)]
    if len(kept) != len(total):
        yield f"arms: there are sums of {len(kept)}, the problem has {len(total)}"
        return
    for name, derived, stored in zip(problem.names, total, kept, strict=True):
        if derived.to_dict() != stored.to_dict():
            yield f"arm {name!r}: its running sums are not those of the versions"
    reported, counted = sum(edge.requests for edge in traffic.edges), _counts(traffic)
    requests = sum(n for version, n in counted.items() if version != START)
    if reported != requests or any(edge.sequence < 1 for edge in traffic.edges):
        yield f"edges: they reported {reported} requests, the versions have {requests}"


def _rounds(contents: Contents, problem: Problem) -> Iterator[str]:
    """Whether every round ended with requests that are still there, and planned from sums that only grow."""
    traffic = contents.traffic
    for place, ended in enumerate(contents.run.rounds, start=1):
        for name, n in ended.pulls.items():
            arm = problem.names.index(name) if name in problem.names else -1
            held = traffic.sums.get((place, arm))
            if ended.number != place or held is None or held.count < n:
                yield f"round {ended.number}: it had {n} requests of {name!r}, which are not there"
    sizes = [sum(sums.count for sums in version.evidence) for version in traffic.versions]
    if sizes != sorted(sizes) or sizes[-1] > sum(sums.count for sums in traffic.sums.values()):
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
    traffic: TrafficContents, problem: Problem, strategy: Traffic
) -> Iterator[tuple[Version, Mapping[str, Any]]]:
    """The newest versions with what their sums lead to now, as plain data."""
    start = beginning(problem, {arm: sums for (version, arm), sums in traffic.sums.items() if version == START})
    for version in traffic.versions[-MOST_PLANNED:]:
        sums, known = version.evidence[: len(problem.cells)], version.evidence[len(problem.cells) :]
        plan = plan_round(Evidence(problem, list(sums)), strategy, version.expected, start, known)
        yield version, plan._asdict()
