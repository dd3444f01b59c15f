"""The course of an experiment, derived once more from its trials and events: sums, decisions, rounds."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from bestmix.answers.moments import Moments
from bestmix.answers.recommendation import Round
from bestmix.arrays import Floats
from bestmix.experiments.calls import left_budget
from bestmix.experiments.control import grown
from bestmix.experiments.model import Record
from bestmix.experiments.planning_ahead import goes_on
from bestmix.experiments.revision import Revision, Setup, revision
from bestmix.experiments.store import Contents
from bestmix.experiments.tally import Log, Tally, Turn
from bestmix.experiments.unreported_costs import with_retired
from bestmix.problems.problem import Problem
from bestmix.strategies import Strategy, rounds
from bestmix.strategies.paid import once_more
from bestmix.strategies.protocol import AHEAD, Extendable, Memory, arriving, extended, look_ahead
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
        record, turns = self.contents.record, list(self.log.turns)
        budget = record.first_budget if self.log.first_budget is None else self.log.first_budget
        setup = Setup(revision(record, None), strategy)
        step = self._begin(setup.recipe, budget)
        at = Point(setup, budget, self._as_begun(step.memory), list(step.rounds), self._start())
        ahead = Ahead(self, self.ahead(strategy), step.quota or []) if self.ahead(strategy) else None
        while True:
            while turns and turns[0].round <= at.number:
                turn, over = turns.pop(0), at.quota is None
                self._turn(at, turn, over)
                if ahead is not None and (over or "memory" in turn.data):
                    ahead.wait_for_all()
            if len(at.history) >= len(self.contents.run.rounds) or at.quota is None:
                return Step(at.memory, at.quota, at.history)
            if ahead is None:
                self._add(at.sums, at.number)
            else:
                if at.number in self.log.short:
                    ahead.wait_for_all()
                ahead.add(at)
            self._add_beside(at, sum(came <= at.number for came in self.log.extra.values()))
            at.go_to(self._decide(at) if ahead is None else ahead.decide(at))

    def ahead(self, strategy: Strategy) -> int:
        """Slots that decisions do not wait for."""
        return look_ahead(strategy, problem_at(self.contents.record, self.log, 0), self.contents.run.memory)

    def _turn(self, at: "Point", turn: Turn, over: bool) -> None:
        """Another problem or a larger budget; a run that was over decides once more."""
        data, strategy, old = turn.data, at.setup.strategy, at.here
        self._add_beside(at, turn.extra)
        at.budget = data["budget"]
        if "problem" in data:
            at.setup = Setup(at.setup.revision.becoming(Problem.from_dict(data["problem"]), {}), strategy)
            at.memory = self._as_arriving(data.get("memory", at.memory))
            if over and "memory" not in data and isinstance(strategy, Extendable):
                again = once_more(strategy, at.setup.problem, at.here, at.memory)
                step = rounds.settle(at.setup.recipe, at.here, again, at.moments, len(at.history))
                at.go_to(step if step.quota is not None else Step(at.memory, None, []))
            return
        before, after = (at.memory["amount"], data["amount"]) if "amount" in data else (old, at.here)
        longer = extended(strategy, at.setup.problem, before, after, at.memory)
        if over:
            at.go_to(rounds.settle(at.setup.recipe, at.here, longer, at.moments, len(at.history)))
        else:
            at.go_to(grown(at.setup.recipe, 0, (old, at.here), longer, at.memory))

    def _decide(self, at: "Point") -> Step:
        """The end of a round."""
        short = arriving(at.setup.problem, at.memory) or any(came <= at.number for came in self.log.short - at.short)
        at.short |= {came for came in self.log.short if came <= at.number}
        pulls = [len(self.tally.results[at.number].get(arm, ())) for arm in at.setup.revision.places] if short else None
        return rounds.finish(at.setup.recipe, at.here, self.settled(at), at.moments, at.number - 1, pulls)

    def settled(self, at: "Point") -> Memory:
        """The memory with what retired arms and trials that never told took of the money."""
        lost = {"lost": self.log.lost[at.number]} if at.number in self.log.lost else {}
        return with_retired(at.setup, at.memory | lost, dict(enumerate(at.sums)))

    def _begin(self, recipe: Recipe, budget: int) -> Step:
        if not self.from_log:
            return rounds.begin(recipe, budget)
        made = [len(self.tally.log.get(arm, ())) for arm in range(len(recipe.problem.cells))]
        return rounds.begin_with(recipe, budget, self._start()[: len(made)], made)

    def _as_begun(self, memory: Memory) -> Memory:
        """The memory at the beginning: users arrived from then on, or rounds that are bought waited for all slots."""
        now = self.contents.run.memory
        return self._as_arriving({name: value for name, value in memory.items() if name != AHEAD or AHEAD in now})

    def _as_arriving(self, memory: Memory) -> Memory:
        """The memory where users arrive: no event tells that, and arms that changed before changed without it."""
        return {**memory, "arriving": True} if self.contents.run.memory.get("arriving") else memory

    def _start(self) -> list[Moments]:
        """Sums of the log, with its weight."""
        sums = [Moments(len(self.now.problem.measures)) for _ in self.now.cells]
        if not self.from_log:
            return sums
        logs = [self.tally.log.get(arm, ()) for arm in range(len(sums))]
        weight = self.log.log_weight
        return [m.plus(self.measured(rows)).weighted(weight) for m, rows in zip(sums, logs, strict=True)]

    def logged(self) -> list[Moments | None]:
        """Sums of the log's trials as they are, where all of them count."""
        if not self.from_log:
            return []
        size, logs = len(self.now.problem.measures), self.tally.log
        found = [logs.get(arm, ()) for arm in range(len(self.contents.run.earlier))]
        return [Moments(size).plus(self.measured(rows)) if rows else None for rows in found]

    def _add(self, sums: list[Moments], number: int) -> None:
        """Add a round's results, but for those of the log."""
        for arm, rows in self.tally.results[number].items():
            before = len(self.tally.log.get(arm, ())) if self.from_log and number == 1 else 0
            if len(rows) > before:
                sums[arm] = sums[arm].plus(self.measured(rows[before:]))

    def _add_beside(self, at: "Point", most: int) -> None:
        """Add results beside the plan, up to so many of all."""
        for trial in list(self.log.extra)[at.beside : most]:
            self._add_extra(at.sums, trial)
        at.beside = max(at.beside, most)

    def _add_extra(self, sums: list[Moments], trial: int) -> None:
        arm, values = self.tally.extra[trial]
        sums[arm] = sums[arm].plus(self.measured([values]))

    def measured(self, rows: Sequence[Sequence[float]]) -> Floats:
        """Measures of results (m, M)."""
        problem = self.now.problem
        return problem.rows.measure(np.array(rows).reshape(len(rows), len(problem.metrics)))


