"""The course of an experiment, derived once more from its trials and events: sums, decisions, rounds."""

from collections.abc import Sequence

import numpy as np

from bestmix.answers.moments import Moments
from bestmix.arrays import Floats
from bestmix.experiments.store import Contents
from bestmix.experiments.tally import Log, Tally
from bestmix.problems.problem import Problem
from bestmix.strategies import rounds
from bestmix.strategies.protocol import Memory, arriving
from bestmix.strategies.rounds import Recipe, Step


class Course:
    """What an experiment's trials and events lead to."""

    def __init__(self, contents: Contents, log: Log, tally: Tally, problem: Problem) -> None:
        self.contents, self.log, self.tally, self.problem = contents, log, tally, problem
        self.from_log = any(contents.run.earlier)  # all of its log counts, as of the beginning

    def sums(self) -> list[Moments]:
        """Sums of all results that count, of each arm."""
        sums = self._start()
        for number in self.tally.results:
            self._add(sums, number)
        for trial in self.log.extra:
            self._add_extra(sums, trial)
        return sums

    def replay(self, recipe: Recipe) -> Step:
        """Where the strategy gets to with the same trials; its rounds are those from the beginning."""
        first, wanted = self.log.first_budget, len(self.contents.run.rounds)
        budget = self.contents.record.first_budget if first is None else first
        step, sums = self._begin(recipe, budget), self._start()
        memory, history = self._arriving(step.memory), list(step.rounds)
        while step.quota is not None and len(history) < wanted:
            number = len(history) + 1
            self._add(sums, number)
            for trial, came in self.log.extra.items():
                if came == number:
                    self._add_extra(sums, trial)
            pulls = self._pulls(number) if arriving(self.problem, memory) else None
            step = rounds.finish(recipe, budget, memory, sums, len(history), pulls)
            memory, history = step.memory, [*history, *step.rounds]
        return Step(memory, step.quota, history)

    def _begin(self, recipe: Recipe, budget: int) -> Step:
        if not self.from_log:
            return rounds.begin(recipe, budget)
        made = [len(self.tally.log.get(arm, ())) for arm in range(len(self.problem.cells))]
        return rounds.begin_with(recipe, budget, self._start(), made)

    def _arriving(self, memory: Memory) -> Memory:
        return {**memory, "arriving": True} if self.contents.run.memory.get("arriving") else memory

    def _start(self) -> list[Moments]:
        """Sums of the log, with its weight."""
        sums = rounds.no_trials(self.problem)
        if not self.from_log:
            return sums
        logs = [self.tally.log.get(arm, ()) for arm in range(len(sums))]
        weight = self.log.log_weight
        return [m.plus(self._measured(rows)).weighted(weight) for m, rows in zip(sums, logs, strict=True)]

    def _add(self, sums: list[Moments], number: int) -> None:
        """Add a round's results, but for those of the log."""
        for arm, rows in self.tally.results[number].items():
            before = len(self.tally.log.get(arm, ())) if self.from_log and number == 1 else 0
            if len(rows) > before:
                sums[arm] = sums[arm].plus(self._measured(rows[before:]))

    def _add_extra(self, sums: list[Moments], trial: int) -> None:
        arm, values = self.tally.extra[trial]
        sums[arm] = sums[arm].plus(self._measured([values]))

    def _pulls(self, number: int) -> list[int]:
        return [len(self.tally.results[number].get(arm, ())) for arm in range(len(self.problem.cells))]

    def _measured(self, rows: Sequence[Sequence[float]]) -> Floats:
        return self.problem.rows.measure(np.array(rows).reshape(len(rows), len(self.problem.metrics)))
