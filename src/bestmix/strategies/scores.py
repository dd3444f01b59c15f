"""The paper's two scores as functions, to call on columns of your own or to hand to ``SFSR(score=...)``.

Both take one entry for each column, arms first and then slacks: ``mu`` the mean reward, zero for a slack; ``u``
(columns, costs) the mean cost minus the bound, a unit vector for a slack; ``e`` one for an arm and zero for a slack.
The column with the lowest score is the one that a round of SFSR rejects; minus infinity for all means that no mix of
these is feasible.
"""

import math
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.arrays import Flags, Floats
from bestmix.kernels import bases, columns, jit, scores, simplex
from bestmix.kernels.columns import Program
from bestmix.kernels.simplex import Basis
from bestmix.problems.solution import check_settled

MOST_BASES = 2e10  # intersection values over more bases than this would take minutes or worse
CHEAP_BASES = 2e6  # up to this many every score is worked out exactly


def intersection(mu: Any, u: Any, e: Any) -> Floats:
    """The best value of a feasible basis that contains the column (SFSR).

    >>> intersection([1.7, 2.6, 0.5, 0.0], [[-1.0], [0.8], [-0.2], [1.0]], [1, 1, 1, 0]).round(3)
    array([2.2 , 2.2 , 0.92, 1.7 ])
    """
    program, scale = _scaled(mu, u, e)
    check_within_reach(int(program.e.sum()), *program.u.shape)
    score, _, _ = judged("intersection", program, scale, simplex.new_basis(program.u.shape[1]), len(program.e))
    return np.asarray(scale[0] + scale[1] * score)


def lagrangian(mu: Any, u: Any, e: Any) -> Floats:
    """The column's reduced cost in the optimal basis (SFSR-L).

    >>> lagrangian([1.7, 2.6, 0.5, 0.0], [[-1.0], [0.8], [-0.2], [1.0]], [1, 1, 1, 0]).round(3)
    array([ 0. ,  0. , -1.6, -0.5])
    """
    program, scale = _scaled(mu, u, e)
    score, _, _ = judged("lagrangian", program, scale, simplex.new_basis(program.u.shape[1]), len(program.e))
    return np.asarray(scale[1] * score)


BY_NAME = {"intersection": intersection, "lagrangian": lagrangian}


def judged(name: str, program: Program, scale: Floats, basis: Basis, wanted: int) -> tuple[Floats, Flags, int]:
    """Scores of scaled columns, at least the ``wanted`` lowest exact; which are; and the loser's position, -1 for none.

    The basis is where the linear program starts from, and becomes its last one.
    """
    size, costs = program.u.shape
    score, state = np.empty(size), np.zeros(size, dtype=np.int64)
    if name == "intersection":
        speed = jit.speed_for((1 + costs) * math.comb(size, costs + 1))
        tableau = bases.workspace(costs, size)
        status = speed(scores.intersection_values)(program, basis, tableau, wanted, score, state)
    else:
        speed = jit.speed_for((1 + costs) * size)
        status = speed(scores.lagrangian)(program, scale, basis, score)
    check_settled(status)
    loser = speed(scores.loser)(program, score) if status == simplex.OPTIMAL else -1
    return score, state == scores.EXACT, loser


def check_within_reach(arms: int, size: int, costs: int) -> None:
    """Refuse intersection values of ``size`` columns with more bases than anybody waits for."""
    found = math.comb(size, costs + 1)
    if found > MOST_BASES:
        size_told = f"intersection values over {arms} arms and {costs} costs"
        fault = f"{size_told} need up to {found:.1e} bases, which is out of reach"
        raise checks.InvalidInput("score", fault, "use SFSR(score='lagrangian'), or fewer arms")


def _scaled(mu: Any, u: Any, e: Any) -> tuple[Program, Floats]:
    """Columns as the kernels take them, with their scale."""
    reward = checks.array("mu", mu, (None,), "(columns,)")
    size = len(reward)
    balance = checks.array("u", u, (size, None), "(columns, costs)")
    arm = checks.array("e", e, (size,), "(columns,)")
    if not np.isin(arm, (0.0, 1.0)).all() or (np.diff(arm) > 0).any():
        expected = "1 for an arm and 0 for a slack, arms first"
        raise checks.InvalidInput("e", expected=expected, got=checks.shown(arm.tolist()), remedy="sort the columns")
    program, scale = Program(reward.copy(), balance.copy(), arm.copy()), np.empty(balance.shape[1] + 2)
    jit.speed_for(balance.size + size)(columns.rescale)(program, scale)
    return program, scale