@dataclass
class Point:
    """How far a replay has come.

    ``sums`` are those of results that a decision was made from, of which ``beside`` came beside the plan; ``short`` are
    rounds that ended without some of their slots.
    """

    setup: Setup
    budget: int
    memory: Memory
    history: list[Round]
    sums: list[Moments]
    beside: int = 0
    short: set[int] = field(default_factory=set)

    @property
    def number(self) -> int:
        """The round that is open."""
        return len(self.history) + 1

    @property
    def here(self) -> int:
        """The budget of what can be tried."""
        return left_budget(self.budget, self.setup.revision, dict(enumerate(self.sums)))

    @property
    def moments(self) -> list[Moments]:
        """Sums of what can be tried."""
        return self.setup.revision.chosen(self.sums)

    @property
    def quota(self) -> list[int] | None:
        """Trials of the open round; None when the run is over."""
        return rounds.planned(self.setup.recipe, self.here, self.memory)

    def go_to(self, step: Step) -> None:
        """Go on from there."""
        self.memory, self.history = step.memory, [*self.history, *step.rounds]


class Ahead:
    """The plan of a run whose decisions are made from its first slots, in the store's order."""

    def __init__(self, course: Course, ahead: int, first: Sequence[int]) -> None:
        self.course, self.ahead, self.slots = course, ahead, list[tuple[int, int, tuple[float, ...]]]()
        self.slots += self._filled()
        self.added = 0  # slots whose results are in the sums
        self.waits: int | None = sum(first)  # slots that the next decision waits for; None: all that were handed out
        self.plan = np.zeros(len(course.now.cells), dtype=np.int64)
        self.plan[: len(first)] = first

    def _filled(self) -> Iterator[tuple[int, int, tuple[float, ...]]]:
        """Number, arm and result of every slot in the order of the plan, up to the first that is not filled."""
        log, tally = self.course.log, self.course.tally
        first, gone = min((number for number, _, _ in log.asks), default=1), log.closed | log.dropped
        for number in sorted(number for number in tally.slots if number >= first and number not in gone):
            if number not in tally.filled:
                return
            yield number, *tally.filled[number]

    def wait_for_all(self) -> None:
        """The plan was cut short, or is over: the next decision waits for every slot."""
        self.waits = None

    def add(self, at: Point) -> None:
        """Add the results that the next decision is made from."""
        if self.waits is None:
            last = self.course.log.handed.get(at.number, 0)
            self.waits = sum(number <= last for number, _, _ in self.slots)
            self.plan = np.bincount([arm for _, arm, _ in self.slots[: self.waits]], minlength=len(self.plan))
        for _, arm, values in self.slots[self.added : self.waits]:
            at.sums[arm] = at.sums[arm].plus(self.course.measured([values]))
        self.added = self.waits

    def decide(self, at: Point) -> Step:
        """Plan a further round, while slots that no decision waits for are under way."""
        out, now, here = self.plan.copy(), at.setup.revision, at.here
        np.subtract.at(out, [arm for _, arm, _ in self.slots[: self.added]], 1)
        under_way = now.chosen(out.tolist())
        step = rounds.plan_ahead(at.setup.recipe, here, self.course.settled(at), at.moments, under_way, at.number)
        if step.quota is not None:
            more = goes_on(at.setup, here, step.memory, at.sums, under_way, step.quota)
            self.plan[: len(now.cells)] += now.spread(step.quota)
            self.waits = max(self.added, int(self.plan.sum()) - (self.ahead if more else 0))
        return step
