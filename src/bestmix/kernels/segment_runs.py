"""Whole simulated runs on problems of segments, with the decisions of the live search.

Trials are chosen freely, or users arrive: then a run has so many arrivals, each in a segment by chance, and only the
arm is chosen. Each function fills, for every run, ``mix`` (runs, n): the weights of the answer; ``basic``
(runs, n + R): which columns and slacks it is made of; ``feasible`` (runs,); and ``pulls`` (runs,).
"""

from typing import NamedTuple

import numpy as np

from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels import allocation, layout, sampling, segment_allocation, segment_rejects, segments, simplex
from bestmix.kernels.conditions import Settings
from bestmix.kernels.jit import compiled
from bestmix.kernels.layout import Layout
from bestmix.kernels.segment_rejects import solve_left
from bestmix.kernels.segment_state import tried_state

CHOSEN, ARRIVING, LEARNT = 0, 1, 2  # trials are chosen; users arrive; and their shares are learnt from them


class Course(NamedTuple):
    """What a run has seen so far of n columns with M metrics.

    Attributes
    ----------
    start, sums, squares
        Sums of trials as ``sampling.add_moments`` has them: (n, M), (n, M), (n, M, M).
    counts, means, scatter
        Trials of each column, infinite for known ones (n,), their means (n, M) and scatter (n, M, M).
    arrived
        Users of each segment (S,).
    owed, nothing
        Trials of the next round (n,), and none.
    space
        Scratch of the sampling.
    """

    start: Floats
    sums: Floats
    squares: Floats
    counts: Floats
    means: Floats
    scatter: Floats
    arrived: Floats
    owed: Integers
    nothing: Integers
    space: Floats


class Answers(NamedTuple):
    """The arrays that runs fill, as the module says."""

    mix: Floats
    basic: Flags
    feasible: Flags
    pulls: Integers


@compiled
def new_course(model: sampling.Model, means: Floats, segments_: int) -> Course:
    """Space for runs."""
    n, metrics = means.shape
    return Course(
        sampling.origin(model, means, n),
        np.empty((n, metrics)),
        np.empty((n, metrics, metrics)),
        np.empty(n),
        np.empty((n, metrics)),
        np.empty((n, metrics, metrics)),
        np.empty(segments_),
        np.zeros(n, dtype=np.int64),
        np.zeros(n, dtype=np.int64),
        np.empty((4, metrics, metrics)),
    )


@compiled
def begin(course: Course, known: Flags) -> None:
    """Before the first trial; known columns need none."""
    course.sums[:], course.squares[:], course.means[:], course.scatter[:] = 0.0, 0.0, 0.0, 0.0
    course.arrived[:] = 0.0
    for j in range(known.shape[0]):
        course.counts[j] = np.inf if known[j] else 0.0


@compiled
def make_trials(rng: np.random.Generator, model: sampling.Model, means: Floats, course: Course) -> int:
    """Make the trials that are owed; returns how many."""
    made = sampling.add_owed(rng, model, means, course.owed, course.sums, course.squares, course.space)
    for j in range(course.owed.shape[0]):
        course.counts[j] += course.owed[j]
    sampling.summarise(
        course.start, course.owed, course.counts, course.sums, course.squares, course.means, course.scatter
    )
    return int(made)


@compiled
def arrive(
    rng: np.random.Generator, rows: Layout, weight: Floats, users: int, plan: Integers, counts: Floats, course: Course
) -> None:
    """Let users arrive, and give each the arm of its segment that is furthest behind the plan; sets ``owed``.

    ``counts`` (n,) are infinite for columns that nobody shall get.
    """
    course.owed[:] = 0
    left, rest, first = users, 1.0, 0
    for s in range(weight.shape[0]):
        share = min(max(weight[s] / rest, 0.0), 1.0) if rest > 0.0 else 0.0
        some = left if s == weight.shape[0] - 1 else rng.binomial(left, share)
        left, rest = left - some, rest - weight[s]
        course.arrived[s] += some
        last = first + rows.sizes[s]
        for _ in range(some):
            j = segment_allocation.next_column(first, last, plan, course.owed, counts)
            if j >= 0:
                course.owed[j] += 1
        first = last


@compiled
def shares(weight: Floats, course: Course, way: int) -> tuple[Floats, float]:
    """Shares of segments as far as they are known, and the number of users from whom they were learnt."""
    total = float(np.sum(course.arrived))
    if way != LEARNT or total == 0.0:
        return weight, 0.0
    return course.arrived / total, total


