"""One run of a strategy: the mutable state behind ask and tell."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np

from bestmix import checks, files
from bestmix.answers.account import Account
from bestmix.answers.evidence import Evidence
from bestmix.answers.logs.from_log import read_metrics, read_on_items
from bestmix.answers.moments import Moments
from bestmix.answers.recommend import SAFETY
from bestmix.answers.recommendation import Recommendation, Round
from bestmix.arrays import Floats, Integers
from bestmix.problems.changes import Wish, amended, changes, same_shape
from bestmix.problems.items import Items, as_items
from bestmix.problems.limits import Limit
from bestmix.problems.problem import Cell, Problem
from bestmix.problems.spend import Spend, number_of_trials
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
from bestmix.strategies.earlier import Earlier, Sums, from_sums, from_tables, marks_of, ranges_of, sums_of_answer
from bestmix.strategies.exact_values import check_exact
from bestmix.strategies.paid import Paid, account_of, check_chosen, once_more, paid
from bestmix.strategies.protocol import (
    MOST_TRIALS,
    Checking,
    Extendable,
    Memory,
    Strategy,
    after_log,
    arriving,
    check_arrivals,
    check_problem,
    decides_from_counts,
    extended,
    with_slacks,
)
from bestmix.strategies.run_answer import run_answer
from bestmix.strategies.saved_search import FORMAT, begun, check_entries, check_path, check_whole, saved_strategy
from bestmix.strategies.search_items import ItemTrials, check_items


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
        self.budget = number_of_trials(budget, "give the number of trials that may be made", MOST_TRIALS)
        self.moments = rounds.no_trials(problem)
        first = rounds.begin(rounds.Recipe(problem, strategy), self.budget)
        self.memory = first.memory
        self.history: list[Round] = first.rounds
        self._before = np.zeros(len(problem.cells), dtype=np.int64)  # trials of each arm before the open round
        self._handed = np.zeros_like(self._before)  # arms given to users who arrived in it
        self._earlier = Earlier()
        self.changes: list[dict[str, Any]] = []  # the round in which each came, and what it is
        self._retired: dict[Cell, Moments] = {}  # sums of arms that are no longer tried
        self._opening: Integers | None = None  # trials before the open round, where that was cut short
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
        return 0 if self._earlier.counts is None else int(self._earlier.counts.sum())

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
        check_arrivals(self.problem)
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
        check_exact(self.strategy, self.problem, str(self.problem.cells[position]), self.moments[position], rows)
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
        budget = number_of_trials(budget, "give the number of trials that may be made", MOST_TRIALS)
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
        return sum(m.count for m in self._earlier.left_out)

    @property
    def has_log(self) -> bool:
        """Whether it started from trials that were made before."""
        return self._earlier.any

    @property
    def log_weight(self) -> float:
        """What each of these trials counts."""
        return self._earlier.weight

    @property
    def marks(self) -> dict[str, str]:
        """Fingerprints of these trials, by arm."""
        return self._earlier.marks

    def change(
        self,
        bounds: Mapping[str, float] | None = None,
        limits: Sequence[str | Limit] | None = None,
        arms: Iterable[str] | None = None,
        budget: int | Spend | None = None,
        prices: Mapping[str, float] | None = None,
        most: float | Mapping[str, float] | None = None,
        features: Mapping[str, Any] | None = None,
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
        features
            Of arms that come new, where arms have features; one that comes back brings them again.

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
        wish = Wish(bounds, limits, arms, budget, prices, most, features)
        new = amended(self.problem, wish)
        found = totals(self.strategy, self.memory, self.budget, new, wish)
        told = changes(self.problem, new, found.before, found.after, {cell.arm for cell in self._retired})
        if not told:
            return
        if new == self.problem and found.grows and (isinstance(self.strategy, Paid) or not self.changes):
            self.extend(found.after)
            return
        check_problem(self.strategy, new)
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
        memory, owed = begin_again(recipe, self.problem, here, moments, under_way, memory)
        memory |= {"arriving": True} if self.memory.get("arriving") else {}
        quota = self.strategy.quota(problem, max(here, len(moments)), memory)
        counts = np.array([m.count for m in moments], dtype=np.int64)
        before = owed - (0 if quota is None else quota) + counts
        opening = self._opened(problem)
        state = {"problem": problem, "budget": found.trials, "memory": memory, "moments": moments, "_retired": gone}
        state |= {"_earlier": self._earlier.for_arms(self.problem, problem)}
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
        if isinstance(log, Search | Recommendation):
            self._start_from_sums(log, weight)
            return
        tables, on = self._read(log, arm, reward, segment, item)
        began = from_tables(self.problem, self.strategy, tables, weight)
        measured = [self.problem.rows.measure(table) for table in tables]
        if counted := decides_from_counts(self.strategy):
            self._begin_with(began)
        else:
            self._fill(began, measured)
        if self._items is not None and on is not None:
            if counted and weight == 1.0:
                self._items.start_from(self.problem.cells, on, measured)
            else:
                self._items.pass_over(self.problem.cells, on)

    def _start_from_sums(self, other: "Search | Recommendation", weight: float) -> None:
        """Take the sums of another search's trials, by item where both have the same items; or a recommendation's."""
        if isinstance(other, Recommendation):
            sums = sums_of_answer(other, self.strategy)
            self._begin_with(from_sums(self.problem, self.strategy, sums, weight))
            return
        if ranges_of(self.strategy) not in (None, ranges_of(other.strategy)):
            raise checks.InvalidInput("start", "the search was made with other ranges", "give a log of its trials")
        cells, none = other.problem.cells, rounds.no_trials(other.problem)
        rest = other._earlier.left_out or none
        made = [m.joined(more) for m, more in zip(other.moments, rest, strict=True)]
        sums = Sums("search", other.problem, other._retired | dict(zip(cells, made, strict=True)))
        self._begin_with(from_sums(self.problem, self.strategy, sums, weight))
        if self._items is not None and other._items is not None and self.item_list == other.item_list and weight == 1.0:
            apart = [m.joined(more) for m, more in zip(other._earlier.weighted or none, rest, strict=True)]
            self._items = other._items.copied(dict(zip(cells, apart, strict=True)))

    def log_fault(self, marks: Mapping[str, str], weight: float) -> str:
        """Why a log is not the one that the run started from; nothing where it is, or where that is not known."""
        return self._earlier.fault(marks, weight)

    def log_marks(
        self, log: Any, arm: str = "arm", reward: str = "reward", segment: str | None = None
    ) -> dict[str, str]:
        """Fingerprints of a log's trials, by arm, retired ones too."""
        arms = dict.fromkeys([*self.problem.arms, *(cell.arm for cell in self._retired)])
        alone = {name: value for name, value in self.problem.to_dict().items() if name != "features"}
        problem = amended(Problem.from_dict(alone), Wish(arms=list(arms)))
        return marks_of(problem, read_metrics(problem, log, arm, reward, segment))

    def _read(
        self, log: Any, arm: str, reward: str, segment: str | None, item: str | None
    ) -> tuple[list[Floats], list[list[int | None]] | None]:
        """The metrics of a log's trials, and their items where it tells them."""
        if item is None:
            return read_metrics(self.problem, log, arm, reward, segment), None
        if self._items is None:
            raise checks.InvalidInput("item", "this run has no items", "leave it out, or start it with items=")
        return read_on_items(self.problem, log, arm, reward, segment, item, self._items.items)

    def _fill(self, began: Earlier, tables: Sequence[Floats]) -> None:
        """Take trials as the rounds owe them; what they have no place for is left out."""
        left, given = list(tables), True
        while given and not self.done:
            owed, given = self._owed().tolist(), False
            for place, n in enumerate(owed):
                part, left[place] = left[place][:n], left[place][n:]
                self.moments[place] = self.moments[place].plus(part)
                given |= len(part) > 0
            self._settle()
        rest = [m.plus(table) for m, table in zip(rounds.no_trials(self.problem), left, strict=True)]
        self._earlier = replace(began, left_out=rest)

    def _begin_with(self, began: Earlier) -> None:
        """Take earlier trials for those of the first round, as far as it owes them; the rest counts as well."""
        moments = began.weighted
        counts = np.array([m.count for m in moments], dtype=np.int64)
        budget = min(self.budget + int(counts.sum()), MOST_TRIALS)
        memory = self.strategy.begin(self.problem, budget)
        memory = after_log(self.strategy, Evidence(self.problem, moments), memory)
        quota = self.strategy.quota(self.problem, budget, memory)
        plan = np.zeros_like(counts) if quota is None else quota
        owed = rounds.level(plan, counts, self.budget)
        state = {"budget": budget, "memory": memory, "moments": moments, "history": []}
        self.__dict__.update(state, _before=owed - plan + counts, _earlier=replace(began, counts=counts))
        self._settle()

    def recommend(self, safety: float | None = SAFETY, everything: bool = False) -> Recommendation:
        """The answer as things stand: the mix that keeps all limits with this certainty; None for no margin.

        With ``everything`` results of a log count as well that the strategy's schedule has no place for.
        """
        moments, columns = self.moments, self.strategy.columns(self.problem, self.memory)
        if everything and self._earlier.left_out:
            moments = [m.joined(rest) for m, rest in zip(moments, self._earlier.left_out, strict=True)]
            columns = with_slacks(self.problem, columns)
        return run_answer(
            self.strategy,
            self._evidence(moments),
            columns,
            self.memory,
            (self.moments, self._earlier.sums, self.log_weight),
            0 if everything else self.left_out,
            self.made,
            budget=self.budget,
            complete=self.done,
            history=self.history,
            safety=safety,
            account=self.account,
        )

    @property
    def evidence(self) -> Evidence:
        """Counts, means and covariances of what was told."""
        return Evidence(self.problem, self.moments)

    def _evidence(self, moments: list[Moments]) -> Evidence:
        """The same with what arms have in common on items."""
        if self._items is None:
            return Evidence(self.problem, moments)
        return self._items.evidence(self.problem, moments, self._earlier.weighted)

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
        if self._earlier.counts is not None and not self.history and self._opening is None:
            made = [m.count for m in self._earlier.sums] or self._earlier.counts
            pulls = (self.evidence.counts - self._earlier.counts + made).tolist()
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
        found = self._earlier.to_dict()
        if self.changes:
            retired = [[*cell, sums.to_dict()] for cell, sums in self._retired.items()]
            found |= {"changes": self.changes, "retired": retired}
        found |= {} if self._opening is None else {"opening": self._opening.tolist()}
        found |= {} if self._items is None else {"items": self._items.to_dict()}
        return found

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], strategy: Strategy | None = None) -> "Search":
        """Inverse of ``to_dict``; a strategy with a function of your own must be passed again."""
        data = check_entries(data)
        strategy = saved_strategy(data, strategy)
        first = begun(strategy, data)
        search = cls(*first)
        try:
            search.strategy, search.budget = strategy, data["budget"]
            fresh, search.memory = search.memory, data["memory"]
            search.moments = [Moments.from_dict(m) for m in data["moments"]]
            search.history = [Round.from_dict(r) for r in data["history"]]
            search._before = np.array(data["before"], dtype=np.int64)
            search._earlier = Earlier.from_dict(data)
            search.changes = list(data.get("changes", ()))
            search._retired = {Cell(*cell): Moments.from_dict(sums) for *cell, sums in data.get("retired", ())}
            search._opening = np.array(data["opening"], dtype=np.int64) if "opening" in data else None
            search._items = ItemTrials.from_dict(data["items"]) if "items" in data else None
            check_whole(first, fresh, search.memory, search.moments, data["before"])
            search.recommend()
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise checks.InvalidInput("search", f"the data are damaged ({error!r})", "start anew") from None
        return search

    def to_json(self) -> str:
        """``to_dict`` as JSON text."""
        return json.dumps(self.to_dict(), allow_nan=False)

    @classmethod
    def from_json(cls, text: str, strategy: Strategy | None = None) -> "Search":
        """Inverse of ``to_json``."""
        try:
            data = files.loads(text)
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
