"""The paper's round lengths, in exact arithmetic (eq. Tk).

A ceiling computed in floats can be one too many, and would break the proven budget.
"""

from fractions import Fraction
from functools import lru_cache


@lru_cache(maxsize=256)
def psi(unknown: int, costs: int, segments: int = 1) -> Fraction:
    """Psi(K0, L) = sum over j = 1..K0 of 1 / max(2, j - L); with S segments j - L - S + 1 in place of j - L."""
    return sum((Fraction(1, max(2, j - costs - segments + 1)) for j in range(1, unknown + 1)), Fraction(0))


def rejects(arms: int, unknown: int, costs: int, budget: int, segments: int = 1) -> list[int]:
    """Pulls n_k of each arm still in the running by the end of round k, for k = 1..K-1.

    With S segments the arms are those of all segments together, and there are K - S rounds: L + S columns remain.

    >>> rejects(arms=4, unknown=4, costs=0, budget=100)
    [16, 21, 31]
    >>> rejects(arms=6, unknown=6, costs=1, budget=100, segments=2)
    [8, 10, 13, 19]
    """
    rounds = range(1, arms - segments + 1)
    if unknown == 0:
        return [0] * len(rounds)
    share = (budget - unknown) / psi(unknown, costs, segments)
    return [-((-share) // (arms - segments + 2 - k)) for k in rounds]


def round_count(arms: int, unknown: int, segments: int = 1) -> int:
    """Rounds of a run: K - S; and one where nothing is to be rejected, if there is something to try.

    >>> round_count(arms=4, unknown=4), round_count(arms=1, unknown=1), round_count(arms=1, unknown=0)
    (3, 1, 0)
    """
    return max(arms - segments, 1 if unknown else 0)


@lru_cache(maxsize=64)
def round_ends(arms: int, unknown: int, costs: int, budget: int, segments: int = 1) -> tuple[int, ...]:
    """``rejects``, kept for the rounds to come. Where nothing is to be rejected the budget is spent in one round.

    >>> round_ends(arms=1, unknown=1, costs=1, budget=600)
    (600,)
    """
    if arms == segments and unknown:
        return (budget // unknown,)
    return tuple(rejects(arms, unknown, costs, budget, segments))
