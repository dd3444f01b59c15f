"""An instance with segments or limits of every kind explained: its best mix, its limits, and what could change it."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.number_text import mix_text
from bestmix.answers.prices import limit_price
from bestmix.answers.recommend import recommend
from bestmix.answers.recommendation import Recommendation
from bestmix.problems.goals import Goal
from bestmix.problems.problem import Problem
from bestmix.problems.segment_instance import SegmentInstance
from bestmix.problems.solution import Solution, solve
from bestmix.problems.uniqueness import broken_condition
from bestmix.theory.sentences import dropped_sentence, trials_to_tell

TRIALS = 10**8  # of each arm in each segment: as good as the truth
CLEAR = 3.0  # times the smallest margin: a ninth of the trials tells
MOST_SEGMENTS = 12  # whose mixes a paragraph tells
ROUNDING = 1e-9  # of the value: a gain that is none


@dataclass(frozen=True, eq=False)
class SegmentExplanation:
    """Text and numbers; ``plots.explanation_figure`` draws the picture.

    Attributes
    ----------
    instance
        What is explained.
    answer
        The recommendation that its true means lead to.
    """

    instance: SegmentInstance
    answer: Recommendation = field(repr=False)

    @cached_property
    def solution(self) -> Solution:
        """The linear program solved."""
        return solve(self.instance)

    @property
    def mixture(self) -> dict[str, float]:
        """Share of all users of each arm, in each segment, that has any."""
        return dict(self.answer.best_guess)

    @property
    def binding(self) -> list[str]:
        """Limits that the best mix uses up."""
        return [c for c, slack in zip(self.instance.costs, self.solution.slack, strict=True) if slack == 0]

    @property
    def shadow_prices(self) -> dict[str, float]:
        """What one more unit of each limit would add to the goal; empty when infeasible."""
        return dict(self.answer.shadow_prices)

    @cached_property
    def margins(self) -> dict[str, float]:
        """How far each condition of the answer is from failing, in standard deviations of one trial each.

        A column of the mix must keep its share, any other must not gain by one, a limit with room must keep some.
        """
        scores = {name: z / math.sqrt(TRIALS) for name, z in self.answer.z_scores.items()}
        return {name: z for name, z in sorted(scores.items(), key=lambda pair: pair[1]) if math.isfinite(z)}

    @property
    def droppable(self) -> list[str]:
        """Arms (in segments) that a few trials rule out: their margins are at least three times the smallest."""
        least = min(self.margins.values(), default=math.inf)
        tried = set(self.instance.problem.trial_names) - set(self.mixture)
        far = [name for name, z in reversed(self.margins.items()) if name in tried and z >= CLEAR * least]
        return far if least > 0 else []

    def paragraphs(self) -> dict[str, list[str]]:
        """Sentences under headings."""
        result = {"The best mix": self._optimum(), "The limits": self._limits()}
        if self.answer.feasible:
            result["What could change it"] = self._rivals()
            result["What can be dropped at once"] = [self._dropped()] if self.margins else []
        return {head: lines for head, lines in result.items() if lines}

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        slack = dict(zip(self.instance.costs, map(float, self.solution.slack), strict=True))
        return {
            "feasible": self.answer.feasible,
            "mixture": self.mixture,
            "by_segment": {segment: dict(mix) for segment, mix in self.answer.by_segment.items()},
            "value": self.answer.best_guess_value,
            "common_mixture": dict(self.answer.common_mixture),
            "segments_worth": self.answer.segments_worth,
            "slack": slack,
            "shadow_prices": self.shadow_prices,
            "binding": self.binding,
            "margins": self.margins,
            "droppable": self.droppable,
            "text": self.paragraphs(),
        }

    def __str__(self) -> str:
        blocks = [f"{head}\n" + "\n".join(f"  {line}" for line in lines) for head, lines in self.paragraphs().items()]
        return "\n\n".join(blocks)

    def _optimum(self) -> list[str]:
        rec, goal = self.answer, self.instance.problem.goal
        verdict = "" if rec.feasible else "No mix keeps all limits. The least violation has a "
        value = f"{verdict}{'M' if rec.feasible else 'm'}ean {goal.quantity} {rec.best_guess_value:.4g}"
        if not rec.by_segment:
            return [f"{value}: {mix_text(self.mixture)}.", *self._contradiction()]
        group = self.instance.problem.group
        lines = [f"{value}, with a mix for each {group}:"]
        lines += [f"{segment}: {mix_text(mix)}." for segment, mix in list(rec.by_segment.items())[:MOST_SEGMENTS]]
        if len(rec.by_segment) > MOST_SEGMENTS:
            lines.append(f"and {len(rec.by_segment) - MOST_SEGMENTS} {group}s more.")
        return [*lines, *self._worth(goal), *self._contradiction()]

    def _worth(self, goal: Goal) -> list[str]:
        """What segments are worth."""
        rec = self.answer
        if not rec.feasible or rec.segments_worth is None:
            return []
        if abs(rec.segments_worth) <= ROUNDING * abs(rec.best_guess_value):
            return ["One mix for all segments does as well."]
        more = "more" if goal.maximise else "less"
        return [
            f"That is {abs(rec.segments_worth):.3g} {more} than the best mix for all segments alike, "
            f"{mix_text(rec.common_mixture)}."
        ]

    def _contradiction(self) -> list[str]:
        return [] if self.answer.feasible else [self.answer.note.replace(" at the estimates", "")]

    def _limits(self) -> list[str]:
        lines, binding = [], self.binding
        for cost in self.instance.costs:
            at = f"{cost}: {self.answer.limits[cost].mean:.4g}"
            price = limit_price(self.answer, cost) if cost in binding else None
            room = "with room to spare; a looser limit would add nothing"
            state = "at its limit" if cost in binding else room if self.answer.slack[cost] > 0 else "too much"
            lines.append(f"{at}, {state}{f'; {price}' if price else ''}.")
        return lines

    def _rivals(self) -> list[str]:
        reason = broken_condition(self.instance, self.solution)
        tie = [f"The smallest change can flip the answer: {reason}."] if reason else []
        return tie + [f"{self._condition(name)} (margin {z:.3g})." for name, z in list(self.margins.items())[:3]]

    def _condition(self, name: str) -> str:
        """How the condition of a column could fail."""
        cost = self.instance.problem.slack_cost(name)
        if cost is not None:
            return f"The limit '{cost}' could be {'not worth using up' if cost in self.binding else 'reached'}"
        return f"{name} could {'lose its' if name in self.mixture else 'gain a'} place in the mix"

    def _dropped(self) -> str:
        names = self.droppable
        if not names:
            return "Nothing: all arms are about as hard to rule out as the closest rival."
        few, many = trials_to_tell(self.margins[names[-1]]), trials_to_tell(min(self.margins.values()))
        return dropped_sentence(names, few, many)


def explain_segments(instance: SegmentInstance) -> SegmentExplanation:
    """The explanation of an instance with segments, or with limits of any kind.

    >>> from bestmix import catalog
    >>> found = explain_segments(catalog.load("S3L1"))
    >>> list(found.paragraphs()), found.binding
    (['The best mix', 'The limits', 'What could change it', 'What can be dropped at once'], ['cost0'])
    """
    asked = instance.problem.to_dict()
    if instance.problem.segments and not instance.problem.flows:
        asked["segments"] = dict(zip(instance.problem.segments, instance.shares, strict=True))
    problem = Problem.from_dict(asked)
    told = [
        Moments.from_statistics(TRIALS, mean, (TRIALS - 1.0) * covariance)
        for mean, covariance in zip(instance.means, instance.covariance, strict=True)
    ]
    evidence = Evidence(problem, told[: len(problem.cells)])
    every = np.arange(len(problem.columns))
    return SegmentExplanation(instance, recommend(evidence, every, strategy="", safety=None))
