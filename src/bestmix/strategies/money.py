"""A round's money, a part at a time, for the arm whose trials help most for their price.

What a trial of an arm helps is divided by its price: sum_j weight_j k_ja / (n_a^2 p_a), with the conditions j of the
answer, the terms k_ja of their variances and the weights of ``kernels/weights.py``.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from bestmix.arrays import Flags, Floats
from bestmix.kernels import allocation, chunks, weights
from bestmix.kernels.conditions import Reserve
from bestmix.strategies.purse import Purse
from bestmix.strategies.tolerance_stop import Plan

Gains = Callable[[Floats, float], Floats]  # of trials so far and the share of the round given, for (arm, condition)


class Doubts(NamedTuple):
    """The conditions that keep an answer.

    Attributes
    ----------
    gap
        How far each is from failing (J,).
    terms, fixed
        Its variance is ``terms @ (1 / trials) + fixed``, with terms (J, K0) and fixed (J,).
    feasible
        Terms of the variance of the widest margin (K0,), where it is in doubt whether any mix keeps the limits.
    """

    gap: Floats
    terms: Floats
    fixed: Floats
    feasible: Floats | None


def condition_gains(doubts: Doubts, reserve: Reserve) -> Gains:
    """What one trial less of variance is worth, times its terms (K0, J + 1); the last column is feasibility."""
    gap, terms, fixed, feasible = doubts
    nothing, arms = np.zeros(terms.shape[1]), terms.shape[1]
    least: list[float] = []

    def gains(trials: Floats, share: float) -> Floats:
        if feasible is not None and share < 1.0 - allocation.REST:
            return np.column_stack([np.zeros((arms, len(gap))), feasible])
        spread = (terms / trials).sum(axis=1) + fixed
        square = squares(gap, spread)
        least.append(float(square.min(initial=np.inf)))
        weight = weighed(square, spread, least[0], reserve if share >= 1.0 - reserve.share else None)
        return np.column_stack([(weight[:, None] * terms).T, nothing])

    return gains


def squares(gap: Floats, spread: Floats) -> Floats:
    """Squared z-scores; infinite for what cannot fail."""
    some = (spread > 0.0) & np.isfinite(gap)
    return np.asarray(np.divide(gap**2, spread, out=np.full(len(gap), np.inf), where=some))


def weighed(square: Floats, spread: Floats, least: float, reserve: Reserve | None) -> Floats:
    """What a unit of variance less is worth to each condition; ``least`` is the smallest square of the round's start.

    With a ``reserve`` the condition most in doubt is left out, where another one is in doubt.
    """
    weight, near = np.zeros(len(square)), np.isfinite(square)
    if not np.isfinite(least):
        return weight
    near[near] = square[near] - least < weights.NEGLIGIBLE
    weight[near] = np.exp(0.5 * (least - square[near])) / ((1.0 + np.sqrt(square[near])) * spread[near])
    if reserve is not None and _others_in_doubt(square, reserve.doubt):
        weight[int(np.argmin(square))] = 0.0
    return weight


def _others_in_doubt(square: Floats, doubt: float) -> bool:
    """Whether a condition beside the one most in doubt has a z-score below ``doubt``, where that is finite."""
    return doubt == np.inf or int(np.count_nonzero(square < doubt * doubt)) > 1


def plain_gains(gains: Callable[[Floats], Floats]) -> Gains:
    """Gains that do not depend on how much of the round is given."""
    return lambda trials, share: gains(trials)


def plan_round(gains: Gains, purse: Purse, money: float) -> Plan:
    """Trials for so much money, as far as they are affordable: at least one of an arm that is chosen.

    >>> price = np.array([1.0, 4.0])
    >>> purse = Purse(100.0, 15.0, np.array([3, 3]), price, price, learnt=False)
    >>> plan_round(lambda trials, share: np.ones((2, 1)), purse, 40.0).trials
    array([16,  6])
    """
    trials, reasons = np.zeros_like(purse.counts), dict[int, dict[int, int]]()
    part, given, room = money / chunks.decisions(len(trials)), 0.0, purse.room()
    while given < money * (1.0 - 1e-9):
        left, made = purse.left - float(trials @ purse.reserve), np.maximum(purse.counts + trials, 1)
        open_ = (purse.reserve <= left) & (trials < room)
        if not open_.any():
            break
        gain = gains(made.astype(np.float64), given / money)[: len(trials)]
        worth = gain.sum(axis=1) / (made**2 * purse.price)
        arm = _best(np.where(open_, worth, 0.0), open_, np.sqrt(purse.price) * made)
        wanted = max(1, int(min(part, money - given) / purse.price[arm]))
        some = min(wanted, int(room[arm] - trials[arm]), max(1, int(left / purse.reserve[arm])))
        reason = int(np.argmax(gain[arm])) if gain[arm].any() else arm
        used = reasons.setdefault(arm, {})
        used[reason] = used.get(reason, 0) + some
        trials[arm] += some
        given += some * float(purse.price[arm])
    return Plan(trials, reasons)


def _best(worth: Floats, open_: Flags, level: Floats) -> int:
    """The arm with the largest worth; where nothing is in doubt the one that is furthest behind n_a ~ 1 / sqrt(p_a)."""
    top = float(worth.max())
    if top > 0.0:
        return int(np.flatnonzero(worth * (1.0 + weights.TIE) >= top)[0])
    return int(np.argmin(np.where(open_, level, np.inf)))
