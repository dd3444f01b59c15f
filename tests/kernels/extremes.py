"""Every finite float must be survived: checks of the kernels that ``test_extremes`` runs in plain Python.

``python -m tests.kernels.extremes EXAMPLES`` runs them all in machine code, those of segments too; ``make soak`` does
so with NUMBA_BOUNDSCHECK=1, where an index out of bounds raises.
"""

import sys

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.kernels.speeds import use_machine_code

from bestmix.kernels import allocation, bases, conditions, incumbents, scores, simplex, stopping
from bestmix.kernels.chunks import decisions
from bestmix.kernels.feasibility import in_doubt
from bestmix.problems.solution import scaled, solve_means

SIZES = (0.0, 5e-324, 1e-320, 2e-308, 3e-308, 1e-200, 1e-150, 1e-16, 0.3, 1.0, 1.0 + 2**-52, 3.0, 1e20, 1e140, 1e150)
BEYOND = (*SIZES, 1e160, 1e307, 1.7e308)  # what no user may pass, and kernels survive all the same


@st.composite
def programs(draw, sizes=SIZES):
    """(means, bound): few values of any size, so that there are ties, zero spreads and every mixture of magnitudes."""
    arms, costs = draw(st.integers(1, 6)), draw(st.integers(0, 3))
    some = draw(st.lists(st.sampled_from(sizes), min_size=1, max_size=5))
    value = st.builds(lambda size, sign: sign * size, st.sampled_from(some), st.sampled_from((1.0, -1.0)))
    values = draw(st.lists(value, min_size=arms * (1 + costs) + costs, max_size=arms * (1 + costs) + costs))
    means = np.array(values[: arms * (1 + costs)]).reshape(arms, 1 + costs)
    return means, np.array(values[arms * (1 + costs) :])


def check_solution(program):
    """A mix of the arms, with a verdict that its costs agree with."""
    means, bound = program
    found = solve_means(means, bound)
    assert found.status in ("optimal", "infeasible")
    assert (found.mixture >= 0).all()
    assert abs(found.mixture.sum() - 1) < 1e-9
    assert np.isfinite(found.slack).all()
    assert not np.isnan(found.dual).any() or not found.feasible
    spread = np.abs(means[:, 1:] - bound).max(axis=0, initial=0.0)
    assert not found.feasible or (found.slack >= -1e-9 * np.maximum(spread, 1e-290)).all()


def check_columns(program):
    """Scaled columns fill the unit box, their scale has a reciprocal, and the simplex ends with columns that exist."""
    means, bound = program
    program, scale = scaled(means, bound, np.arange(len(means) + len(bound)))
    assert np.abs(program.mu).max() <= 1.0 + 1e-12
    assert np.abs(program.u).max(initial=0.0) <= 1.0 + 1e-12
    with np.errstate(over="raise", under="ignore"):
        assert (1 / scale[1:] > 0).all()
    basis = simplex.new_basis(len(bound))
    basis.column[:] = 99  # from a damaged file
    status = simplex.maximise(program, basis)
    assert status in (simplex.OPTIMAL, simplex.INFEASIBLE)
    assert (basis.column >= (0 if status == simplex.OPTIMAL else -1 - len(bound))).all()
    assert (basis.column < len(program.mu)).all()


def check_scores(program):
    """Scores are numbers, and the loser is one of the columns."""
    means, bound = program
    size, costs = len(means) + len(bound), len(bound)
    program, scale = scaled(means, bound, np.arange(size))
    basis, tableau = simplex.new_basis(costs), bases.workspace(costs, size)
    score, state = np.empty(size), np.empty(size, dtype=np.int64)
    for wanted in (1, size):
        status = scores.intersection_values(program, basis, tableau, wanted, score, state)
        assert status != simplex.STALLED
        assert not np.isnan(score).any()
        assert 0 <= scores.last_lowest(score, scores.TIE) < size
    if costs == 2:
        check_incumbents(program)
    best = np.empty(costs + 1, dtype=np.int64)
    for a in range(size if status == simplex.OPTIMAL else 0):
        assert not np.isnan(bases.best_through(a, program, tableau, np.inf, best))
    assert scores.lagrangian(program, scale, basis, score) != simplex.STALLED
    assert not np.isnan(score).any()
    alone = np.empty(len(means))
    assert 0 <= scores.worst_alone(means, bound, np.arange(len(means)), alone) < len(means)


def check_incumbents(program):
    """In the first round and in one that knows its triples, the loser is one of the columns if there is a mix."""
    feasible = simplex.maximise(program, simplex.new_basis(2)) == simplex.OPTIMAL
    basis, trial, known = simplex.new_basis(2), simplex.new_basis(2), incumbents.new_incumbents()
    score = np.empty(len(program.mu))
    for _ in range(2):
        loser = incumbents.loser(program, basis, trial, score, known)
        assert 0 <= loser < len(program.mu) if feasible else loser == -1
        assert not feasible or not np.isnan(score).any()


def check_decision(program, seed):
    """A decision gives all trials of a round to arms, and no z-score is missing."""
    means, bound = program
    rng = np.random.default_rng(seed)
    arms, d = means.shape
    unknown = int(rng.integers(1, arms + 1))
    state = conditions.new_state(unknown, arms, d - 1)
    state.counts[:] = rng.choice([1, 2, 3, 40, 10**9], unknown)
    noise = rng.choice(np.minimum(np.array(SIZES), 1e150), (unknown, d)) * rng.choice([-1.0, 0.0, 1.0], (unknown, d))
    with np.errstate(under="ignore"):
        state.scatter[:] = noise[:, :, None] * noise[:, None, :]
    assert conditions.solve(means, bound, np.arange(arms + d - 1), state) == simplex.OPTIMAL
    conditions.pool(state)
    conditions.conditions(state)
    assert not np.isnan(conditions.z_scores(state)).any()
    assert 0.0 <= conditions.chance(state) <= 1.0
    in_doubt(state, np.empty(d, dtype=np.int64), np.empty(d))
    arm, reason = np.full((2, decisions(unknown)), -1)
    owed, size = np.empty(unknown, dtype=np.int64), int(rng.choice([1, 7, 100]))
    chunks = allocation.allocate(state, size, conditions.RESERVE, arm, reason, owed)
    assert owed.sum() == size
    assert (owed >= 0).all()
    assert ((arm[:chunks] >= 0) & (arm[:chunks] < unknown)).all()
    assert ((reason[:chunks] >= 0) & (reason[:chunks] < arms + d)).all()
    total, largest = stopping.exact_tails(state)
    assert 0.0 <= largest <= total < np.inf
    stopping.stops(conditions.Settings(0.1, 30, 0.05, 0.05, weak=True), state, bound)


CHECKS = (
    (check_solution, (programs(),)),
    (check_columns, (programs(BEYOND),)),
    (check_scores, (programs(BEYOND),)),
    (check_decision, (programs(), st.integers(0, 2**32 - 1))),
)


def main():
    """Run every check on so many examples, in machine code."""
    from tests.kernels import segment_extremes

    use_machine_code()
    quiet = settings(
        max_examples=int(sys.argv[1]),
        derandomize=True,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    for check, strategies in CHECKS + segment_extremes.CHECKS:
        quiet(given(*strategies)(check))()
        print(check.__name__)


if __name__ == "__main__":
    main()