@compiled
def conclude(rows: Layout, weight: Floats, course: Course, way: int, left: Flags, run: int, answers: Answers) -> None:
    """Write the best mix of the columns that are left (n + R,) and were tried; of all tried ones where there is none.

    A limit need not be met exactly because its slack was rejected.
    """
    n, limits = rows.constant.shape
    tried = layout.usable(rows, course.counts > 0.0)
    use = np.ones(n + limits, dtype=np.bool_)
    for j in range(n):
        use[j] = left[j] and tried[j]
    answers.mix[run], answers.basic[run], answers.feasible[run] = 0.0, False, False
    if not np.any(use[:n]):
        return
    share, _ = shares(weight, course, way)
    program, chosen, status = solve_left(rows, share, course.means, use)
    if status != simplex.OPTIMAL:
        use[:n] = tried
        program, chosen, status = solve_left(rows, share, course.means, use)
    if status == simplex.STALLED:
        return
    mix = np.empty(chosen.shape[0])
    segments.weights(program, mix)
    answers.feasible[run] = status == simplex.OPTIMAL
    for k in range(chosen.shape[0]):
        answers.mix[run, chosen[k]] = mix[k]
        answers.basic[run, chosen[k]] = mix[k] > simplex.FEASIBLE
    for i in range(limits):
        j = program.basis[i] - chosen.shape[0]
        if 0 <= j < limits:
            answers.basic[run, n + j] = program.x[i] > simplex.FEASIBLE


@compiled
def uniform(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    rows: Layout,
    weight: Floats,
    known: Flags,
    budget: int,
    way: int,
    answers: Answers,
) -> None:
    """The same number of trials of every column, or every arrival to the arm of its segment with the fewest."""
    course, n = new_course(model, means, weight.shape[0]), means.shape[0]
    everything = np.ones(n + rows.right.shape[0], dtype=np.bool_)
    unknown = n - int(np.sum(known))
    for run in range(answers.mix.shape[0]):
        begin(course, known)
        if way == CHOSEN:
            for j in range(n):
                course.owed[j] = 0 if known[j] else budget // unknown
        else:
            arrive(rng, rows, weight, budget, course.nothing, course.counts, course)
        answers.pulls[run] = make_trials(rng, model, means, course)
        conclude(rows, weight, course, way, everything, run, answers)


@compiled
def challenger(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    rows: Layout,
    weight: Floats,
    known: Flags,
    budget: int,
    way: int,
    settings: Settings,
    answers: Answers,
) -> None:
    """Spend each round's trials on the conditions that are most in doubt, then solve the program."""
    course, n = new_course(model, means, weight.shape[0]), means.shape[0]
    everything, whole = np.ones(n + rows.right.shape[0], dtype=np.bool_), np.empty(weight.shape[0], dtype=np.int64)
    unknown = n - int(np.sum(known))
    for run in range(answers.mix.shape[0]):
        begin(course, known)
        first, spent = allocation.first_pulls(budget, unknown, settings), 0
        for j in range(n):
            course.owed[j] = 0 if known[j] else first
        if way != CHOSEN:
            arrive(rng, rows, weight, first * unknown, course.nothing, course.counts, course)
        while True:
            spent += make_trials(rng, model, means, course)
            size = allocation.round_size(budget, unknown, spent, settings)
            if size == 0 or not np.any(layout.usable(rows, course.counts > 0.0)):
                break
            share, arrivals = shares(weight, course, way)
            tried = tried_state(rows, share, arrivals, course.counts, course.means, course.scatter)
            if segment_allocation.stops(settings, tried.state):
                break
            capacity = whole if way == CHOSEN else segment_allocation.capacities(share, size)
            whole[:] = size
            reserve = settings.reserve.share
            plan = segment_allocation.plan_round(rows, course.counts, tried, size, reserve, capacity, True)
            if way == CHOSEN:
                course.owed[:] = plan.trials
            else:
                arrive(rng, rows, weight, int(np.sum(plan.trials)), plan.trials, course.counts, course)
        answers.pulls[run] = spent
        conclude(rows, weight, course, way, everything, run, answers)


@compiled
def rejects(
    rng: np.random.Generator,
    model: sampling.Model,
    means: Floats,
    rows: Layout,
    weight: Floats,
    known: Flags,
    ends: Integers,
    way: int,
    answers: Answers,
) -> None:
    """Successive rejects by the Lagrangian score; ``ends`` are the trials of each column at the end of each round."""
    course, n = new_course(model, means, weight.shape[0]), means.shape[0]
    left, score = np.ones(n + rows.right.shape[0], dtype=np.bool_), np.empty(n + rows.right.shape[0])
    usual = np.empty(n)
    for run in range(answers.mix.shape[0]):
        begin(course, known)
        left[:], spent = True, 0
        for k in range(ends.shape[0]):
            count = ends[k] - (ends[k - 1] if k > 0 else 0)
            for j in range(n):
                course.owed[j] = count if left[j] and not known[j] else 0
                usual[j] = course.counts[j] if left[j] else np.inf
            if way != CHOSEN:
                arrive(rng, rows, weight, int(np.sum(course.owed)), course.owed.copy(), usual, course)
            spent += make_trials(rng, model, means, course)
            share, _ = shares(weight, course, way)
            out = segment_rejects.loser(rows, share, course.counts, course.means, left, score)
            if out < 0:
                break
            left[out] = False
        answers.pulls[run] = spent
        conclude(rows, weight, course, way, left, run, answers)
