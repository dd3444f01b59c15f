"""The noisy program of a problem: its columns and rows, and what the trials say of them."""

import numpy as np

from bestmix.answers.evidence import Evidence
from bestmix.answers.markov import in_states
from bestmix.answers.noisy_program import NoisyProgram, maximised, mix_of, noisy_program, solve, speed_of
from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels import layout, segments
from bestmix.problems.layouts import layout_of, places, segments_of
from bestmix.problems.problem import Problem


def program_of(evidence: Evidence, as_possible: bool = False) -> NoisyProgram:
    """The program of a problem as far as the trials tell; ``as_possible``: for the chance of a support.

    >>> from bestmix.answers.moments import Moments
    >>> problem = Problem(["a", "b"], limits=["share(b) <= 40%"])
    >>> told = [Moments(1).plus(np.array([[1.0], [1.2]])), Moments(1).plus(np.array([[2.0], [2.2]]))]
    >>> solve(program_of(Evidence(problem, told))).weights
    array([0.6, 0.4])
    """
    problem, at = evidence.problem, places(evidence.problem)
    known = len(at) - len(evidence.moments)
    size = len(problem.measures)
    scatters = np.concatenate([evidence.measured_scatters, np.zeros((known, size, size))])
    counts = np.r_[evidence.counts.astype(np.float64), np.full(known, np.inf)]
    shares, arrivals = segment_shares(evidence)
    told = evidence.measured[at], scatters[at], counts[at], evidence.events[at]
    skew = None if evidence.skew is None else evidence.skew[at]
    program = noisy_program(layout_of(problem), shares, *told, arrivals, as_possible, skew)
    return in_states(program, problem, solve(program).weights) if problem.flows else program


def segment_shares(evidence: Evidence) -> tuple[Floats, float]:
    """Shares of the segments (S,), and from how many users they were learnt; 0 where they are known."""
    problem = evidence.problem
    users = evidence.counts.reshape(len(segments_of(problem)), -1).sum(axis=1)
    return shares_of(problem, users), float(users.sum()) if None in problem.segments.values() else 0.0


def shares_of(problem: Problem, users: Integers) -> Floats:
    """Shares of the segments (S,) as they are given, or of the users who came (S,).

    >>> shares_of(Problem(["a"], segments=["free", "paid"]), np.array([6, 2]))
    array([0.75, 0.25])
    """
    if segments_of(problem) == [None]:
        return np.ones(1)
    if None not in problem.segments.values():
        return np.array([share or 0.0 for share in problem.segments.values()])
    # Nobody of a segment came yet: half a user, so that it has a share.
    some = np.where(users > 0, users, 0.5)
    return np.asarray(some / some.sum())


def arms_in_use(problem: Problem, means: Floats, shares: Floats) -> Flags:
    """Arms (in segments) that the best mix at these means (K, M) uses, NaN for untried ones; none if infeasible.

    >>> problem = Problem(["a", "b"], limits=["share(b) <= 40%"])
    >>> arms_in_use(problem, np.array([[1.0], [2.0]]), np.ones(1))
    array([ True,  True])
    """
    at, rows = places(problem), layout_of(problem)
    seen = np.where(np.isnan(rows.given), means[at], rows.given)
    some = layout.part(rows, layout.usable(rows, np.asarray(~np.isnan(seen).any(axis=1))))
    result, mu, entries = np.zeros(len(at), np.bool_), np.empty(len(some.columns)), np.empty(some.layout.constant.shape)
    if not len(mu):
        return result
    rules, speed = some.layout, speed_of(entries)
    speed(layout.set_entries)(rules, seen[some.columns], mu, entries)
    solved = maximised(mu, entries, rules.right, rules.equality, shares[some.segments], rules.sizes)
    excess = np.empty(len(rules.right))
    speed(segments.excess)(solved, excess)
    result[at[some.columns]] = (mix_of(solved) > 0) & (not excess.any())
    return result
