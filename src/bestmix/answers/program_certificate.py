"""What a mix of a program is worth: how much better another can be, what it earns, and what segments add."""

from typing import NamedTuple

import numpy as np

from bestmix.answers import program_cone
from bestmix.answers.noisy_program import NoisyProgram, restricted, solve
from bestmix.answers.program_regret import least_bound
from bestmix.answers.program_safety import ProgramLimits, common_arms, entry_margins
from bestmix.answers.regret import by_themselves
from bestmix.answers.safe_search import best_alone, certain, regret_tail, single_tail
from bestmix.arrays import Floats, Integers

REWARD = slice(0, 1)
LEVEL = 1e-9  # of a limit's entries: by which an equality may be missed


class ProgramCertificate(NamedTuple):
    """What can be said about a mix with one certainty; None where it cannot."""

    regret: float  # the best mix of the usable columns earns at most so much more
    value: float
    value_interval: tuple[float, float]
    single: int | None  # the best arm that alone, in all segments, keeps the limits with the wanted certainty
    gain: float | None  # of the mix over it
    gain_interval: tuple[float, float] | None
    common: Floats | None  # the best mix that is the same in all segments, found as the mix was (n,)
    worth: float | None  # of segments: what the mix earns more than that
    worth_interval: tuple[float, float] | None


def certify_program(
    program: NoisyProgram,
    weights: Floats,
    chance: float | None,
    prices: Floats,
    level: float = 0.95,
    safety: float | None = 0.95,
    certified: bool | None = None,
) -> ProgramCertificate:
    """Certificate of a mix of usable columns (n,); ``prices`` are those of the optimum at the estimates.

    ``safety`` is the certainty that was asked of the mix, None for the optimum at the estimates: the mix that is the
    same in all segments is judged alike, and a single arm too, with the certainty ``level`` where none was asked. A mix
    of one arm that is ``certified`` is that single arm, and where it is False, and no mix was, there is no single arm
    either; None is for a mix of which nothing was asked.
    """
    inner, some = restricted(program)
    x, risk = weights[some.columns], 1.0 - level
    single = _only_arm(inner, x) if certified else None
    if single is None and certified is not False:
        single = safe_arm(inner, chance, level if safety is None else safety)
    common = common_mix(inner, chance, safety) if len(program.weight) > 1 else None

    def against(other: Floats | None) -> tuple[float | None, tuple[float, float] | None]:
        if other is None:
            return None, None
        return float((x - other) @ inner.entries()[0]), value_interval(inner, x - other, risk)

    gain, worth = against(None if single is None else _alone(inner, single)), against(common)
    return ProgramCertificate(
        least_bound(inner._replace(data=by_themselves(inner.data)), x, regret_tail(risk, chance), prices, solve(inner)),
        float(x @ inner.entries()[0]),
        value_interval(inner, x, risk),
        single,
        *gain,
        None if common is None else _everywhere(common, some.columns, len(weights)),
        *worth,
    )


def _everywhere(mix: Floats, columns: Integers, n: int) -> Floats:
    result = np.zeros(n)
    result[columns] = mix
    return result


def _alone(program: NoisyProgram, arm: int) -> Floats:
    """The mix of one arm in all segments."""
    return np.where(program.layout.arm == arm, program.weight[program.segment], 0.0)


def _only_arm(program: NoisyProgram, weights: Floats) -> int | None:
    """The arm of a mix of one, in all segments; None where it has several."""
    used = np.unique(program.layout.arm[weights > 0])
    return int(used[0]) if len(used) == 1 else None


def safe_arm(program: NoisyProgram, chance: float | None, safety: float) -> int | None:
    """Best arm that alone, in all segments, keeps all limits, judged as any mix is; None when there is none."""
    limits = ProgramLimits(program)
    cones = limits.cones(single_tail(limits, chance, safety))
    arms = [int(arm) for arm in np.unique(program.layout.arm) if _may_serve(program, limits, cones, int(arm))]
    alone = np.array([_alone(program, arm) for arm in arms]).reshape(len(arms), len(limits.line.mu))
    found = best_alone(limits, chance, alone, alone @ limits.line.mu, safety)
    return None if found is None else arms[found]


def _may_serve(program: NoisyProgram, limits: ProgramLimits, cones: program_cone.Cones, arm: int) -> bool:
    """Whether an arm is in all segments, meets equalities, and keeps each limit were the others in no danger."""
    x, line = _alone(program, arm), limits.line
    served = np.bincount(line.segment, x, len(line.weight)) >= line.weight
    size = np.maximum(np.abs(line.rows).max(axis=0, initial=0.0), np.abs(line.right))
    level = (np.abs(x @ line.rows - line.right) <= LEVEL * size)[line.equality]
    return bool(served.all() and not program_cone.fails(line, cones, x, 0.0).any() and level.all())


def common_mix(program: NoisyProgram, chance: float | None, safety: float | None) -> Floats | None:
    """Best mix that is the same in all segments (n,), safe or at the estimates; None when there is none."""
    arms = common_arms(program)
    if not arms.shape[1]:
        return None
    limits = ProgramLimits(program, arms)
    if safety is not None:
        return certain(limits, chance, safety)[0]
    mix, feasible, _ = limits.optimum()
    return mix if feasible else None


def value_interval(program: NoisyProgram, weights: Floats, risk: float) -> tuple[float, float]:
    """Interval that misses a weighted sum of the columns' objective with at most the given chance; weights of any sign.

    As ``certificate.reward_interval``: the lower end holds for all columns at once.
    """
    from scipy.special import ndtri

    (mu, _), unknown = program.entries(), max(int(np.isfinite(program.data.counts).sum()), 1)
    low, high = risk / 2.0 / unknown, risk / 2.0
    up, down = weights > 0, weights < 0
    below = np.where(up, _objective_margins(program, low, -1.0), _objective_margins(program, low, 1.0))
    above = np.where(down, _objective_margins(program, high, -1.0), _objective_margins(program, high, 1.0))
    middle, share = float(weights @ mu), share_deviation(program, weights * mu)
    ends = [np.hypot(np.linalg.norm(weights * m), ndtri(1.0 - t) * share) for m, t in ((below, low), (above, high))]
    return middle - float(ends[0]), middle + float(ends[1])


def _objective_margins(program: NoisyProgram, tail: float, sign: float) -> Floats:
    return entry_margins(program, tail, sign, REWARD)[:, 0]


def share_deviation(program: NoisyProgram, parts: Floats) -> float:
    """Standard error of a sum over columns (n,) that comes from estimated shares of segments."""
    if program.arrivals <= 0:
        return 0.0
    weight = program.weight
    means = np.bincount(program.segment, parts, len(weight)) / np.where(weight > 0, weight, 1.0)
    return float(np.sqrt(weight @ (means - weight @ means) ** 2 / program.arrivals))
