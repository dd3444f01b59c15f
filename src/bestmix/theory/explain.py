"""An instance explained on a page: the best mix, what the bounds are worth, and what could change it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bestmix.answers.prices import price_words
from bestmix.problems.goals import Goal
from bestmix.problems.instance import Instance
from bestmix.problems.known import Known
from bestmix.problems.segment_instance import SegmentInstance
from bestmix.problems.solution import Solution, solve
from bestmix.problems.uniqueness import broken_condition
from bestmix.theory.explain_segments import CLEAR, SegmentExplanation, explain_segments
from bestmix.theory.gaps.measure import MOST_BASES, Gaps, gaps
from bestmix.theory.limit.bound import LowerBound
from bestmix.theory.limit.measure import limit_at_once
from bestmix.theory.planning.guesses import read_guess
from bestmix.theory.sentences import dropped_sentence, reasons, rival_sentence, trials_to_tell

ERROR = 0.05  # chance of a wrong answer for which the limit is told


@dataclass(frozen=True, eq=False)
class Explanation:
    """Text and numbers; ``plots.explanation_figure`` draws the picture.

    Attributes
    ----------
    instance, solution
        What is explained, and its linear program solved.
    gaps
        Its gaps; None where they do not exist or there are too many bases.
    note
        Why there are no gaps, if so.
    limit
        What no algorithm can beat that may be wrong in 5% of all cases; None where it is not known at once.
    reward
        What the reward is called, such as by the column of a log.
    """

    instance: Instance
    solution: Solution
    gaps: Gaps | None = field(repr=False)
    note: str
    limit: LowerBound | None = field(repr=False, default=None)
    reward: str = "reward"

    @property
    def mixture(self) -> dict[str, float]:
        """Probability of each arm that has any."""
        shares = zip(self.instance.arms, self.solution.mixture, strict=True)
        return {arm: float(share) for arm, share in shares if share > 0}

    @property
    def binding(self) -> list[str]:
        """Costs that the best mix uses up."""
        return [c for c, slack in zip(self.instance.costs, self.solution.slack, strict=True) if slack == 0]

    @property
    def shadow_prices(self) -> dict[str, float]:
        """What one more unit of each bound would add to the reward; empty when infeasible."""
        if not self.solution.feasible:
            return {}
        return dict(zip(self.instance.costs, map(float, self.solution.dual), strict=True))

    @property
    def droppable(self) -> list[str]:
        """Arms that a few trials rule out: their margins are at least three times the smallest of all."""
        if self.gaps is None:
            return []
        margin = self.gaps.margin
        unknown = len(self.instance.problem.arms)
        far = [a for a in range(unknown) if a not in self.gaps.basis and margin[a] >= CLEAR * margin.min()]
        return [self.instance.arms[a] for a in sorted(far, key=lambda a: -margin[a])]

    def paragraphs(self) -> dict[str, list[str]]:
        """Sentences under headings."""
        result = {"The best mix": [self._optimum()], "The bounds": self._bounds()}
        least = [] if self.limit is None else [self.limit.sentence()]
        if self.gaps is None:
            result["What could change it"] = [self.note, *least]
        else:
            result["What could change it"] = [rival_sentence(self.gaps, self.reward), *reasons(self.gaps), *least]
            result["What can be dropped at once"] = [self._dropped(self.gaps)]
        return {head: lines for head, lines in result.items() if lines}

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "feasible": self.solution.feasible,
            "mixture": self.mixture,
            "value": self.solution.value,
            "slack": dict(zip(self.instance.costs, map(float, self.solution.slack), strict=True)),
            "shadow_prices": self.shadow_prices,
            "binding": self.binding,
            "droppable": self.droppable,
            "gaps": None if self.gaps is None else self.gaps.to_dict(),
            "limit": None if self.limit is None else self.limit.to_dict(),
            "text": self.paragraphs(),
        }

    def __str__(self) -> str:
        blocks = [f"{head}\n" + "\n".join(f"  {line}" for line in lines) for head, lines in self.paragraphs().items()]
        return "\n\n".join(blocks)

    def _optimum(self) -> str:
        mix = " with ".join(f"{share:.1%} {arm}" if share < 1 else arm for arm, share in self.mixture.items())
        if self.solution.feasible:
            return f"{'Mix' if len(self.mixture) > 1 else 'Use'} {mix}: mean {self.reward} {self.solution.value:.4g}."
        return f"No mix keeps all bounds. The least violation has {mix}: mean {self.reward} {self.solution.value:.4g}."

    def _bounds(self) -> list[str]:
        lines = []
        for l, cost in enumerate(self.instance.costs):
            bound, slack = float(self.instance.bound[l]), float(self.solution.slack[l])
            price = self.shadow_prices.get(cost, 0.0)
            if slack < 0:
                lines.append(f"{cost}: {-slack:.3g} above its bound of {bound:.4g}.")
            elif slack > 0:
                lines.append(f"{cost}: {slack:.3g} below its bound of {bound:.4g}; a looser bound would add nothing.")
            else:
                size, name = float(abs(self.instance.cost[l]).max()), self.reward
                words = price_words(cost, bound, price, size, "the reward" if name == "reward" else name)
                lines.append(f"{cost}: at its bound of {bound:.4g}; {words}.")
        return lines

    def _dropped(self, found: Gaps) -> str:
        names = self.droppable
        if not names:
            return "No arm: all are about as hard to rule out as the closest rival."
        smallest = float(found.margin.min())
        nearest = min(float(found.margin[self.instance.arms.index(name)]) for name in names)
        few = trials_to_tell(nearest) if math.isfinite(nearest) else 1
        return dropped_sentence(names, few, trials_to_tell(smallest))


def explain(
    instance: Any,
    *,
    bounds: Mapping[str, float] | None = None,
    known: Mapping[str, Known] | None = None,
    arm: str = "arm",
    reward: str = "reward",
    drop_missing: bool = False,
    goal: str = "maximise reward",
    limits: Sequence[str] = (),
    segment: str | tuple[str, str] | None = None,
    discount: float | None = None,
    start: str | Mapping[str, float] | None = None,
    next_state: str = "next",
    features: Sequence[str] | Mapping[str, Any] | None = None,
) -> Explanation | SegmentExplanation:
    """Optimum, shadow prices, binding bounds, the closest rival and the arms that can be dropped at once.

    Parameters
    ----------
    instance
        An Instance, with segments and limits of any kind too, its file or its name in the catalog; or a log of trials
        as in ``from_log``, whose estimates are then taken for the truth.
    bounds, known, arm, reward, drop_missing, goal, limits, segment, discount, start, next_state, features
        Of a log, as in ``plan``.

    Examples
    --------
    >>> inst = Instance(reward=[1.7, 2.6, 0.5, 2.1, 1.2], cost=[[0.0, 1.8, 0.8, 1.3, 2.0]], bound=[1.0])
    >>> print(explain(inst))
    The best mix
      Mix 44.4% arm0 with 55.6% arm1: mean reward 2.2.
    <BLANKLINE>
    The bounds
      cost0: at its bound of 1; 1% more of the limit on cost0 (1 -> 1.01) would add 0.005 to the reward.
    <BLANKLINE>
    What could change it
      The closest rival, arm0 with arm3, is 0.193 standard deviations of one trial away. ...
    """
    asked: dict[str, Any] = {"bounds": bounds, "known": known, "goal": goal, "limits": limits, "features": features}
    asked |= {"discount": discount, "start": start, "next_state": next_state}
    instance, _ = read_guess(instance, asked, arm, reward, drop_missing, segment=segment, in_words=True)
    aim = Goal.parse(goal) if isinstance(goal, str) else goal
    reward = reward if aim == Goal() else str(aim.quantity)
    if isinstance(instance, SegmentInstance):
        return explain_segments(instance)
    solution = solve(instance)
    columns, size = len(instance.problem.columns), len(instance.bound) + 1
    if reason := broken_condition(instance, solution):
        lead = (
            "The smallest change can flip the answer" if solution.feasible else "There is no best mix to compare with"
        )
        least = None if solution.feasible else limit_at_once(instance, ERROR)
        return Explanation(instance, solution, None, f"{lead}: {reason}.", least, reward)
    if math.comb(columns, size) > MOST_BASES:
        note = "There are too many bases to measure the distances to all rivals."
        return Explanation(instance, solution, None, note, reward=reward)
    return Explanation(instance, solution, gaps(instance, bases=False), "", limit_at_once(instance, ERROR), reward)
