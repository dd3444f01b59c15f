"""A trade-off as data: the value of the best mix against one bound, in pieces, and the safe mix at some bounds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from bestmix import checks
from bestmix.answers.recommendation import finite
from bestmix.problems.goals import Goal
from bestmix.problems.limits import Limit
from bestmix.problems.quantities import Share, Tail
from bestmix.problems.rows import is_bound

CHANGES = (0.2, -0.2)  # of the bound, that sentences are about
ROUNDING = 1e-12  # of the range of bounds, by which one is beyond the tightest for nothing but rounding
RESOLUTION = 8 * 2.0**-52  # and of the bound itself
REWARD = Goal()  # what is aimed at where nothing else is asked


@dataclass(frozen=True)
class Piece:
    """A range of the bound on which the same arms are mixed: value and shares are linear in the bound.

    ``slope`` is the shadow price: what the value gains per unit of the bound. Where the limit no longer binds the piece
    has no end: no upper one, or for a limit of the form "at least" no lower one.
    """

    low: float
    high: float
    low_value: float
    high_value: float
    slope: float
    support: tuple[str, ...]
    low_mixture: Mapping[str, float]
    high_mixture: Mapping[str, float]

    def value(self, bound: float) -> float:
        """The value at a bound within the piece."""
        if math.isinf(self.low):
            return self.high_value + self.slope * (bound - self.high)
        return self.low_value + self.slope * (bound - self.low)

    def mixture(self, bound: float) -> dict[str, float]:
        """The mix at a bound within the piece."""
        finite = math.isfinite(self.high - self.low)
        share = (bound - self.low) / (self.high - self.low) if finite else 0.0
        ends = [(arm, self.low_mixture.get(arm, 0.0), self.high_mixture.get(arm, 0.0)) for arm in self.support]
        mixture = {arm: (1 - share) * low + share * high for arm, low, high in ends}
        return {arm: p for arm, p in mixture.items() if p > 0}

    def to_dict(self) -> dict[str, Any]:
        """Plain data; no end is None."""
        plain: dict[str, Any] = finite(vars(self))
        return plain


@dataclass(frozen=True)
class SafePoint:
    """The mix that keeps all limits with the wanted certainty at one bound, and the 95% interval of its value."""

    bound: float
    value: float
    interval: tuple[float, float]
    mixture: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        plain: dict[str, Any] = finite(vars(self))
        return plain


class Outcome(NamedTuple):
    """The best mix at one bound; without a mix, and with a value of NaN, where none keeps the limits."""

    bound: float
    feasible: bool
    value: float
    mixture: Mapping[str, float]
    price: float


@dataclass(frozen=True)
class TradeOff:
    """Value of the best mix against the bound of one limit, all others as they are, in the units of goal and limit.

    Attributes
    ----------
    cost, bound
        Which bound moves, and where it stands.
    pieces
        Ranges of the bound, ascending, with exact ends: the support changes there. Empty when the other limits cannot
        be kept, whatever this one is.
    safe
        The safe mix at bounds for which there is one; empty where means are given rather than estimated.
    safety
        Its certainty to keep all limits; None when it was not asked for.
    goal
        What is to be as large, or as small, as possible.
    limit
        The limit as it stands.
    estimated
        Whether the means are estimates, or given.
    note
        What else is to be said of the estimates.
    """

    cost: str
    bound: float
    pieces: tuple[Piece, ...]
    safe: tuple[SafePoint, ...] = ()
    safety: float | None = None
    goal: Goal = REWARD
    limit: Limit | None = None
    estimated: bool = True
    note: str = ""

    @property
    def label(self) -> str:
        """What is limited."""
        if self.limit is None or is_bound(self.limit):
            return self.cost
        quantity, arm, segment = self.limit.quantity, self.limit.arm, self.limit.segment
        relative = "" if arm is None else f" / {quantity}({arm})"
        return f"{quantity}{relative}{'' if segment is None else f' in {segment}'}"

    @property
    def at_least(self) -> bool:
        """Whether the limit is of the form "at least": a larger bound is the tighter one."""
        return self.limit is not None and self.limit.relation == ">="

    @property
    def tightest(self) -> float:
        """The tightest bound that some mix keeps; NaN when there is none."""
        if not self.pieces:
            return math.nan
        return self.pieces[-1].high if self.at_least else self.pieces[0].low

    @property
    def loosest(self) -> float:
        """The bound from which on it no longer binds; NaN when there is none."""
        if not self.pieces:
            return math.nan
        return self.pieces[0].high if self.at_least else self.pieces[-1].low

    @property
    def least(self) -> float:
        """The smallest bound of the range in which it binds and can be kept; NaN when there is none."""
        return self.loosest if self.at_least else self.tightest

    @property
    def most(self) -> float:
        """The largest bound of the range in which it binds and can be kept; NaN when there is none."""
        return self.tightest if self.at_least else self.loosest

    @property
    def knots(self) -> list[tuple[float, float]]:
        """Bounds at which the arms of the mix change, with the value there; one for each piece, at its tight end."""
        if self.at_least:
            return [(piece.high, piece.high_value) for piece in self.pieces]
        return [(piece.low, piece.low_value) for piece in self.pieces]

    def stands_in(self, piece: Piece) -> bool:
        """Whether the bound as it is lies in this piece."""
        inside = piece.low < self.bound <= piece.high, piece.low <= self.bound < piece.high
        return inside[0] if self.at_least else inside[1]

    def keepable(self, bound: float) -> bool:
        """Whether some mix keeps this bound."""
        bound = self._rounded(bound)
        return bound <= self.tightest if self.at_least else bound >= self.tightest

    def at(self, bound: float) -> Outcome:
        """The best mix at another bound.

        >>> from bestmix import Instance, tradeoff
        >>> found = tradeoff(Instance([1.0, 1.75, 2.0], [[0.0, 1.0, 2.0]], [1.0]))
        >>> found.at(1.5).value, found.at(1.5).mixture, found.at(-1.0).feasible
        (1.875, {'arm1': 0.5, 'arm2': 0.5}, False)
        """
        if not isinstance(bound, (int, float)) or not math.isfinite(bound):
            raise checks.InvalidInput("bound", expected="a finite number", got=checks.shown(bound))
        place = self._rounded(bound)
        inside = [piece for piece in self.pieces if piece.low <= place <= piece.high]
        if not inside:
            return Outcome(bound, False, math.nan, {}, math.nan)
        piece = inside[0 if self.at_least else -1]
        return Outcome(bound, True, piece.value(place), piece.mixture(place), piece.slope)

    def _rounded(self, bound: float) -> float:
        """The tightest bound for one that only rounding sets apart from it, such as all of a share."""
        end, span = self.tightest, abs(self.loosest - self.tightest)
        dust = ROUNDING * span + RESOLUTION * max(abs(bound), abs(end))
        return end if abs(bound - end) <= dust else bound

    def safe_at(self, bound: float) -> SafePoint | None:
        """The safe mix at one of the bounds that were looked at; None for another, or where there is none."""
        return next((point for point in self.safe if point.bound == bound), None)

    @property
    def changed_bounds(self) -> tuple[float, ...]:
        """The bound 20% higher, and 20% lower, as far as a mix keeps it; one of zero moves by 20% of its range."""
        size = abs(self.bound) or self.most - self.least or 1.0
        moved = [self.possible(self.bound + change * size) for change in CHANGES]
        return tuple(bound for bound in moved if bound != self.bound)

    def possible(self, bound: float) -> float:
        """A bound, or the tightest that some mix keeps where none keeps it; shares and chances are from 0 to 1."""
        if self.keepable(self.bound) and not self.keepable(bound):
            bound = self.tightest
        chance = self.limit is not None and isinstance(self.limit.quantity, Tail | Share)
        return min(max(bound, 0.0), 1.0) if chance and 0.0 <= self.bound <= 1.0 else bound

    def sentences(self) -> list[str]:
        """What the limit costs, and what another would earn."""
        from bestmix.answers.tradeoff_wording import sentences

        return sentences(self)

    def __str__(self) -> str:
        from bestmix.answers.tradeoff_wording import text

        return text(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without NaN or infinities."""
        now = self.at(self.bound)
        data = {
            "cost": self.cost,
            "bound": self.bound,
            "goal": str(self.goal),
            "limit": None if self.limit is None else str(self.limit),
            "feasible": now.feasible,
            "value": now.value,
            "price": now.price,
            "least": self.least,
            "most": self.most,
            "pieces": [piece.to_dict() for piece in self.pieces],
            "safety": self.safety,
            "safe": [point.to_dict() for point in self.safe],
            "sentences": self.sentences(),
        }
        plain: dict[str, Any] = finite(data)
        return plain
