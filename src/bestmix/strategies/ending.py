"""Why a run ended before its budget was spent, in words."""

import math
from typing import Protocol, runtime_checkable

from bestmix.answers.number_text import mix_text
from bestmix.answers.recommendation import Recommendation
from bestmix.strategies.protocol import MOST_TRIALS, Memory, Strategy

SAME = 1e-9  # of a share: rounding


@runtime_checkable
class Stopping(Protocol):
    """A strategy that may end a run before its budget is spent."""

    def stopped_for(self, memory: Memory, feasible: bool, mix: str = "the mix") -> str:
        """What it was certain of when it ended, given the verdict of the estimates; no text where it has no rule.

        ``mix`` is what to call the mix that it has certified, if it has.
        """
        ...


@runtime_checkable
class Assuming(Protocol):
    """A strategy that rests on something which trials can refute."""

    def objection(self, rec: Recommendation) -> str:
        """What the trials of an answer say against it; no text where they do not."""
        ...


def ending(strategy: Strategy, rec: Recommendation, memory: Memory, trials: int) -> str:
    """Why a run that is over did not use up its budget of trials; no text where it did, or goes on.

    Parameters
    ----------
    strategy, memory
        What ended it.
    rec
        Its answer.
    trials
        How many were made, those of arms that were taken out included.

    Examples
    --------
    >>> from bestmix import Challenger, Instance, identify
    >>> inst = Instance([1.0, 2.0], [[0.0, 2.0]], [1.0], sigma_reward=0.1, sigma_cost=0.1)
    >>> print(identify(inst.problem, inst.sampler(seed=1), 900, Challenger(0.95, tolerance="5%")).note)
    Stopped: with 95% certainty the mix keeps all limits and is within 5% of the best one, after 20 of 900 trials.
    """
    spent = rec.account is not None or (rec.budget is not None and trials >= rec.budget)
    unsaid = not math.isfinite(rec.value_interval[0])  # values too small to be squared: no rule can go by these
    if not rec.complete or spent or unsaid or not isinstance(strategy, Stopping):
        return ""
    objection = strategy.objection(rec) if isinstance(strategy, Assuming) else ""
    why = "" if objection else strategy.stopped_for(memory, rec.feasible, _certified_mix(rec, memory))
    most = "" if rec.budget is None or rec.budget >= MOST_TRIALS else f" of {rec.budget:,}"
    if objection:
        return f"Stopped after {trials:,}{most} trials. {objection}"
    return f"Stopped: {why}, after {trials:,}{most} trials." if why else ""


def _certified_mix(rec: Recommendation, memory: Memory) -> str:
    """What to call the mix that a strategy has certified: another safety than its own recommends another one."""
    found = (memory.get("certificate") or {}).get("mixture") or []
    if len(found) != len(rec.problem.names):
        return "the mix"
    certified = {name: p for name, p in zip(rec.problem.names, found, strict=True) if p > 0}
    same = all(abs(certified.get(name, 0.0) - rec.mixture.get(name, 0.0)) <= SAME for name in rec.problem.names)
    return "the mix" if same else f"another mix, {mix_text(certified)},"
