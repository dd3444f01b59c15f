"""What no algorithm can beat on an instance, as a value: the bound, and the shares of trials that attain it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats
from bestmix.problems.instance import Instance

MOST_SHARES = 5  # arms that a sentence tells


@dataclass(frozen=True, eq=False)
class LowerBound:
    """What no algorithm can beat on an instance.

    Attributes
    ----------
    instance
        Whose limit it is.
    delta
        How often the algorithm may be wrong, on every instance.
    time
        The characteristic time T*: the bound is T* kl(delta, 1 - delta). This value is proven to be not above T*;
        infinite where the answer is not unique, zero where nothing unknown can change it.
    time_upper
        T* is not above this either: with ``shares`` the distance to every alternative that was found is 1 / time_upper.
    share
        Shares of trials that attain it (K,): those of an algorithm as good as can be, when delta is small.
    proven
        Whether ``time_upper`` is certain, and equal to ``time`` up to a share of 0.0001. Otherwise some distances are
        the smallest found, and T* may be larger than ``time``: the bound holds, but there may be a better one.
    weight
        By the name of a column: how much its condition counts in the proof; they sum to one. An infeasible instance
        has those of the sets of arms that come nearest to being feasible.
    note
        Why the limit is infinite or zero, if so.
    """

    instance: Instance
    delta: float
    time: float
    time_upper: float
    share: Floats = field(repr=False)
    proven: bool
    weight: Mapping[str, float] = field(repr=False)
    note: str = ""

    @property
    def trials(self) -> float:
        """The bound: expected trials of every algorithm that is wrong with a chance of at most delta, anywhere."""
        return self.time * divergence(self.delta)

    @property
    def trials_upper(self) -> float:
        """What is enough on average for some algorithm, when delta is small."""
        return self.time_upper * divergence(self.delta)

    @property
    def shares(self) -> dict[str, float]:
        """Share of trials of each arm that gets any, the largest first."""
        order = np.argsort(-self.share, kind="stable")
        return {self.instance.arms[a]: float(self.share[a]) for a in order if self.share[a] > 0}

    def at(self, delta: float) -> Self:
        """The same with another delta.

        >>> from bestmix import limit
        >>> instance = Instance(reward=[1.0, 0.0])
        >>> round(limit(instance, 0.05).at(0.01).trials, 1) == round(limit(instance, 0.01).trials, 1)
        True
        """
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return type(self)(**fields | {"delta": check_delta(delta)})

    def sentence(self) -> str:
        """The bound in plain language."""
        if self.note:
            return self.note
        count = math.ceil(self.trials)
        more = "" if self.proven else " The limit may be higher: some distances are the nearest found."
        return (
            f"An algorithm that is wrong in at most {self.delta:.7g} of all cases, whatever the means, makes at least "
            f"{count:,} trial{'s' if count > 1 else ''} here on average.{more}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what is infinite is None."""
        return {
            "delta": self.delta,
            "trials": _finite(self.trials),
            "characteristic_time": _finite(self.time),
            "characteristic_time_upper": _finite(self.time_upper),
            "proven": self.proven,
            "shares": self.shares,
            "weights": dict(self.weight),
            "note": self.note,
        }

    def __str__(self) -> str:
        first = list(self.shares.items())[:MOST_SHARES]
        told = ", ".join(f"{arm} {share:.1%}" for arm, share in first)
        more = len(self.shares) - len(first)
        best = f"\nShares of trials that attain it: {told}{f' and {more} more' if more else ''}." if told else ""
        return self.sentence() + best


@dataclass(frozen=True, eq=False)
class TolerantBound(LowerBound):
    """The same where other answers are as good: between two bounds.

    Attributes
    ----------
    tolerance
        A basis whose mix earns this much less than the best one is as good.
    limit_tolerance
        And so is one whose mix exceeds the bounds by this much (L,).
    answers
        How many bases are right on this instance, in this sense.
    time, time_upper
        The mean number of trials is at least ``time`` kl(delta, 1 - delta) for every algorithm and every delta; and
        for delta near zero some algorithm makes no more than ``time_upper`` kl(delta, 1 - delta).
    share
        Of this algorithm; zeros where none is known to be enough.
    proven
        Whether ``time_upper`` is certain; ``time`` always is.
    weight
        By the name of a column: how much its condition counts in the lower bound.
    """

    tolerance: float = 0.0
    limit_tolerance: Floats = field(default_factory=lambda: np.empty(0))
    answers: int = 1

    def sentence(self) -> str:
        """Both bounds in plain language."""
        if self.note:
            return self.note
        least, enough = max(math.ceil(self.trials), 0), self.trials_upper
        known = "" if self.proven else ", as far as was found"
        most = f"about {math.ceil(enough):,} are enough{known}" if math.isfinite(enough) else "no number may be enough"
        return (
            f"An algorithm that is wrong in at most {self.delta:.7g} of all cases, whatever the means, makes at least "
            f"{least:,} trial{'' if least == 1 else 's'} here on average, where {self._as_good()} is as good; when the "
            f"chance is small, {most}."
        )

    def _as_good(self) -> str:
        most = float(self.limit_tolerance.max(initial=0.0))
        parts = [f"a mix that earns {self.tolerance:.4g} less"] if self.tolerance else []
        parts += [f"one that exceeds a limit by {most:.4g}"] if most else []
        return " or ".join(parts) or "nothing but the best mix"

    def to_dict(self) -> dict[str, Any]:
        """Plain data; what is infinite is None."""
        return super().to_dict() | {
            "trials_upper": _finite(self.trials_upper),
            "tolerance": self.tolerance,
            "limit_tolerance": dict(zip(self.instance.costs, self.limit_tolerance.tolist(), strict=True)),
            "answers": self.answers,
        }


def check_delta(delta: float) -> float:
    """Refuse what is no chance below one half."""
    if not 0 < checks.number("delta", delta) < 0.5:
        raise checks.InvalidInput("delta", expected="a number between 0 and 0.5", got=delta, remedy="try 0.05")
    return float(delta)


def divergence(delta: float) -> float:
    """kl(delta, 1 - delta), of two coins.

    >>> round(divergence(0.05), 3)
    2.65
    """
    return (1 - 2 * delta) * (math.log1p(-delta) - math.log(delta))


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
