"""The best arm that is feasible on its own, as rivals look for it: which arm to reject, and shares of trials.

Distances are in standard deviations, so that those of rewards and of costs can be compared.
"""

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels import columns, scores
from bestmix.kernels.jit import compiled

WORST, GAP = 0, 1  # which arm to reject: that of ``scores.worst_alone``, or that of the largest gap
LEAST_SCORE = 1e-9  # of an arm: as near to the best one as counts
NONE = -1


@compiled
def reject(kind: int, means: Floats, bound: Floats, sigma: Floats, arms: Integers, score: Floats) -> int:
    """Position of the arm to reject; ``score`` receives what it was judged by, the lowest being rejected."""
    if kind == WORST:
        return scores.worst_alone(means, bound, arms, score)
    return largest_gap(means, bound, sigma, arms, score)


@compiled
def excess(mean: Floats, bound: Floats, sigma: Floats) -> float:
    """Largest excess of an arm's mean costs over their bounds, in standard deviations; negative where it fits."""
    most = -np.inf
    for l in range(bound.shape[0]):
        most = max(most, columns.above(mean[1 + l], bound[l]) / sigma[1 + l])
    return float(most)


@compiled
def leader(means: Floats, bound: Floats, sigma: Floats, arms: Integers) -> int:
    """Position of the best feasible arm; where none is, of the one that exceeds its bounds least."""
    best, chosen, fits = -np.inf, 0, False
    for j in range(arms.shape[0]):
        over = excess(means[arms[j]], bound, sigma)
        if over <= 0.0 and (not fits or means[arms[j], 0] > best):
            best, chosen, fits = means[arms[j], 0], j, True
        elif not fits and -over > best:
            best, chosen = -over, j
    return chosen


@compiled
def largest_gap(means: Floats, bound: Floats, sigma: Floats, arms: Integers, score: Floats) -> int:
    """Position of the arm that is furthest from being the best; ``score`` receives minus the gaps.

    The gap of a feasible arm is in reward. That of an infeasible one is its excess, or if its reward is lower too the
    larger of both. Where no arm is feasible it is the difference of the excesses.
    """
    best = leader(means, bound, sigma, arms)
    top, least = means[arms[best], 0], excess(means[arms[best]], bound, sigma)
    for j in range(arms.shape[0]):
        over, behind = excess(means[arms[j]], bound, sigma), (top - means[arms[j], 0]) / sigma[0]
        if least > 0.0:
            score[j] = least - over
        else:
            score[j] = -(max(behind, over) if over > 0.0 else behind)
    score[best] = np.inf
    loser = scores.last_lowest(score, 0.0)
    score[best] = 0.0
    return loser


@compiled
def rate_shares(means: Floats, variance: Floats, bound: Floats, share: Floats) -> None:
    """Shares of the trials of the unknown arms, the rows of ``variance`` (unknown, 1 + L), that even out their errors.

    An arm's share is the inverse of its score: the squared distance to the best in reward, if it is worse, plus those
    of its violated bounds, each over its variance. The best arm has enough to tell its reward from theirs, as far as
    rewards rule them out, and that it keeps its bounds. These are the limits, as the best arm's share outgrows
    the others', of the shares that maximise the smallest of the rates at which wrong choices die out:
    d^2 / (2 (s_b^2 / w_b + s_i^2 / w_i)) + w_i sum_l v_l^2 / (2 s_l^2), with d how much worse an arm is and v what it
    violates.
    """
    arms, unknown, costs = means.shape[0], variance.shape[0], bound.shape[0]
    best = leader(means, bound, np.ones(1 + costs), np.arange(arms))
    rivals = 0.0
    for i in range(unknown):
        score, fits = 0.0, True
        for l in range(costs):
            over = columns.above(means[i, 1 + l], bound[l])
            if over > 0.0:
                score += over * over / variance[i, 1 + l]
                fits = False
        behind = means[best, 0] - means[i, 0]
        if fits or behind > 0.0:
            score += behind * behind / variance[i, 0]
        share[i] = 1.0 / max(score, LEAST_SCORE)
        if i != best and (fits or behind > 0.0):
            part = 1.0 if fits else behind * behind / variance[i, 0] / score  # of what rules it out
            rivals += part * share[i] * share[i] / variance[i, 0]
    if best < unknown:
        share[best] = np.sqrt(variance[best, 0] * rivals)
        for l in range(costs):
            slack = columns.above(means[best, 1 + l], bound[l])
            share[best] = max(share[best], variance[best, 1 + l] / max(slack * slack, LEAST_SCORE))
        share[best] = max(share[best], LEAST_SCORE)  # without a rival or a limit there is nothing to tell
    share /= share.sum()


@compiled
def catch_up(share: Floats, counts: Integers, size: int, owed: Integers) -> None:
    """Give ``size`` trials to the arms that are behind their shares of all trials, in proportion."""
    behind = np.maximum(share * (counts.sum() + size) - counts, 0.0)
    behind *= size / behind.sum()
    given = 0
    for a in range(owed.shape[0]):
        owed[a] = int(behind[a])
        given += owed[a]
    behind -= owed
    for _ in range(size - given):
        a = int(np.argmax(behind))
        owed[a] += 1
        behind[a] -= 1.0
