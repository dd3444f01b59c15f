"""States: trials that uniform sampling and Challenger need, and how often a certified policy breaks a limit."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from bench.segment_trials import ratio
from bench.timing import Figure
from bestmix import Challenger
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.recommend import recommend
from bestmix.answers.recommendation import Recommendation
from bestmix.arrays import Floats
from bestmix.kernels import jit
from bestmix.problems.markov_families import random_markov
from bestmix.problems.segment_instance import SegmentInstance

TITLE = "States: trials for 10% wrong answers, and limits that certified policies break (random processes)"
ACTIONS, INSTANCES, JUDGED = 3, 24, 60
GOALS = {4: 2.0, 6: 2.0}  # states: times as many trials that uniform sampling should need, with one limit
MARGIN = 0.05  # by which the best policy is the only one, where trials are counted
RISK = 0.05  # of what is certified
EVERY = 400  # the first seed of the policies that are judged, apart from those whose trials are counted


class Judged(NamedTuple):
    """How many answers were certified, broke a limit though they were, had a regret bound, and exceeded it."""

    runs: int
    certified: int
    broken: int
    bounded: int
    beyond: int


def measure(quick: bool) -> list[Figure]:
    jit.ENOUGH_WORK_OF_SEGMENT_RUNS = 0  # many thousands of runs: machine code pays
    figures = []
    for states, goal in GOALS.items():
        if not quick or states == min(GOALS):
            few = range(4 if quick else INSTANCES)
            instances = [random_markov(states, ACTIONS, 1, seed=seed, margin=MARGIN) for seed in few]
            what = f"{states} states, 1 limit, trials chosen"
            figures.append(ratio(instances, what, [Challenger()], 20 if quick else 40, goal, False))
    sizes = [(4, 1, False), (4, 2, False), (6, 1, False), (4, 1, True)]
    for states, costs, events in sizes[: 1 if quick else None]:
        for trials in (30, 100, 400):
            figures += claims(states, costs, events, trials, 60 if quick else 300)
    return figures


def claims(states: int, costs: int, events: bool, trials: int, runs: int) -> list[Figure]:
    """What policies from uniform trials claim, and what is true of them."""
    seeds = range(EVERY, EVERY + min(JUDGED, runs))
    found = judged([random_markov(states, ACTIONS, costs, seed=seed, events=events) for seed in seeds], trials, runs)
    what = f"{states} states, {costs} limit{'s' if costs > 1 else ''}{', 0/1' if events else ''}, {trials} trials each"
    share = found.broken / max(found.certified, 1)
    missed = found.beyond / max(found.bounded, 1)
    said = f"{found.certified} of {found.runs} certified"
    return [
        Figure(f"{what}: broken of certified", 100 * share, "%", 100 * RISK, True, said),
        Figure(f"{what}: regret above its bound", 100 * missed, "%", 100 * RISK, True, f"of {found.bounded} likely"),
    ]


def judged(instances: Sequence[SegmentInstance], trials: int, runs: int) -> Judged:
    """``runs`` answers, as many of each instance, of so many trials of every column."""
    counts = np.zeros(5, dtype=np.int64)
    for place, instance in enumerate(instances):
        rng = np.random.default_rng([place, trials])
        for _ in range(runs // len(instances)):
            rec = answer(instance, trials, rng)
            true = instance.judge(deployed(instance, rec))
            broken = bool(true.violation[0] > 0)
            likely = rec.support_probability is not None and rec.support_probability > 0.5 and np.isfinite(rec.regret)
            beyond = likely and bool(true.regret[0] > rec.regret)
            counts += [1, rec.certified, rec.certified and broken, likely, beyond]
    return Judged(*counts.tolist())


def answer(instance: SegmentInstance, trials: int, rng: np.random.Generator) -> Recommendation:
    """The recommendation from so many trials of every column."""
    told = [Moments(instance.means.shape[1]).plus(instance.draw(j, trials, rng)) for j in range(len(instance.arms))]
    return recommend(Evidence(instance.problem, told), np.arange(len(instance.problem.columns)), strategy="uniform")


def deployed(instance: SegmentInstance, rec: Recommendation) -> Floats:
    """Weights (1, n) that have the policy in all states: its shares are made from them."""
    shares = [rec.by_segment[cell.segment or ""].get(cell.arm, 0.0) for cell in instance.problem.cells]
    return np.array([shares])
