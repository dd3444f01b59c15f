"""The program of segments against SciPy's HiGHS, from nothing and from the last basis."""

from functools import partial
from itertools import cycle
from typing import NamedTuple

import numpy as np
from scipy.optimize import OptimizeResult, linprog
from scipy.sparse import csr_array

from bench.timing import Figure, fastest, shown
from bestmix.answers import program_cone
from bestmix.kernels import bounding, jit, segment_conditions, segments, simplex

TITLE = "Segments under shared limits: the structured simplex against scipy.optimize.linprog(method='highs')"
SEGMENTS, ARMS, LIMITS = 50, 30, 3
FEW_SEGMENTS, FEW_ARMS = 4, 6
STEP = 0.01  # noise of the estimates between two solutions, in units of what separates the arms
ROUNDS = 50  # estimates that follow each other


class Case(NamedTuple):
    """Rewards that rise with costs around their bounds, in segments of unequal size."""

    mu: np.ndarray
    rows: np.ndarray
    weight: np.ndarray


def measure(quick: bool) -> list[Figure]:
    cases = series()
    program = segments.new_program(np.full(SEGMENTS, ARMS), LIMITS)
    for case in cases:
        check(program, case)
    first, following = cases[0], cycle(cases)
    actions = [
        partial(cold, program, first),
        lambda: warm(program, next(following)),
        partial(highs, first),
        conditions(program, first),
    ]
    ours, again, theirs, known = fastest(actions, rounds=2 if quick else 5, least=0.05)
    what = f"{SEGMENTS} segments x {ARMS} arms x {LIMITS} limits"
    return [
        Figure(f"{what}, cold", theirs / ours, target=25.0, note=f"{shown(ours)} against {shown(theirs)}, same value"),
        Figure(f"{what}, from the last basis", theirs / again, target=200.0, note=f"{shown(again)}, new estimates"),
        Figure(f"{what}, all conditions", known / 1e-6, unit="us", note="gaps and variances"),
        safe_mix(2 if quick else 5),
    ]


def safe_mix(rounds: int) -> Figure:
    """The best mix within margins that reward spreading, by planes alone against planes and a barrier."""
    line, cones = spread_out()

    def alone() -> None:
        program_cone.MOST_COLUMNS, most = 0, program_cone.MOST_COLUMNS
        try:
            program_cone.cone_mix(line, cones)
        finally:
            program_cone.MOST_COLUMNS = most

    planes, both = fastest([alone, partial(program_cone.cone_mix, line, cones)], rounds, least=0.05)
    what = f"the safe mix of {FEW_SEGMENTS} segments x {FEW_ARMS} arms x {LIMITS} limits, planes / with a barrier"
    return Figure(what, planes / both, target=3.0, note=f"{shown(planes)} against {shown(both)}")


def spread_out() -> tuple[program_cone.Rows, program_cone.Cones]:
    """Columns whose margins are of the size of what separates them: after few trials, that is."""
    rng = np.random.default_rng(2)
    n, segment = FEW_SEGMENTS * FEW_ARMS, np.repeat(np.arange(FEW_SEGMENTS), FEW_ARMS)
    rows = rng.uniform(-1.0, 0.6, (n, LIMITS))
    mu, weight = rows.sum(axis=1) + 0.3 * rng.standard_normal(n), rng.dirichlet(np.full(FEW_SEGMENTS, 5.0))
    none = np.zeros((n, LIMITS))
    line = program_cone.Rows(mu, rows, np.zeros(LIMITS), np.zeros(LIMITS, dtype=np.bool_), segment, weight)
    return line, program_cone.Cones(rng.uniform(0.3, 0.9, (n, LIMITS)), none, np.zeros(LIMITS))


def series() -> list[Case]:
    """Estimates of one problem that settle: each is a little different from the one before."""
    rng = np.random.default_rng(1)
    n = SEGMENTS * ARMS
    cost = rng.uniform(0.5, 1.6, (n, LIMITS))
    mu, weight = cost.mean(axis=1) + 0.2 * rng.standard_normal(n), rng.dirichlet(np.full(SEGMENTS, 3.0))
    noise = STEP * 0.2 * rng.standard_normal((ROUNDS, n, 1 + LIMITS))
    return [Case(mu + e[:, 0], np.ascontiguousarray(cost - 1.0 + e[:, 1:]), weight) for e in noise]


def warm(program: segments.SegmentProgram, case: Case) -> int:
    jit.machine(segments.load)(program, case.mu, case.rows, np.zeros(LIMITS), case.weight)
    return jit.machine(bounding.maximise)(program)


def cold(program: segments.SegmentProgram, case: Case) -> int:
    program.key[0] = -1
    return warm(program, case)


def highs(case: Case) -> OptimizeResult:
    """With sparse rows, which is its quickest way here."""
    totals = csr_array(np.repeat(np.eye(SEGMENTS), ARMS, axis=1))
    return linprog(-case.mu, A_ub=csr_array(case.rows.T), b_ub=np.zeros(LIMITS), A_eq=totals, b_eq=case.weight)


def conditions(program: segments.SegmentProgram, case: Case) -> partial[None]:
    """All conditions of the solved program, for trials that return the reward and the costs."""
    cold(program, case)
    transform = np.tile(np.eye(1 + LIMITS), (SEGMENTS, 1, 1))
    covariance = np.tile(np.eye(1 + LIMITS), (SEGMENTS * ARMS, 1, 1))
    none = np.zeros(LIMITS)
    reference = np.full((SEGMENTS, LIMITS), -1)
    noise = segment_conditions.Noise(transform, covariance, none.astype(np.bool_), reference, none, 1e4)
    result = segment_conditions.new_conditions(SEGMENTS * ARMS, LIMITS)
    return partial(jit.machine(segment_conditions.set_conditions), program, noise, result)


def check(program: segments.SegmentProgram, case: Case) -> None:
    best = -highs(case).fun
    assert cold(program, case) == warm(program, case) == simplex.OPTIMAL
    assert abs(segments.value(program) - best) <= 1e-7 * abs(best)
