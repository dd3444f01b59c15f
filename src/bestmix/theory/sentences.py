"""Gaps in plain language: what would have to be different for the answer to change."""

import math
from collections.abc import Sequence

from bestmix.theory.gaps.measure import Alternative, Gaps

MOST_NAMES = 12  # of arms that can be dropped
MOST_MOVED = 4  # arms whose moves a sentence tells


def reasons(found: Gaps, count: int = 3) -> list[str]:
    """Why the instance is hard: the columns whose conditions are nearest to failing."""
    return [f"{_condition(found, j)} (margin {found.margin[j]:.3g})." for j in found.hardest(count)]


def _condition(found: Gaps, column: int) -> str:
    """How the condition of a column could fail."""
    name, inside = found.instance.problem.columns[column], column in found.basis
    cost = found.instance.problem.slack_cost(name)
    if cost is None:
        return f"{name} could lose its place in the mix" if inside else f"{name} could gain a place in the mix"
    return f"The mix could reach its bound on {cost}" if inside else f"The bound on {cost} could be not worth using up"


def trials_to_tell(margin: float) -> int:
    """Trials of each arm involved that make a mistake about this margin a 1% event, roughly.

    >>> trials_to_tell(0.5)
    22
    """
    return math.ceil((2.3263 / margin) ** 2) if margin > 0 else 2**53


def dropped_sentence(names: Sequence[str], few: int, many: int) -> str:
    """Which arms can be dropped at once, after how many trials of each, and how many the hardest question takes.

    >>> dropped_sentence(["opus"], 1, 1200)
    'opus: about 1 trial of each arm tells that it has no place in the mix, where the hardest question takes 1,200.'
    """
    more = len(names) - MOST_NAMES
    shown = ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    tell = "1 trial of each arm tells" if few == 1 else f"{few:,} trials of each arm tell"
    have = "it has" if len(names) == 1 else "they have"
    return f"{shown}: about {tell} that {have} no place in the mix, where the hardest question takes {many:,}."


def rival_sentence(found: Gaps, reward: str = "reward") -> str:
    """The closest rival and what it would take."""
    nearest = found.closest
    if nearest is None:
        return "No change of the unknown means can flip the answer."
    return f"{_flip(found, nearest)} {_moves(found, nearest, reward)}"


def _flip(found: Gaps, nearest: Alternative) -> str:
    names = found.instance.problem.columns
    how = "" if nearest.proven else " (the nearest found)"
    away = f"is {nearest.gap:.3g} standard deviations of one trial away{how}"
    if nearest is found.support:
        return f"The nearest instance with another answer {away}: there the support is no longer feasible."
    arms = [names[j] for j in nearest.basis if j < len(found.instance.arms)]
    return f"The closest rival, {' with '.join(arms)}, {away}."


def _moves(found: Gaps, nearest: Alternative, reward: str) -> str:
    """Which means would have to be different, the largest moves first."""
    instance, parts = found.instance, []
    move = nearest.means - instance.means
    for a in sorted(nearest.moved, key=lambda a: -float((move[a] ** 2).sum()))[:MOST_MOVED]:
        pairs = zip((reward, *instance.costs), nearest.means[a], instance.means[a], strict=True)
        parts.append(f"{instance.arms[a]}: {_changes(list(pairs)) or 'a change that is next to nothing'}")
    more = len(nearest.moved) - len(parts)
    return "It would take " + "; ".join(parts) + (f"; and {more} more." if more > 0 else ".")


def _changes(pairs: list[tuple[str, float, float]]) -> str:
    """Other values of quantities, with as many digits as it takes to see a difference.

    >>> _changes([("reward", 0.5, 0.4), ("dollars", 2.0, 2.0)])
    'reward 0.5 rather than 0.4'
    >>> _changes([("reward", 0.50001, 0.5)])
    'reward 0.50001 rather than 0.5'
    """
    for digits in (4, 6, 8, 10, 12):
        told = [(what, f"{there:.{digits}g}", f"{here:.{digits}g}") for what, there, here in pairs]
        if changed := [f"{what} {there} rather than {here}" for what, there, here in told if there != here]:
            return ", ".join(changed)
    return ""
