"""The paper's round lengths, in exact arithmetic (eq. Tk).

A ceiling computed in floats can be one too many, and would break the proven budget.
"""

from fractions import Fraction
from functools import lru_cache


@lru_cache(maxsize=256)
def psi(unknown: int, costs: int) -> Fraction:
    """Psi(K0, L) = sum over j = 1..K0 of 1 / max(2, j - L)."""
    return sum((Fraction(1, max(2, j - costs)) for j in range(1, unknown + 1)), Fraction(0))


def rejects(arms: int, unknown: int, costs: int, budget: int) -> list[int]:
    """Pulls n_k of each arm still in the running by the end of round k, for k = 1..K-1.

    >>> rejects(arms=4, unknown=4, costs=0, budget=100)
    [16, 21, 31]
    """
    if unknown == 0:
        return [0] * (arms - 1)
    share = (budget - unknown) / psi(unknown, costs)
    return [-((-share) // (arms + 1 - k)) for k in range(1, arms)]


@lru_cache(maxsize=64)
def round_ends(arms: int, unknown: int, costs: int, budget: int) -> tuple[int, ...]:
    """``rejects``, kept for the rounds to come."""
    return tuple(rejects(arms, unknown, costs, budget))
