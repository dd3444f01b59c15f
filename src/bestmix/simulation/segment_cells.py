"""A cell whose instance has segments, limits of every kind or partly known arms.

Trials are chosen, or users arrive and only their arm is chosen. Answers are compared by what they are made of: arms in
segments with a share, and limits with something to spare.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bestmix.answers import noisy_program
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.programs import program_of
from bestmix.arrays import Floats, Integers
from bestmix.kernels import jit
from bestmix.kernels.segment_runs import ARRIVING, CHOSEN, LEARNT, Answers
from bestmix.kernels.simplex import FEASIBLE
from bestmix.problems.layouts import places
from bestmix.problems.segment_instance import SegmentInstance
from bestmix.problems.solution import solve_means
from bestmix.simulation.cells import CORRECT, WRONG_SUPPORT, WRONGLY_INFEASIBLE, Cell, Outcomes
from bestmix.strategies import rounds
from bestmix.strategies.protocol import Memory, SegmentReplicable, certified_mix
from bestmix.strategies.replication import Replication


@dataclass(frozen=True, eq=False)
class SegmentCell(Cell):
    """One strategy on one instance of segments with one budget and seed."""

    instance: SegmentInstance
    arriving: bool = False

    @property
    def content(self) -> dict[str, Any]:
        """All that a run depends on."""
        return super().content | {"arriving": self.way != CHOSEN}

    @cached_property
    def way(self) -> int:
        """Whether trials are chosen, users arrive, or their shares are learnt from who arrives as well."""
        if None in self.instance.problem.segments.values():
            return LEARNT
        return ARRIVING if self.arriving else CHOSEN

    @cached_property
    def fast(self) -> Replication | None:
        """The strategy's own simulated runs, or None."""
        if not isinstance(self.strategy, SegmentReplicable):
            return None
        return self.strategy.segment_replicator(self.instance, self.budget, self.way)

    def bare(self) -> "SegmentCell":
        """The cell without what it has computed, which need not travel."""
        return SegmentCell(self.instance, self.strategy, self.budget, self.seed, self.arriving, beside=self.beside)

    def _outcomes(self, block: int, size: int, runs: int) -> Outcomes:
        """Outcomes of the first ``size`` runs of a block; few runs in all are over before a compiler would be."""
        answers, rng = self._new_answers(size), self.generator(block)
        if self.fast is not None:
            work = self.fast.work
            self.fast.call(jit.speed_for_runs(work * runs, segments=True, now=work * size), rng, answers)
        else:
            for run in range(size):
                self._one_by_one(rng, run, answers)
        wrong, judged = self.instance.wrong(answers.basic, answers.feasible), self.instance.judge(answers.mix)
        error = np.where(answers.feasible, WRONG_SUPPORT, WRONGLY_INFEASIBLE)
        outcome = np.where(wrong, error, CORRECT).astype(np.uint8)
        values = [np.where(answers.feasible, value, np.nan) for value in judged]
        return Outcomes(outcome, answers.pulls, *values)

    def _new_answers(self, runs: int) -> Answers:
        n, limits = self.instance.layout.constant.shape
        flags = np.zeros((runs, n + limits), dtype=np.bool_), np.zeros(runs, dtype=np.bool_)
        return Answers(np.zeros((runs, n)), *flags, np.zeros(runs, dtype=np.int64))

    def _one_by_one(self, rng: np.random.Generator, run: int, answers: Answers) -> None:
        """A run of any strategy, round by round."""
        problem, at = self.instance.problem, self.instance.places
        moments, memory = self._rounds(rng)
        answers.pulls[run] = sum(m.count for m in moments)
        columns = self.strategy.columns(problem, memory)
        if columns is None:
            return
        found = _answer(Evidence(problem, moments), columns)
        answers.feasible[run] = found.feasible
        if found.feasible:
            certified = certified_mix(self.strategy, problem, memory)
            answers.mix[run] = found.weights if certified is None else certified[at]
            answers.basic[run, : len(at)] = found.weights > FEASIBLE
            answers.basic[run, found.basis[found.basis >= len(at)]] = True
            answers.basic[run, len(at) :] &= found.slack > FEASIBLE

    def _rounds(self, rng: np.random.Generator) -> tuple[list[Moments], Memory]:
        """Sums of the trials of a run, and what the strategy remembers at its end."""
        recipe = rounds.Recipe(self.instance.problem, self.strategy)
        step, closed = rounds.begin(recipe, self.budget), 0
        moments = rounds.no_trials(recipe.problem)
        memory = step.memory | ({"arriving": True} if self.way != CHOSEN else {})
        while step.quota is not None:
            closed += len(step.rounds)
            before = [m.count for m in moments]
            pulls = step.quota if self.way == CHOSEN else self._arrivals(rng, step.quota, before)
            moments = [
                m.plus(self.instance.draw(j, n, rng)) if n else m
                for j, (m, n) in enumerate(zip(moments, pulls, strict=True))
            ]
            step = rounds.finish(recipe, self.budget, memory, moments, closed, pulls)
            memory = step.memory
        return moments, memory

    def _arrivals(self, rng: np.random.Generator, plan: Sequence[int], before: Sequence[int]) -> list[int]:
        """Trials of a round in which as many users arrive as it plans."""
        given = [0] * len(plan)
        arms = len(self.instance.problem.arms)
        for s, users in enumerate(rng.multinomial(sum(plan), self.instance.weight)):
            inside = slice(s * arms, (s + 1) * arms)
            for _ in range(users):
                given[inside.start + rounds.furthest_behind(plan[inside], given[inside], before[inside])] += 1
        return given


class Answer(NamedTuple):
    """Weights of the program's columns (n,), what is left of each limit (R,), and the basic columns and slacks."""

    feasible: bool
    weights: Floats
    slack: Floats
    basis: Integers


def _answer(evidence: Evidence, columns: Integers) -> Answer:
    """The optimum at the estimates of these columns, as a recommendation has it."""
    problem, n = evidence.problem, len(evidence.problem.names)
    if problem.plain or evidence.fit is not None:
        means = np.where(np.isnan(evidence.means), 0.0, evidence.means)
        solved = solve_means(means, problem.bound, np.intersect1d(columns, evidence.tried))
        return Answer(solved.feasible, solved.mixture, solved.slack, np.array(solved.basis))
    program = program_of(evidence)
    best = noisy_program.solve(program, np.isin(places(problem), columns))
    best = best if best.feasible else noisy_program.solve(program)
    return Answer(best.feasible, best.weights, best.slack, best.basis[best.basis < n + len(problem.limits)])
