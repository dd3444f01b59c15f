"""The noisy program of a problem: its columns and rows, and what the trials say of them."""

import numpy as np

from bestmix.answers.evidence import Evidence
from bestmix.answers.noisy_program import NoisyProgram, noisy_program
from bestmix.arrays import Floats
from bestmix.problems.layouts import layout_of, places


def program_of(evidence: Evidence) -> NoisyProgram:
    """The program of a problem as far as the trials tell.

    >>> from bestmix import Problem
    >>> from bestmix.answers.moments import Moments
    >>> from bestmix.answers.noisy_program import solve
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
    return noisy_program(
        layout_of(problem), shares, evidence.measured[at], scatters[at], counts[at], evidence.events[at], arrivals
    )


def segment_shares(evidence: Evidence) -> tuple[Floats, float]:
    """Shares of the segments (S,), and from how many users they were learnt; 0 where they are known."""
    problem = evidence.problem
    if not problem.segments:
        return np.ones(1), 0.0
    if None not in problem.segments.values():
        return np.array([share or 0.0 for share in problem.segments.values()]), 0.0
    arrived = evidence.counts.reshape(len(problem.segments), -1).sum(axis=1).astype(np.float64)
    # Nobody of a segment came yet: half a user, so that it has a share.
    return np.where(arrived > 0, arrived, 0.5) / np.where(arrived > 0, arrived, 0.5).sum(), float(arrived.sum())
