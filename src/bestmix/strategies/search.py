"""One run of a strategy: the mutable state behind ask and tell."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from bestmix import checks, files
from bestmix.answers.account import Account
from bestmix.answers.conflict import with_conflict
from bestmix.answers.evidence import Evidence
from bestmix.answers.logs import read_metrics, read_on_items
from bestmix.answers.moments import Moments
from bestmix.answers.recommend import SAFETY, recommend
from bestmix.answers.recommendation import Recommendation, Round
from bestmix.arrays import Floats, Integers
from bestmix.problems.changes import Wish, amended, changes, same_shape
from bestmix.problems.items import Items, as_items
from bestmix.problems.limits import Limit
from bestmix.problems.problem import Cell, Problem
from bestmix.problems.spend import Spend
from bestmix.strategies import rounds
from bestmix.strategies.budget_changes import (
    Totals,
    begin_again,
    check_changeable,
    check_payable,
    larger_amount,
    retired,
    totals,
)
from bestmix.strategies.ending import ending
from bestmix.strategies.paid import Paid, account_of, check_chosen, once_more, paid
from bestmix.strategies.protocol import (
    AHEAD,
    MOST_TRIALS,
    Checking,
    Extendable,
    Memory,
    Strategy,
    after_log,
    arriving,
    certified_mix,
    decides_from_counts,
    extended,
    least_scatter,
    left_out,
    mixes,
    with_slacks,
)
from bestmix.strategies.search_items import ItemTrials, check_items

FORMAT = "bestmix search 1"
KEYS = ("problem", "strategy", "budget", "memory", "before", "moments", "history")


class Search:
    """One run of a strategy on a problem; ``strategy.start(problem, budget)`` makes it.

    Parameters
    ----------
    strategy, problem, budget
        What to run, on what, with how many trials at most or for how much money.
    items, shared
        What trials are made on, as for ``identify``; ``items(arm)`` then tells on which the trials are owed.

    Examples
    --------
    >>> from bestmix import Problem, Uniform
    >>> search = Uniform().start(Problem(["a", "b"], {"dollars": 1.0}), budget=4)
    >>> search.ask()
    {'a': 2, 'b': 2}
    >>> search.tell("a", [1.0, 0.8], [[0.2], [0.4]])
    >>> search.tell("b", 2.1, {"dollars": 1.9})
    >>> search.ask()
    {'b': 1}
    >>> search.tell("b", 1.9, {"dollars": 1.5})
    >>> search.done, search.recommend().support
    (True, ('a', 'b'))
    """

    def __init__(
        self,
        strategy: Strategy,
        problem: Problem,
        budget: int | Spend | None,
        items: Any = None,
        shared: bool = True,
    ) -> None:
        if not isinstance(problem, Problem):
            raise checks.InvalidInput(
                "problem", expected="a Problem", got=type(problem).__name__, remedy="an Instance has one: .problem"
            )
        if isinstance(budget, Spend):
            strategy, problem = paid(strategy, problem, budget.named(problem))
            budget = MOST_TRIALS
        self.strategy = strategy
        self.problem = problem
        self.budget = checks.whole("budget", budget, 0, "give the number of trials that may be made", MOST_TRIALS)
        self.moments = rounds.no_trials(problem)
        first = rounds.begin(rounds.Recipe(problem, strategy), self.budget)
        self.memory = first.memory
        self.history: list[Round] = first.rounds
        self._before = np.zeros(len(problem.cells), dtype=np.int64)  # trials of each arm before the open round
        self._handed = np.zeros_like(self._before)  # arms given to users who arrived in it
        self._earlier: Integers | None = None  # trials of each arm from before the run, as far as they count
        self.changes: list[dict[str, Any]] = []  # the round in which each came, and what it is
        self._retired: dict[Cell, Moments] = {}  # sums of arms that are no longer tried
        self._opening: Integers | None = None  # trials before the open round, where that was cut short
        self._log: list[Moments] = []  # sums of these trials
        self.marks: dict[str, str] = {}  # fingerprints of these trials, by arm
        self.log_weight = 1.0  # what each of them counts
        self._left_out: list[Moments] = []  # sums of those that the strategy's schedule has no place for
        self._items: ItemTrials | None = None
        self.try_on(items, shared)

    def try_on(self, items: Any, shared: bool = True) -> None:
        """Make trials on items, as ``identify`` describes them; to be said before the first trial."""
        if (found := as_items(items, shared)) is None:
            return
        if self.trials > self.earlier:
            raise RuntimeError(f"items: {self.trials} trials were told without any; begin a new search with them")
        self._items = ItemTrials(check_items(found, self.problem, self.strategy))

    @property
    def item_list(self) -> Items | None:
        """What trials are made on, in which order; None where they are made on no items."""
        return None if self._items is None else self._items.items

    def items(self, arm: str, segment: str | None = None, most: int | None = None) -> list[str | int]:
        """The items of the trials that are owed to an arm, in their order; of at most so many.

        >>> from bestmix import Problem, Uniform
        >>> search = Uniform().start(Problem(["a", "b"]), budget=6, items=["sum", "sort", "search", "swap"])
        >>> search.items("a"), search.items("b")
        (['swap', 'search', 'sort'], ['swap', 'search', 'sort'])
        >>> search.tell("a", [1.0, 0.0], item=["sort", "search"])
        >>> search.items("a")
        ['swap']
        """
        if self._items is None:
            raise RuntimeError("items: this search has none; start it with items=")
        position = self.problem.index(arm, segment)
        self._settle()
        cell, owed = self.problem.cells[position], max(int(self._owed()[position]), 0)
        wanted = owed if most is None else min(owed, most)
        return [self._items.name(cell, place) for place in self._items.owed(cell, wanted)]

    @property
    def done(self) -> bool:
        """Whether the run is over."""
        return self.strategy.quota(self.problem, self._left, self.memory) is None

    @property
    def arriving(self) -> bool:
        """Whether users arrive, and only their arm is chosen."""
        return arriving(self.problem, self.memory)

    @property
    def earlier(self) -> int:
        """Trials from before the run, which count beside the budget's."""
        return 0 if self._earlier is None else int(self._earlier.sum())

    @property
    def account(self) -> Account | None:
        """Where the money stands, if the budget is one of money.

        >>> from bestmix import Problem, Spend, Uniform
        >>> print(Uniform().start(Problem(["a", "b"]), Spend(9.0, "dollars", prices={"a": 1.0, "b": 2.0})).account)
        0 of 9 dollars spent, 9 left
        """
        return account_of(self.strategy, self.evidence, self.memory)

    @property
    def trials(self) -> int:
        """Trials told so far."""
        return sum(m.count for m in self.moments)

    @property
    def made(self) -> int:
        """The same with those of arms that were retired since: what was used of the budget."""
        return self.budget - self._left + self.trials

    @overload
    def ask(self) -> dict[Any, int]: ...

    @overload
    def ask(self, segment: str) -> str | None: ...

    def ask(self, segment: str | None = None) -> dict[Any, int] | str | None:
        """Trials that the current round still owes, by arm; empty when the run is over.

        With segments they are by (segment, arm). Where users arrive and only the arm can be chosen: the arm for a user
        of that segment; None when the run is over.

        >>> from bestmix import Problem, Uniform
        >>> search = Uniform().start(Problem(["a", "b"], segments={"free": 0.7, "paid": 0.3}), budget=4)
        >>> search.ask()
        {('free', 'a'): 1, ('free', 'b'): 1, ('paid', 'a'): 1, ('paid', 'b'): 1}
        >>> search.ask(segment="free"), search.ask(segment="free")
        ('a', 'b')
        """
        self._settle()
        if segment is not None:
            return self._arm_for(segment)
        if None in self.problem.segments.values():
            raise checks.InvalidInput(
                "segment",
                "the shares of the segments are learnt from who arrives, so trials cannot be chosen freely",
                "ask(segment=...) for each user, or give the shares: segments={'free': 0.7, ...}",
            )
        pairs = zip(self.problem.cells, self._owed(), strict=True)
        return {cell.arm if cell.segment is None else (cell.segment, cell.arm): int(n) for cell, n in pairs if n > 0}

    def _arm_for(self, segment: str) -> str | None:
        """The arm for a user who arrives: the one that is furthest behind the round's plan, evenly without one."""
        arms = self.problem.arms
        self.problem.check_segment(segment)
        if not arms or self.done:
            return None
        if self._items is not None:
            raise checks.InvalidInput(
                "segment", "a user who arrives brings an item of their own", "ask() for all trials, or use no items"
            )
        check_chosen(self.strategy)
        first = self.problem.index(arms[0], segment)
        if not self.arriving:
            self.memory = {**self.memory, "arriving": True}
        inside = slice(first, first + len(arms))
        chosen = rounds.furthest_behind(self._quota()[inside], self._handed[inside], self._before[inside])
        self._handed[first + chosen] += 1
        return arms[chosen]

    def tell(self, arm: str, rewards: Any, costs: Any = None, *, segment: str | None = None, item: Any = None) -> None:
        """Report trials of an arm: any part of what is owed, in any order.

        Parameters
        ----------
        arm
            Its name.
        rewards
            One reward, or several (m,). Or all metrics by name, each with one value or m of them.
        costs
            By name, each with one value or m of them; or in the problem's order: (L,) for one
            trial, (m, L) for several.
        segment
            Whom it was tried on, where there are segments.
        item
            The item of each trial, one or m of them, where trials are made on items; those of ``items(arm)``, from the
            first on, by default.
        """
        if item is not None and self._items is None:
            raise checks.InvalidInput("item", "this search has none", "leave it out, or start it with items=")
        position = self.problem.index(arm, segment)
        rows = self.problem.trial_rows(rewards, costs)
        if isinstance(self.strategy, Checking):
            self.strategy.check_trials(self.problem, rows)
        rows = self.problem.rows.measure(rows)
        owed = self._owed_by(position)
        if len(rows) > owed and not (self.arriving and not self.done):
            if self.done:
                raise RuntimeError("tell: the search is over and takes no more trials; call recommend()")
            raise RuntimeError(
                f"tell: {arm!r} owes {owed} trials in this round, got {len(rows)}; call ask() to see what is owed"
            )
        cell = self.problem.cells[position]
        places = [] if self._items is None else self._items.places(cell, owed, item, len(rows))
        self.moments[position] = self.moments[position].plus(rows)
        if self._items is not None:  # an interruption before it leaves a trial without an item, no trial uncounted
            self._items.tell(cell, places, rows)
        if len(rows) == owed or self.arriving:
            self._settle()

    def extend(self, budget: int | Spend) -> None:
        """Raise the budget of a run, over or not, where the strategy knows how to go on.

        >>> from bestmix import Problem, Uniform
        >>> search = Uniform().start(Problem(["a", "b"]), budget=2)
        >>> search.tell("a", 1.0)
        >>> search.extend(6)
        >>> search.ask()
        {'a': 2, 'b': 3}
        """
        if isinstance(budget, Spend) or isinstance(self.strategy, Paid):
            self._raise_to(budget)
            return
        budget = checks.whole("budget", budget, 0, "give the number of trials that may be made", MOST_TRIALS)
        if budget < self.budget:
            raise checks.InvalidInput("budget", expected=f"at least the present {self.budget} trials", got=budget)
        if budget > self.budget and self.changes and decides_from_counts(self.strategy):
            self.change(budget=budget)
        elif budget > self.budget:
            self._go_on(extended(self.strategy, self.problem, self.budget, budget, self.memory), budget)

    def _raise_to(self, budget: int | Spend) -> None:
        """Raise the amount of money."""
        budget = budget.named(self.problem) if isinstance(budget, Spend) else budget
        amount = larger_amount(self.strategy, self.memory, budget)
        if amount > self.memory["amount"]:
            memory = extended(self.strategy, self.problem, self.memory["amount"], amount, self.memory)
            unit = str(getattr(budget, "unit", ""))
            told = changes(self.problem, self.problem, Spend(self.memory["amount"], unit), Spend(amount, unit))
            self.changes.append({"round": len(self.history) + 1, "text": told})
            self._go_on(memory, self.budget)

    def _go_on(self, memory: Memory, budget: int) -> None:
        over, closed = self.done, len(self.history)
        self.__dict__.update(memory=memory, budget=budget)
        self._settle()
        if over:  # what made a run that was over decide once more is no round
            del self.history[closed : closed + 1]

    @property
    def left_out(self) -> int:
        """Results of a log that the strategy's schedule has no place for."""
        return sum(m.count for m in self._left_out)

    @property
    def has_log(self) -> bool:
        """Whether it started from trials that were made before."""
        return self._earlier is not None or bool(self._left_out)

    def change(
        self,
        bounds: Mapping[str, float] | None = None,
        limits: Sequence[str | Limit] | None = None,
        arms: Iterable[str] | None = None,
        budget: int | Spend | None = None,
        prices: Mapping[str, float] | None = None,
        most: float | Mapping[str, float] | None = None,
    ) -> None:
        """Change what is asked while it runs; no trial is lost.

        Parameters
        ----------
        bounds
            New bounds, by cost; the others stay.
        limits
            All limits from now on that are not such bounds; such a bound among them replaces the one there is.
            They must be on what trials tell already.
        arms
            All arms to try from now on. Trials of an arm that is retired come back with it.
        budget
            The new total, larger or smaller, of trials or of money as the run has it. What trials of retired arms have
            cost stays spent.
        prices, most
            Where the budget is one of money and has them by arm: what a trial of an arm that comes new costs, or can
            cost at most.

        Examples
        --------
        >>> from bestmix import Problem, Uniform
        >>> search = Uniform().start(Problem(["a", "b"], {"dollars": 1.0}), budget=6)
        >>> search.tell("a", [1.0, 2.0], [[0.5], [1.5]])
        >>> search.change(bounds={"dollars": 2.0}, arms=["a", "c"])
        >>> search.ask(), search.problem.bounds
        ({'a': 1, 'c': 3}, {'dollars': 2.0})
        """
        budget = budget.named(self.problem) if isinstance(budget, Spend) else budget
        wish = Wish(bounds, limits, arms, budget, prices, most)
        new = amended(self.problem, wish)
        found = totals(self.strategy, self.memory, self.budget, new, wish)
        told = changes(self.problem, new, found.before, found.after, {cell.arm for cell in self._retired})
        if not told:
            return
        if new == self.problem and found.grows and (isinstance(self.strategy, Paid) or not self.changes):
            self.extend(found.after)
            return
        shaped = same_shape(self.problem, new) and found.same
        if not shaped:
            check_changeable(self.strategy, "start another run from these trials")
            self._replan(new, found)
        self.changes.append({"round": len(self.history) + 1, "text": told})
        if shaped:
            self._look_again(new)
        else:
            self._settle()

    def _look_again(self, problem: Problem) -> None:
        """Go on with other bounds; a run that was over by its own rule decides once more."""
        over, memory, closed = self.done, self.memory, len(self.history)
        self.problem = problem
        if over and isinstance(self.strategy, Extendable):
            self.memory = once_more(self.strategy, problem, self._left, memory)
            self._settle()
            del self.history[closed : closed + 1]  # what made it decide once more is no round
            if self.done:
                self.memory = memory

    def _replan(self, problem: Problem, found: Totals) -> None:
        """Cut the round short, and plan anew from the numbers of trials, or from the money that is left."""
        known = self._retired | dict(zip(self.problem.cells, self.moments, strict=True))
        moments = [known.pop(cell, Moments(len(problem.measures))) for cell in problem.cells]
        gone = {cell: sums for cell, sums in known.items() if sums.count}
        recipe, under_way = rounds.Recipe(problem, self.strategy), np.zeros(len(moments), dtype=np.int64)
        memory = retired(self.strategy, found.memory, problem, gone)
        if found.shrinks or not set(problem.cells) <= set(self.problem.cells):
            check_payable(recipe, moments, under_way, memory)
        here = found.trials - sum(m.count for m in gone.values())
        memory, owed = begin_again(recipe, here, moments, under_way, memory)
        memory |= {"arriving": True} if self.memory.get("arriving") else {}
        quota = self.strategy.quota(problem, max(here, len(moments)), memory)
        counts = np.array([m.count for m in moments], dtype=np.int64)
        before = owed - (0 if quota is None else quota) + counts
        opening = self._opened(problem)
        state = {"problem": problem, "budget": found.trials, "memory": memory, "moments": moments, "_retired": gone}
        logs = dict(zip(self.problem.cells, self._log, strict=True)) if self._log else {}
        state |= {"_log": [logs.get(cell, Moments(len(problem.measures))) for cell in problem.cells] if logs else []}
        self.__dict__.update(state, _before=before, _handed=np.zeros_like(counts), _opening=opening)

    def _opened(self, problem: Problem) -> Integers:
        """Trials of a problem's arms before the open round."""
        before = self._before if self._opening is None else self._opening
        known = dict(zip(self.problem.cells, before if self.history else before * 0, strict=True))
        back = {cell: sums.count for cell, sums in self._retired.items()}
        return np.array([(back | known).get(cell, 0) for cell in problem.cells], dtype=np.int64)

    @property
    def _left(self) -> int:
        """The budget of the arms that can be tried: trials of others have been paid for."""
        return self.budget - sum(m.count for m in self._retired.values())

    def start_from(
        self,
        log: Any,
        arm: str = "arm",
        reward: str = "reward",
        segment: str | None = None,
        weight: float = 1.0,
        item: str | None = None,
    ) -> None:
        """Count trials that were made before the run, such as a pilot's, in full; the budget is for further ones.

        A strategy with a schedule (SFSR) takes what it has places for, as part of its budget, and leaves out the rest.

        Parameters
        ----------
        log
            What ``from_log`` takes; or another search, whose trials bring their items where both have the same; or a
            recommendation.
        arm, reward, segment
            Names of the columns that hold them; other metrics have columns of their names.
        weight
            What each of them counts, such as 0.5 for an old log.
        item
            Name of the column with their items, where the run has items: no arm is given one of them again, and arms
            that meet on them are compared on them, unless they have less weight or a schedule takes them.

        Examples
        --------
        >>> from bestmix import Problem, Uniform
        >>> search = Uniform().start(Problem(["a", "b"]), budget=4)
        >>> search.start_from({"arm": ["a", "a", "b"], "reward": [1.0, 2.0, 3.0]})
        >>> search.ask(), search.budget
        ({'a': 1, 'b': 2}, 7)
        """
        if self.trials:
            raise RuntimeError(f"start_from: {self.trials} trials were told already; begin a new search with the log")
        weight = checks.weight("log_weight", weight)
        if isinstance(log, Search):
            self._start_from_search(log, weight)
            return
        if isinstance(log, Recommendation):
            self._start_from_answer(log, weight)
            return
        tables, on = self._read(log, arm, reward, segment, item)
        self.marks = _marks(self.problem, [table.tobytes() for table in tables])
        for table in tables:
            if isinstance(self.strategy, Checking):
                self.strategy.check_trials(self.problem, table)
        measured = [self.problem.rows.measure(table) for table in tables]
        if decides_from_counts(self.strategy):
            self._log = [m.plus(table) for m, table in zip(rounds.no_trials(self.problem), measured, strict=True)]
            self.log_weight = weight
            self._begin_with([m.weighted(weight) for m in self._log])
        elif weight == 1.0:
            self._fill(measured)
        else:
            raise checks.InvalidInput(
                "log_weight",
                f"{self.strategy.name} fills the places of its schedule with whole results",
                "leave it out, or use Challenger() or Uniform()",
            )
        if self._items is not None and on is not None:
            if decides_from_counts(self.strategy) and weight == 1.0:
                self._items.start_from(self.problem.cells, on, measured)
            else:
                self._items.pass_over(self.problem.cells, on)

    def _start_from_search(self, other: "Search", weight: float) -> None:
        """Take the sums of another search's trials, and by item where both have the same items."""
        ranges = [getattr(getattr(s, "strategy", s), "ranges", None) for s in (self.strategy, other.strategy)]
        if ranges[0] not in (None, ranges[1]):
            raise checks.InvalidInput("start", "the search was made with other ranges", "give a log of its trials")
        rest = other._left_out or rounds.no_trials(other.problem)
        sums = [m.joined(more) for m, more in zip(other.moments, rest, strict=True)]
        known = other._retired | dict(zip(other.problem.cells, sums, strict=True))
        self._start_from_sums("search", other.problem, known, weight)
        if self._items is not None and other._items is not None and self.item_list == other.item_list and weight == 1.0:
            apart = [m.weighted(other.log_weight) for m in other._log] or rounds.no_trials(other.problem)
            apart = [m.joined(more) for m, more in zip(apart, rest, strict=True)]
            self._items = other._items.copied(dict(zip(other.problem.cells, apart, strict=True)))

    def _start_from_answer(self, answer: Recommendation, weight: float) -> None:
        """Take the sums that a recommendation was made from."""
        if answer.told is None:
            raise checks.InvalidInput(
                "start",
                "a recommendation that was read from a file has estimates, and not the sums that a run goes on from",
                "give the log, or the saved search",
            )
        if getattr(getattr(self.strategy, "strategy", self.strategy), "ranges", None) is not None:
            raise checks.InvalidInput("start", "a recommendation does not say whether ranges hold", "give the log")
        known = dict(zip(answer.problem.cells, answer.told, strict=True))
        self._start_from_sums("recommendation", answer.problem, known, weight)

    def _start_from_sums(self, source: str, problem: Problem, known: Mapping[Cell, Moments], weight: float) -> None:
        strange = [str(cell) for cell, sums in known.items() if sums.count and cell not in self.problem.cells]
        if strange or problem.measures != self.problem.measures:
            fault = (
                f"the {source} has trials of {strange[0]!r}" if strange else f"it tells {', '.join(problem.measures)}"
            )
            raise checks.InvalidInput("start", f"{fault}, which this problem has not", "give one of the same arms")
        if not decides_from_counts(self.strategy):
            raise checks.InvalidInput(
                "start",
                f"{self.strategy.name} fills the places of its schedule with single results, a {source} has their sums",
                "give a log of them, or use Challenger() or Uniform()",
            )
        self._log = [known.get(cell, Moments(len(self.problem.measures))) for cell in self.problem.cells]
        self.log_weight = weight
        self.marks = _marks(self.problem, [json.dumps(m.to_dict()).encode() for m in self._log])
        self._begin_with([m.weighted(weight) for m in self._log])

    def log_fault(self, marks: Mapping[str, str], weight: float) -> str:
        """Why a log is not the one that the run started from; nothing where it is, or where that is not known."""
        if any(self.marks.get(cell, mark) != mark for cell, mark in marks.items()):
            return "it started from another log"
        if self.has_log and weight != self.log_weight:
            return f"a result of its log counts {self.log_weight:g}, not {weight:g}"
        return ""

    def log_marks(
        self, log: Any, arm: str = "arm", reward: str = "reward", segment: str | None = None
    ) -> dict[str, str]:
        """Fingerprints of a log's trials, by arm, retired ones too."""
        arms = dict.fromkeys([*self.problem.arms, *(cell.arm for cell in self._retired)])
        problem = amended(self.problem, Wish(arms=list(arms)))
        return _marks(problem, [table.tobytes() for table in read_metrics(problem, log, arm, reward, segment)])

    def _read(
        self, log: Any, arm: str, reward: str, segment: str | None, item: str | None
    ) -> tuple[list[Floats], list[list[int | None]] | None]:
        """The metrics of a log's trials, and their items where it tells them."""
        if item is None:
            return read_metrics(self.problem, log, arm, reward, segment), None
        if self._items is None:
            raise checks.InvalidInput("item", "this run has no items", "leave it out, or start it with items=")
        return read_on_items(self.problem, log, arm, reward, segment, item, self._items.items)

    def _fill(self, tables: Sequence[Floats]) -> None:
        """Take trials as the rounds owe them; what they have no place for is left out."""
        left, given = list(tables), True
        while given and not self.done:
            owed, given = self._owed().tolist(), False
            for place, n in enumerate(owed):
                part, left[place] = left[place][:n], left[place][n:]
                self.moments[place] = self.moments[place].plus(part)
                given |= len(part) > 0
            self._settle()
        self._left_out = [m.plus(rest) for m, rest in zip(rounds.no_trials(self.problem), left, strict=True)]

    def _begin_with(self, moments: list[Moments]) -> None:
        """Take earlier trials for those of the first round, as far as it owes them; the rest counts as well."""
        counts = np.array([m.count for m in moments], dtype=np.int64)
        budget = min(self.budget + int(counts.sum()), MOST_TRIALS)
        memory = self.strategy.begin(self.problem, budget)
        memory = after_log(self.strategy, Evidence(self.problem, moments), memory)
        quota = self.strategy.quota(self.problem, budget, memory)
        plan = np.zeros_like(counts) if quota is None else quota
        owed = rounds.level(plan, counts, self.budget)
        state = {"budget": budget, "memory": memory, "moments": moments, "history": []}
        self.__dict__.update(state, _before=owed - plan + counts, _earlier=counts)
        self._settle()

    def recommend(self, safety: float | None = SAFETY, everything: bool = False) -> Recommendation:
        """The answer as things stand: the mix that keeps all limits with this certainty; None for no margin.

        With ``everything`` results of a log count as well that the strategy's schedule has no place for.
        """
        moments, columns = self.moments, self.strategy.columns(self.problem, self.memory)
        if everything and self._left_out:
            moments = [m.joined(rest) for m, rest in zip(moments, self._left_out, strict=True)]
            columns = with_slacks(self.problem, columns)
        rec = recommend(
            replace(self._evidence(moments), least=least_scatter(self.strategy, self.problem)),
            columns,
            strategy=self.strategy.name,
            budget=self.budget,
            complete=self.done,
            history=self.history,
            safety=safety,
            mixes=mixes(self.strategy),
            certified=certified_mix(self.strategy, self.problem, self.memory),
            account=self.account,
        )
        rec = with_conflict(rec, self.moments, self._log, self.log_weight)
        missing = "" if everything else left_out(self.strategy, self.left_out)
        ended = ending(self.strategy, rec, self.memory, self.made)
        return replace(rec, note=" ".join(filter(None, [rec.note, missing, ended])))

    @property
    def evidence(self) -> Evidence:
        """Counts, means and covariances of what was told."""
        return Evidence(self.problem, self.moments)

    def _evidence(self, moments: list[Moments]) -> Evidence:
        """The same with what arms have in common on items."""
        if self._items is None:
            return Evidence(self.problem, moments)
        return self._items.evidence(self.problem, moments, [m.weighted(self.log_weight) for m in self._log])

    def _quota(self) -> Integers:
        quota = self.strategy.quota(self.problem, self._left, self.memory)
        return np.zeros_like(self._before) if quota is None else quota

    def _owed_by(self, position: int) -> int:
        """What one arm owes; if nothing, perhaps only because a round's end was interrupted."""
        for settle in (False, True):
            if settle:
                self._settle()
            owed = int(self._before[position] + self._quota()[position] - self.moments[position].count)
            if owed:
                return owed
        return 0

    def _owed(self) -> Integers:
        return self._before + self._quota() - self.evidence.counts

    def _settle(self) -> None:
        """Close the round if it owes nothing more.

        What is owed follows from the counts, and a round's end replaces the state in one step, so
        that an interruption anywhere leaves the search as it was before or as it is after.
        """
        if self.done or self._unfinished():
            return
        recipe = rounds.Recipe(self.problem, self.strategy)
        pulls = (self.evidence.counts - self._before).tolist() if self.arriving else None
        if self._earlier is not None and not self.history and self._opening is None:
            made = [m.count for m in self._log] or self._earlier
            pulls = (self.evidence.counts - self._earlier + made).tolist()
        if self._opening is not None:
            pulls = (self.evidence.counts - self._opening).tolist()
        step = rounds.finish(recipe, self._left, self.memory, self.moments, len(self.history), pulls)
        history = [*self.history, *step.rounds]
        before = self.evidence.counts
        fresh = {"_before": before, "_handed": np.zeros_like(before), "_opening": None}
        self.__dict__.update(fresh, memory=step.memory, history=history)

    def _unfinished(self) -> bool:
        """Whether the round waits for trials: of each arm, or where users arrive, in total."""
        owed = self._owed()
        return bool(owed.sum() > 0) if self.arriving else bool(owed.any())

    def to_dict(self) -> dict[str, Any]:
        """Everything needed to go on elsewhere, exactly."""
        return {
            "format": FORMAT,
            "problem": self.problem.to_dict(),
            "strategy": self.strategy.to_dict(),
            "budget": self.budget,
            "memory": self.memory,
            "before": self._before.tolist(),
            "moments": [m.to_dict() for m in self.moments],
            "history": [r.to_dict() for r in self.history],
        } | self._beginning()

    def _beginning(self) -> dict[str, Any]:
        """What the run started from, as plain data; nothing where that was nothing."""
        found: dict[str, Any] = {} if self._earlier is None else {"earlier": self._earlier.tolist()}
        found |= {"log_marks": self.marks} if self.marks else {}
        if self._log:
            found |= {"log": [m.to_dict() for m in self._log], "log_weight": self.log_weight}
        if self.changes:
            retired = [[*cell, sums.to_dict()] for cell, sums in self._retired.items()]
            found |= {"changes": self.changes, "retired": retired}
        found |= {} if self._opening is None else {"opening": self._opening.tolist()}
        found |= {} if self._items is None else {"items": self._items.to_dict()}
        return found | ({"left_out": [m.to_dict() for m in self._left_out]} if self._left_out else {})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], strategy: Strategy | None = None) -> "Search":
        """Inverse of ``to_dict``; a strategy with a function of your own must be passed again."""
        data = checks.mapping("search", data, "that to_dict made")
        if data.get("format") != FORMAT:
            raise checks.InvalidInput(
                "search", expected=f"data in the format {FORMAT!r}", got=checks.shown(data.get("format"))
            )
        missing = [key for key in KEYS if key not in data]
        if missing:
            raise checks.InvalidInput(
                "search", f"the entry {missing[0]!r} is missing", "the data are not whole, start anew"
            )
        from bestmix.strategies.built_in import as_saved, restore_strategy

        saved = checks.mapping("strategy", data["strategy"], "with its kind")
        strategy = restore_strategy(saved) if strategy is None else as_saved(strategy, saved)
        if isinstance(strategy, Paid):
            strategy = strategy.begun_with(data["strategy"], checks.mapping("memory", data["memory"], "of a run"))
        if strategy.to_dict() != data["strategy"]:
            raise checks.InvalidInput(
                "strategy",
                f"the search was saved with {data['strategy']}, got {strategy.to_dict()}",
                "pass the same one",
            )
        problem = Problem.from_dict(checks.mapping("problem", data["problem"], "that to_dict made"))
        search = cls(*_begun(strategy, problem, data))
        try:
            search.strategy, search.budget = strategy, data["budget"]
            fresh, search.memory = search.memory, data["memory"]
            search.moments = [Moments.from_dict(m) for m in data["moments"]]
            search.history = [Round.from_dict(r) for r in data["history"]]
            search._before = np.array(data["before"], dtype=np.int64)
            search._earlier = np.array(data["earlier"], dtype=np.int64) if "earlier" in data else None
            search._log = [Moments.from_dict(m) for m in data.get("log", ())]
            search.log_weight = data.get("log_weight", 1.0)
            search.marks = dict(data.get("log_marks", {}))
            search._left_out = [Moments.from_dict(m) for m in data.get("left_out", ())]
            search.changes = list(data.get("changes", ()))
            search._retired = {Cell(*cell): Moments.from_dict(sums) for *cell, sums in data.get("retired", ())}
            search._opening = np.array(data["opening"], dtype=np.int64) if "opening" in data else None
            search._items = ItemTrials.from_dict(data["items"]) if "items" in data else None
            search._check_whole(fresh)
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise checks.InvalidInput("search", f"the data are damaged ({error!r})", "start anew") from None
        return search

    def _check_whole(self, fresh: Memory) -> None:
        """Fail where saved data lack something that a run has, such as what a ``fresh`` one remembers."""
        cells, sizes = len(self.problem.cells), {len(m.sums) for m in self.moments}
        quota = self.memory.get("quota")
        ours = type(self.strategy).__module__.startswith("bestmix.")  # one of a user's own may remember what it likes
        whole = sizes <= {len(self.problem.measures)} and (fresh.keys() - {AHEAD} <= self.memory.keys() or not ours)
        planned = quota if ours and quota is not None else range(cells)
        if not whole or any(len(part) != cells for part in (self.moments, self._before, planned)):
            raise ValueError("entries are missing")
        self.recommend()

    def to_json(self) -> str:
        """``to_dict`` as JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str, strategy: Strategy | None = None) -> "Search":
        """Inverse of ``to_json``."""
        try:
            data = json.loads(text)
        except ValueError as error:
            raise checks.InvalidInput("search", expected="JSON text", got=f"{checks.shown(text)}: {error}") from None
        return cls.from_dict(data, strategy)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the search to a .json file, whole or not at all."""
        files.write(check_path(path), self.to_dict())

    @classmethod
    def load(cls, path: str | os.PathLike[str], strategy: Strategy | None = None) -> "Search":
        """Read a search from a .json file."""
        return cls.from_dict(files.read(check_path(path)), strategy)


def _marks(problem: Problem, contents: Sequence[bytes]) -> dict[str, str]:
    """Fingerprints of what a log has of each arm, by its name."""
    return {str(cell): hashlib.sha256(c).hexdigest()[:16] for cell, c in zip(problem.cells, contents, strict=True)}


def _begun(strategy: Strategy, problem: Problem, data: Mapping[str, Any]) -> tuple[Strategy, Problem, int]:
    """What a run begins with that is to be as a saved one: a change may have left less than a new one needs."""
    budget = checks.whole("budget", data["budget"], 0, "the data are damaged, start anew", MOST_TRIALS)
    if not isinstance(strategy, Paid):
        return strategy, problem, max(budget, len(problem.cells)) if data.get("changes") else budget
    return strategy.for_arms(problem, data["memory"]), problem, budget


def check_path(path: str | os.PathLike[str]) -> Path:
    """The path of a saved search."""
    if Path(path).suffix != ".json":
        raise checks.InvalidInput(path, "a search is kept in a .json file", "choose a name that ends so")
    return Path(path)
