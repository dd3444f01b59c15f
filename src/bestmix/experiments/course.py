"""The course of an experiment, derived once more from its trials and events: sums, decisions, rounds."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from bestmix.answers.moments import Moments
from bestmix.arrays import Floats
from bestmix.experiments.calls import left_budget
from bestmix.experiments.model import Record
from bestmix.experiments.planning import left_after
from bestmix.experiments.revision import Revision, Setup, revision
from bestmix.experiments.store import Contents
from bestmix.experiments.tally import Log, Tally
from bestmix.problems.problem import Problem
from bestmix.strategies import Strategy, rounds
from bestmix.strategies.paid import once_more
from bestmix.strategies.protocol import Extendable, Memory, arriving, look_ahead
from bestmix.strategies.rounds import Recipe, Step


def problem_at(record: Record, log: Log, number: int) -> Problem:
    """The problem that the end of a round was decided by."""
    found = [data["problem"] for came, data in log.changes if came <= number]
    return Problem.from_dict(found[-1] if found else record.problem)


class Course:
    """What an experiment's trials and events lead to."""

    def __init__(self, contents: Contents, log: Log, tally: Tally, now: Revision) -> None:
        self.contents, self.log, self.tally, self.now = contents, log, tally, now
        self.from_log = any(contents.run.earlier)  # all of its log counts, as of the beginning

    def sums(self) -> list[Moments]:
        """Sums of all results that count, of each arm, in the store's order."""
        sums = self._start()
        for number in self.tally.results:
            self._add(sums, number)
        for trial in self.log.extra:
            self._add_extra(sums, trial)
        return sums

    def replay(self, strategy: Strategy) -> Step:
        """Where the strategy gets to with the same trials and changes; its rounds are those from the beginning."""
        record, wanted = self.contents.record, len(self.contents.run.rounds)
        budget = record.first_budget if self.log.first_budget is None else self.log.first_budget
        setup = Setup(revision(record, None), strategy)
        if self.ahead(strategy):
            return self._replay_ahead(setup, budget)
        step, sums = self._begin(setup.recipe, budget), self._start()
        memory, history, changes = self._arriving(step.memory), list(step.rounds), list(self.log.changes)
        while True:
            number = len(history) + 1
            while changes and changes[0][0] <= number:
                data = changes.pop(0)[1]
                setup = Setup(setup.revision.becoming(Problem.from_dict(data["problem"]), {}), strategy)
                budget, memory = data["budget"], data.get("memory", memory)
            if len(history) >= wanted:
                return Step(memory, rounds.planned(setup.recipe, budget, memory), history)
            self._add_all(sums, number)
            step = self._decide(setup, budget, memory, sums, number)
            memory, history = step.memory, [*history, *step.rounds]
            if not step.rounds:
                return Step(memory, step.quota, history)

    def ahead(self, strategy: Strategy) -> int:
        """Slots that decisions do not wait for."""
        return look_ahead(strategy, problem_at(self.contents.record, self.log, 0), self.contents.run.memory)

    def _replay_ahead(self, setup: Setup, budget: int) -> Step:
        """The same where decisions are made from the first slots of the plan."""
        ahead, step, sums = self.ahead(setup.strategy), self._begin(setup.recipe, budget), self._start()
        memory, history, quota, changes = step.memory, list(step.rounds), step.quota, list(self.log.changes)
        slots, plan = self._slots(), np.zeros(len(self.now.cells), dtype=np.int64)
        first, waits = 0, sum(quota or ())  # slots that were added, and those that the next decision waits for
        plan[: len(setup.revision.cells)] += setup.revision.spread(quota or [0] * len(setup.problem.cells))
        while quota is not None and len(history) < len(self.contents.run.rounds):
            number = len(history) + 1
            while changes and changes[0][0] <= number:
                new = Problem.from_dict(changes.pop(0)[1]["problem"])
                setup = Setup(setup.revision.becoming(new, {}), setup.strategy)
            for arm, values in slots[first:waits]:
                sums[arm] = sums[arm].plus(self._measured([values]))
            for trial, came in self.log.extra.items():
                if came == number:
                    self._add_extra(sums, trial)
            first, out = waits, plan.copy()
            np.subtract.at(out, [arm for arm, _ in slots[:waits]], 1)
            here, moments = left_budget(budget, setup.revision, dict(enumerate(sums))), setup.revision.chosen(sums)
            found = rounds.plan_ahead(setup.recipe, here, memory, moments, setup.revision.chosen(out.tolist()), number)
            memory, quota, history = found.memory, found.quota, [*history, *found.rounds]
            if quota is not None:
                planned = left_after(setup.revision, sums, out.tolist(), quota)
                plan += setup.revision.spread(quota)
                waits = max(waits, int(plan.sum()) - (ahead if planned < here else 0))
        return Step(memory, quota, history)

    def _slots(self) -> list[tuple[int, tuple[float, ...]]]:
        """Arm and result of every slot in the order of the plan, up to the first that is not filled."""
        first = min((number for number, _, _ in self.log.asks), default=1)
        found = []
        for number in sorted(number for number in self.tally.slots if number >= first):
            if number not in self.tally.filled:
                break
            found.append(self.tally.filled[number])
        return found

    def _decide(self, setup: Setup, budget: int, memory: Memory, sums: list[Moments], number: int) -> Step:
        """The end of a round; or of a run that was over, and decides once more."""
        here = left_budget(budget, setup.revision, dict(enumerate(sums)))
        recipe, moments = setup.recipe, setup.revision.chosen(sums)
        if rounds.planned(recipe, here, memory) is None and isinstance(setup.strategy, Extendable):
            again = once_more(setup.strategy, setup.problem, here, memory)
            return rounds.settle(recipe, here, again, moments, number - 1)
        short = arriving(setup.problem, memory) or number in self.log.short
        pulls = self._pulls(setup.revision, number) if short else None
        memory |= {"lost": self.log.lost[number]} if number in self.log.lost else {}
        return rounds.finish(recipe, here, memory, moments, number - 1, pulls)

    def _begin(self, recipe: Recipe, budget: int) -> Step:
        if not self.from_log:
            return rounds.begin(recipe, budget)
        made = [len(self.tally.log.get(arm, ())) for arm in range(len(recipe.problem.cells))]
        return rounds.begin_with(recipe, budget, self._start()[: len(made)], made)

    def _arriving(self, memory: Memory) -> Memory:
        return {**memory, "arriving": True} if self.contents.run.memory.get("arriving") else memory

    def _start(self) -> list[Moments]:
        """Sums of the log, with its weight."""
        sums = [Moments(len(self.now.problem.measures)) for _ in self.now.cells]
        if not self.from_log:
            return sums
        logs = [self.tally.log.get(arm, ()) for arm in range(len(sums))]
        weight = self.log.log_weight
        return [m.plus(self._measured(rows)).weighted(weight) for m, rows in zip(sums, logs, strict=True)]

    def logged(self) -> list[dict[str, Any] | None]:
        """Sums of the log's trials as they are, where all of them count."""
        if not self.from_log:
            return []
        size, logs = len(self.now.problem.measures), self.tally.log
        found = [logs.get(arm, ()) for arm in range(len(self.contents.run.earlier))]
        return [Moments(size).plus(self._measured(rows)).to_dict() if rows else None for rows in found]

    def _add_all(self, sums: list[Moments], number: int) -> None:
        """Add what came in a round."""
        self._add(sums, number)
        for trial, came in self.log.extra.items():
            if came == number:
                self._add_extra(sums, trial)

    def _add(self, sums: list[Moments], number: int) -> None:
        """Add a round's results, but for those of the log."""
        for arm, rows in self.tally.results[number].items():
            before = len(self.tally.log.get(arm, ())) if self.from_log and number == 1 else 0
            if len(rows) > before:
                sums[arm] = sums[arm].plus(self._measured(rows[before:]))

    def _add_extra(self, sums: list[Moments], trial: int) -> None:
        arm, values = self.tally.extra[trial]
        sums[arm] = sums[arm].plus(self._measured([values]))

    def _pulls(self, now: Revision, number: int) -> list[int]:
        return [len(self.tally.results[number].get(arm, ())) for arm in now.places]

    def _measured(self, rows: Sequence[Sequence[float]]) -> Floats:
        problem = self.now.problem
        return problem.rows.measure(np.array(rows).reshape(len(rows), len(problem.metrics)))
