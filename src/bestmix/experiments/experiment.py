"""An experiment that is kept in a storage: ask, tell and recommend, from any number of workers."""

import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bestmix import checks
from bestmix.answers.account import Account
from bestmix.answers.evidence import Evidence
from bestmix.answers.item_sums import evidence_on_items, item_blocks
from bestmix.answers.moments import Moments
from bestmix.answers.recommend import SAFETY
from bestmix.answers.recommendation import Recommendation, Round
from bestmix.experiments import calls, control, replan, traffic
from bestmix.experiments.errors import UnknownTrial
from bestmix.experiments.item_slots import item_order, with_results
from bestmix.experiments.model import (
    LONGEST_ARM,
    LONGEST_NOTE,
    Event,
    Handout,
    Outcome,
    Record,
    Row,
    RunState,
    Snapshot,
    State,
    Trial,
    TrialQuery,
    TrialState,
    check_label,
    check_name,
    check_text,
    moment,
    one_row,
)
from bestmix.experiments.revision import Revision, Setup, revision
from bestmix.experiments.served import traffic_state
from bestmix.experiments.store import NO_PREFETCH, Joint, Prefetch, T, Transaction
from bestmix.experiments.traffic_model import Published, TrafficState, Weights, published
from bestmix.experiments.traffic_sums import SumsRow, parse_key, parse_rows
from bestmix.experiments.unreported_costs import settled, silent_of
from bestmix.problems.changes import Wish
from bestmix.problems.items import Items
from bestmix.problems.limits import Limit
from bestmix.problems.problem import Cell, Problem
from bestmix.problems.spend import Spend, number_of_trials
from bestmix.strategies import Strategy
from bestmix.strategies.paid import account_of, check_chosen
from bestmix.strategies.protocol import (
    MOST_TRIALS,
    Checking,
    check_arrivals,
    with_slacks,
)
from bestmix.strategies.run_answer import run_answer
from bestmix.strategies.traffic import Traffic

if TYPE_CHECKING:
    from bestmix.experiments.storage import Storage

MOST_ASKED = 10_000  # trials in one call
PAGE = 1000  # trials read at a time
ID = re.compile(r"([0-9a-f]{12})-([1-9][0-9]{0,17})")


def as_result(trial: Trial | str, reward: Any, costs: Any = None) -> tuple[Trial | str, Any, Any]:
    """A result with its three parts."""
    return trial, reward, costs


class Experiment:
    """One experiment; ``open_experiment`` opens or creates it, and ``store.py`` says what the calls mean.

    Safe to use from many threads, and from many processes that each open it.

    Examples
    --------
    >>> from bestmix import Problem, Uniform, open_experiment
    >>> exp = open_experiment("memory://", "prices", Problem(["low", "high"]), budget=2, strategy=Uniform())
    >>> low, high = exp.ask(2, worker="w1")
    >>> exp.ask(1).why
    'all that round 1 owes is out on lease'
    >>> exp.tell(low, 3.0).value, exp.tell(low, 3.0).value, exp.tell(high.id, 4.0).value
    ('counted', 'repeated', 'counted')
    >>> exp.done, exp.recommend().mixture
    (True, {'high': 1.0})
    """

    def __init__(self, storage: "Storage", record: Record, strategy: Strategy, changed: str | None = None) -> None:
        self.storage = storage
        self.record = record
        self.strategy = strategy  # how the budget is spent
        self._checking = strategy if isinstance(strategy, Checking) else None
        self._seen = changed, revision(record, changed)
        self._names: Items | None = None  # items with their texts, once they were read

    def __repr__(self) -> str:
        return f"Experiment({self.record.name!r})"

    @property
    def problem(self) -> Problem:
        """What is searched, as of the last call: somebody else may change it."""
        return self._seen[1].problem

    def current(self) -> Problem:
        """What is searched, as it is at this moment."""
        return self.revision(self.storage.store.changed(self.record.key)).problem

    def revision(self, changed: str | None) -> Revision:
        """The problem that the store tells of, made from its text when that is another one."""
        if changed != self._seen[0]:
            self._seen = changed, revision(self.record, changed)
        return self._seen[1]

    def _setup(self, transaction: Transaction) -> Setup:
        return Setup(self.revision(transaction.head.changed), self.strategy)

    @property
    def items(self) -> Items | None:
        """What trials are made on, and in which order; None where they are made on no items."""
        if self.record.items is not None and self._names is None:
            order, texts = item_order(self.record), self.storage.store.items(self.record.key)
            self._names = order if order is None or not texts else replace(order, given=texts)
        return self._names

    @property
    def name(self) -> str:
        """Its name, as it is now."""
        return self.state.name

    @property
    def state(self) -> State:
        """Figures of this moment."""
        return self.storage.store.state(self.record.key)

    @property
    def done(self) -> bool:
        """Whether there will be no further trials: it is done, or was stopped."""
        return not self.state.open

    @property
    def notes(self) -> str:
        """What somebody wanted to remember; assign to it to replace it."""
        return self.state.notes

    @notes.setter
    def notes(self, text: str) -> None:
        self._write(partial(control.annotate, notes=check_text("notes", text, LONGEST_NOTE, empty=True)))

    def ask(self, n: int = 1, worker: str | None = None, key: str | None = None, segment: str | None = None) -> Handout:
        """Hand out up to ``n`` trials under a lease.

        Parameters
        ----------
        n
            The most trials to hand out.
        worker
            Who asks; machine and process by default.
        key
            An idempotency key: an ask that is repeated with the same key gets the same trials.
        segment
            Where users arrive and only their arm can be chosen: the segment of the one user that the trial is for.

        Returns
        -------
        Handout
            A list of trials; when it is empty, ``why`` and ``retry_after`` say more.
        """
        if isinstance(self.strategy, Traffic):
            raise checks.InvalidInput(
                "ask", "requests are the trials of an experiment on live traffic", "call weights() and tell_sums()"
            )
        n = checks.whole("n", n, 1, "give the number of trials wanted", MOST_ASKED)
        worker = check_label("worker", f"{socket.gethostname()}-{os.getpid()}" if worker is None else worker)
        key = None if key is None else check_text("key", key)
        if segment is not None:
            return self._ask_for(segment, n, worker, key)
        if None in self.problem.segments.values():
            raise checks.InvalidInput(
                "segment", "the shares of the segments are learnt from who arrives", "ask(segment=...) for each user"
            )
        prefetch = Prefetch(due_arms=n)
        rows, retry, why = self._write(
            lambda transaction: calls.ask(
                transaction, self.storage.lease_clock, self._setup(transaction), n, worker, key
            ),
            prefetch,
        )
        return Handout(map(self._trial, rows), retry, why)

    def _ask_for(self, segment: str, n: int, worker: str, key: str | None) -> Handout:
        """The trial of a user who arrives."""
        if n != 1:
            raise checks.InvalidInput("n", expected="1 for a user who arrives", got=n, remedy="ask for each user")
        self.problem.check_segment(segment)
        check_arrivals(self.problem)
        if self.record.items is not None:
            raise checks.InvalidInput(
                "segment", "a user who arrives brings an item of their own", "ask() for all trials, or use no items"
            )
        check_chosen(self.strategy)
        rows, retry, why = self._write(
            lambda transaction: calls.ask_for(
                transaction, self.storage.lease_clock, self._setup(transaction), segment, worker, key
            )
        )
        return Handout(map(self._trial, rows), retry, why)

    def tell(self, trial: Trial | str, reward: float | Mapping[str, float], costs: Any = None) -> Outcome:
        """Report a result; when this returns it is safely on disk.

        Parameters
        ----------
        trial
            The trial or its id.
        reward
            One number; or all metrics by name, as in ``{"quality": 1.0, "dollars": 0.002}``.
        costs
            By name, or in the problem's order; none beside metrics by name.
        """
        prefetch, work = joint_tell(self, (trial, reward, costs))
        return self.storage.store.write(self.record.key, work, prefetch)

    def tell_many(self, results: Iterable[tuple[Any, ...]]) -> list[Outcome]:
        """Report several results, each (trial, reward, costs) or (trial, metrics): in one transaction, all or none."""
        prefetch, work = tell_work(self, results)
        return self._write(work, prefetch) if prefetch.trials else []

    def tell_failed(self, trial: Trial | str, reason: str = "") -> None:
        """Report that a trial gave no result; its slot is handed out again."""
        number, reason = self._number(trial), check_text("reason", reason, LONGEST_NOTE, empty=True)[:1000]
        self._write(lambda transaction: calls.fail(transaction, self.storage.lease_clock, number, reason))

    def renew(self, *trials: Trial | str) -> list[Trial]:
        """Start the leases of trials anew, all of them or none; ``Closed`` is raised when one is lost."""
        numbers = [self._number(trial) for trial in trials]
        return [
            self._trial(row)
            for row in self._write(lambda transaction: calls.renew(transaction, self.storage.lease_clock, numbers))
        ]

    def give_back(self, *trials: Trial | str) -> None:
        """End the leases of trials that this worker will not finish; no failure is counted."""
        numbers = [self._number(trial) for trial in trials]
        self._write(lambda transaction: calls.give_back(transaction, self.storage.lease_clock, numbers))

    def weights(self, segment: str | None = None) -> Weights:
        """What requests of a segment follow now, on live traffic: shares of arms, their version, and until when.

        Parameters
        ----------
        segment
            Of the request; none where the problem has none.
        """
        self.problem.check_segment(segment)
        now = self.published()
        shares = now.segments[segment or ""]
        return Weights(shares, now.version, now.valid_until, now.explore, now.certified, now.alarm)

    def published(self) -> Published:
        """The weights of all segments, as the document that edges cache; a round whose time has passed ends."""
        self._on_traffic("weights")
        state, version, owing = self.storage.store.version(self.record.key)
        assert version is not None
        passed = self.storage.lease_clock.clock.now() >= version.at + version.seconds
        if passed and owing < version.requests and state.status == "running":
            self._write(
                lambda transaction: traffic.turn(transaction, self.storage.lease_clock, self._setup(transaction))
            )
            state, version, _ = self.storage.store.version(self.record.key)
            assert version is not None
        return published(self.record.key, self.problem, state.status, version)

    def tell_sums(self, rows: Iterable[Mapping[str, Any]], key: str) -> Outcome:
        """Report the requests of live traffic as sums; counted once, and safely on disk when this returns.

        Parameters
        ----------
        rows
            One for each (version, segment, arm) with requests: ``{"version": 3, "segment": "free", "arm": "small",
            "n": 2, "sums": {"quality": 1.0}, "products": {"quality*quality": 1.0}}``; the segment only where there are
            any. Sums are of all measures of the problem, products of each two of them, squares too.
        key
            Who reports, and the number of the report: ``"web-1:12"``. The reports of one edge are numbered from 1,
            without gaps; one that is repeated is not counted again.
        """
        report = read_report(self, rows, key)
        (told,) = self._write(lambda transaction: count_reports(self, transaction, [report]))
        if isinstance(told, Exception):
            raise told
        return told

    def traffic(self, last: int | None = None) -> TrafficState:
        """Versions of the weights, or the last of them, with the requests of each, and who reports them.

        With them the mean of what each limit is about, over all requests and over those of each version.
        """
        self._on_traffic("traffic")
        last = None if last is None else checks.whole("last", last, 1, "give the most versions wanted")
        found = self.storage.store.traffic(self.record.key, last)
        now = self.run_state()
        return traffic_state(self.revision(now.changed), now, found)

    def _on_traffic(self, call: str) -> None:
        if not isinstance(self.strategy, Traffic):
            raise checks.InvalidInput(
                call, "the experiment hands out trials, and has no live traffic", "ask() for trials, and tell() them"
            )

    def recommend(self, safety: float | None = SAFETY, everything: bool = False) -> Recommendation:
        """The answer as things stand: the mix that keeps all limits with this certainty; None for no margin.

        With ``everything`` results count as well that the strategy's schedule has no place for: surplus ones.
        """
        now = self.run_state()
        if not everything or not now.state.surplus:
            return self.answer(now, safety)
        return self.answer(self._with_surplus(now), safety, everything=True)

    def _with_surplus(self, now: RunState) -> RunState:
        """The same with surplus results in the sums."""
        moments, by_item = list(now.moments), now.by_item
        for row in self.storage.store.trials(self.record.key, TrialQuery("surplus")):
            table = self.problem.rows.measure(np.array([row.values]))
            moments[row.arm] = moments[row.arm].plus(table)
            by_item = by_item if row.item is None else with_results(by_item, [(row.item, row.arm)], table)
        return replace(now, moments=moments, by_item=by_item, state=replace(now.state, surplus=0))

    @property
    def account(self) -> Account | None:
        """Where the money stands, if the budget is one of money."""
        return self._account(self.run_state())

    def _account(self, now: RunState) -> Account | None:
        """The same at a moment, with trials of retired arms, and those that have not told by now."""
        setup, sums = Setup(self.revision(now.changed), self.strategy), dict(enumerate(now.moments))
        evidence = Evidence(setup.problem, setup.revision.chosen(sums))
        return account_of(self.strategy, evidence, settled(silent_of(now.state), setup, now.memory, sums))

    def run_state(self) -> RunState:
        """All that the answer is made of, as it is at this moment."""
        return self.storage.store.run_state(self.record.key)

    picture = run_state  # its name in 0.1

    def answer(self, now: RunState, safety: float | None = SAFETY, everything: bool = False) -> Recommendation:
        """The recommendation of a moment; of ``everything`` where its sums have surplus results too."""
        current = self.revision(now.changed)
        problem, moments = current.problem, current.chosen(now.moments)
        earlier = current.chosen([*now.earlier, *[None] * (len(now.moments) - len(now.earlier))])
        evidence = Evidence(problem, moments)
        if self.record.items is not None:
            blocks = item_blocks(now.by_item, current.places, len(problem.measures))
            logs = [None if log is None else log.weighted(now.weight) for log in earlier]
            if "apart" in self.record.items:  # the others are on items
                apart = [None if one is None else Moments.from_dict(one) for one in self.record.items["apart"]]
                logs = current.chosen([*apart, *[None] * (len(now.moments) - len(apart))])
            evidence = evidence_on_items(problem, moments, blocks, logs)
        columns = self.strategy.columns(problem, now.memory)
        return run_answer(
            self.strategy,
            evidence,
            with_slacks(problem, columns) if everything else columns,
            now.memory,
            (moments, earlier, now.weight),
            now.state.surplus,
            now.state.complete,
            budget=None if now.state.unlimited else now.state.budget,
            complete=now.state.status == "done",
            history=now.rounds,
            safety=safety,
            account=self._account(now),
        )

    def snapshot(self, safety: float | None = SAFETY) -> Snapshot:
        """Figures, answer and the answers after each round, all of one moment."""
        now = self.run_state()
        return Snapshot(now.state, self.answer(now, safety), now.mixtures)

    @property
    def history(self) -> tuple[Round, ...]:
        """The rounds that are over."""
        return tuple(self.run_state().rounds)

    @property
    def mixtures(self) -> list[tuple[int, Mapping[str, float] | None]]:
        """The answer after each round that is over, with the round's number; None where it was not kept."""
        now = self.run_state()
        return [(r.number, mixture) for r, mixture in zip(now.rounds, now.mixtures, strict=True)]

    def trials(
        self,
        state: str | None = None,
        arm: str | None = None,
        worker: str | None = None,
        after: Trial | str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
        segment: str | None = None,
    ) -> list[Trial]:
        """Trials in the order in which they were handed out.

        Parameters
        ----------
        state, arm, worker
            Only these; with segments an arm is one in a ``segment``.
        after, limit
            A page: at most ``limit`` of those after a trial.
        newest_first
            The other way round; those after a trial are then older ones.
        """
        state = None if state is None else checks.choice("state", state, [s.value for s in TrialState])
        place = None if arm is None else self._place(arm, segment)
        first = 0 if after is None else self._number(after)
        most = None if limit is None else checks.whole("limit", limit, 1, "give the length of a page")
        query = TrialQuery(None if state is None else str(state), place, worker, first, most, newest_first)
        return [self._trial(row) for row in self.storage.store.trials(self.record.key, query)]

    def _place(self, arm: str, segment: str | None) -> int:
        """The store's number of an arm, which may be retired."""
        found = self.revision(self.storage.store.changed(self.record.key))
        cell = Cell(arm, segment)
        return found.cells.index(cell) if cell in found.cells else found.places[found.problem.index(arm, segment)]

    def iter_trials(self, state: str | None = None) -> Iterator[Trial]:
        """All trials, read page by page."""
        after: Trial | None = None
        while page := self.trials(state, after=after, limit=PAGE):
            yield from page
            after = page[-1]

    def contents(self, state: str | None = None) -> tuple[RunState, Iterator[Trial]]:
        """All that the answer is made of, and the trials, as they are at one moment."""
        state = None if state is None else checks.choice("state", state, [s.value for s in TrialState])
        found = self.storage.store.contents(self.record.key, None if state is None else str(state))
        return found.run, map(self._trial, found.trials)

    def trial(self, trial: Trial | str) -> Trial:
        """One trial as it is now."""
        number = self._number(trial)
        found = self.storage.store.trials(self.record.key, TrialQuery(after=number - 1, limit=1))
        if not found or found[0].number != number:
            raise UnknownTrial("trial", f"there is no trial {number} in this experiment", "check the id")
        return self._trial(found[0])

    def events(self, after: int = 0, limit: int = 1000) -> list[Event]:
        """What happened, in order: at most ``limit`` events numbered above ``after``."""
        after = checks.whole("after", after, 0, "give the number of the last event seen")
        limit = checks.whole("limit", limit, 1, "give the most events wanted")
        return self.storage.store.events(self.record.key, after, limit)

    def pause(self) -> None:
        """Hand out nothing until it is resumed; results are still taken."""
        self._write(control.pause)

    def resume(self) -> None:
        """Go on after a pause or a failure."""
        self._write(lambda transaction: control.resume(transaction, self.storage.lease_clock, self._setup(transaction)))

    def stop(self, reason: str = "") -> Recommendation:
        """End it early, for good; the best answer so far."""
        reason = check_text("reason", reason, LONGEST_NOTE, empty=True)[:1000]
        self._write(lambda transaction: control.stop(transaction, self.storage.lease_clock, reason))
        return self.recommend()

    def extend(self, budget: int | Spend) -> None:
        """Raise the budget to a new total, of trials or of money, where the strategy allows it."""
        if isinstance(budget, Spend):
            budget = budget.named(self.problem)
        else:
            budget = number_of_trials(budget, "give the new total", MOST_TRIALS)
        self._write(
            lambda transaction: replan.extend(transaction, self.storage.lease_clock, self._setup(transaction), budget)
        )

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
        """Change what is asked while it runs; no trial is lost, and the history tells when it changed.

        Parameters
        ----------
        bounds
            New bounds, by cost; the others stay.
        limits
            All limits from now on that are not such bounds; such a bound among them replaces the one there is.
            They must be on what trials tell already.
        arms
            All arms to try from now on: others are retired with their trials, and new ones get their share of a first
            round. An arm that comes back has its trials again.
        budget
            The new total, larger or smaller, of trials or of money as the experiment has it. Of money it is at least
            what is spent and what trials under way reserve; what trials of retired arms have cost stays spent.
        prices, most
            Where the budget is one of money and has them by arm: what a trial of an arm that comes new costs, or can
            cost at most.
        features
            Of arms that come new, where arms have features; one that comes back brings them again.

        Examples
        --------
        >>> from bestmix import Problem, Uniform, open_experiment
        >>> exp = open_experiment("memory://", "prices", Problem(["low", "high"], {"risk": 1.0}), 4, Uniform())
        >>> exp.change(bounds={"risk": 0.5}, arms=["low", "mid"])
        >>> exp.problem.bounds, [trial.arm for trial in exp.ask(9)]
        ({'risk': 0.5}, ['low', 'mid', 'low', 'mid'])
        >>> exp.state.changes[0]["text"]
        'risk <= 0.5 instead of risk <= 1; mid is new; high is retired'
        """
        named = None if arms is None else [check_label("arms", arm, LONGEST_ARM) for arm in arms]
        total = budget.named(self.problem) if isinstance(budget, Spend) else budget
        wish = Wish(bounds, limits, named, total, prices, most, features)
        clock = self.storage.lease_clock
        self._write(lambda transaction: replan.change(transaction, clock, self._setup(transaction), wish))
        self.current()

    def rename(self, name: str) -> None:
        """Give it another name."""
        name = check_name(name)
        self._write(lambda transaction: control.rename(transaction, name))

    def delete(self) -> None:
        """Remove it with all of its trials."""
        self.storage.store.delete(self.record.key)

    def export(self, path: str | os.PathLike[str], state: str | None = None, spreadsheet: bool = False) -> Path:
        """Write the trials to a .csv or .parquet file, or everything to a .json file, as they are at one moment.

        Parameters
        ----------
        path
            Where to; the ending says what.
        state
            Only trials in this state.
        spreadsheet
            In a .csv file, put an apostrophe before text that a spreadsheet would take for a formula.
        """
        from bestmix.experiments.export import export

        return export(self, Path(path), state, spreadsheet)

    def close(self) -> None:
        """Let go of files and connections."""
        self.storage.close()

    def __enter__(self) -> "Experiment":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _write(self, work: Callable[[Transaction], T], prefetch: Prefetch = NO_PREFETCH) -> T:
        return self.storage.store.write(self.record.key, lambda transaction: self._work(transaction, work), prefetch)

    def _work(self, transaction: Transaction, work: Callable[[Transaction], T]) -> T:
        self.revision(transaction.head.changed)  # trials that are handed out may be of an arm that is new
        return work(transaction)

    def _take_results(self, transaction: Transaction, results: Sequence[calls.Result]) -> list[Outcome | Exception]:
        """Take results of several callers in a transaction."""
        return calls.tell_each(transaction, self.storage.lease_clock, results, self._setup(transaction))

    def _values(self, reward: Any, costs: Any) -> tuple[float, ...]:
        """Reward and costs, checked before anything is written; plain floats need no more than a look."""
        if isinstance(reward, Mapping):
            return one_row(self.problem, reward, costs)
        names = self.problem.metrics[1:]
        ordered = costs
        if isinstance(costs, dict) and len(costs) == len(names):
            ordered = [costs.get(name) for name in names]
        if isinstance(ordered, (list, tuple)) and len(ordered) == len(names) and not self.problem.flows:
            values = (reward, *ordered)
            if not [value for value in values if type(value) is not float or not abs(value) <= checks.LARGEST]:
                return values
        first = checks.number("reward", reward)
        return (first, *self.problem.cost_rows(costs, 1)[0].tolist())

    def _number(self, trial: Trial | str) -> int:
        """A trial's number from its id, which must be of this experiment."""
        text = trial.id if isinstance(trial, Trial) else trial
        found = ID.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise UnknownTrial("trial", expected="the id of a trial that ask() handed out", got=checks.shown(text))
        if found[1] != self.record.key:
            raise UnknownTrial("trial", f"{text} belongs to another experiment", "tell it there")
        return int(found[2])

    def _trial(self, row: Row) -> Trial:
        names = self.problem.metrics[1:]
        cells = self._seen[1].cells
        if row.arm >= len(cells):
            cells = self.revision(self.storage.store.changed(self.record.key)).cells
        cell = cells[row.arm]
        return Trial(
            f"{self.record.key}-{row.number}",
            cell.arm,
            row.round,
            row.number,
            row.slot,
            TrialState(row.state),
            row.worker,
            moment(row.expires),
            moment(row.asked),
            None if row.told is None else moment(row.told),
            None if row.values is None else row.values[0],
            None if row.values is None else dict(zip(names, row.values[1:], strict=True)),
            row.note,
            cell.segment,
            None if row.item is None or self.items is None else self.items.name(row.item),
        )


def tell_work(
    experiment: Experiment, results: Iterable[tuple[Any, ...]]
) -> tuple[Prefetch, Callable[[Transaction], list[Outcome]]]:
    """What ``tell_many`` writes, checked: the trials that it reads, and its work in a transaction."""
    checked = _checked(experiment, results)
    prefetch = Prefetch(trials=[number for number, _ in checked])
    return prefetch, lambda transaction: calls.tell(
        transaction, experiment.storage.lease_clock, checked, experiment._setup(transaction)
    )


def joint_tell(experiment: Experiment, result: tuple[Any, Any, Any]) -> tuple[Prefetch, Joint[Outcome]]:
    """The same of a single result, which is written with those of others who wait."""
    trial, reward, costs = result
    number, values = experiment._number(trial), experiment._values(reward, costs)
    if experiment._checking is not None:
        experiment._checking.check_trials(experiment.problem, np.array([values]))
    return Prefetch(trials=(number,)), Joint(experiment._take_results, (number, values))


def _checked(experiment: Experiment, results: Iterable[tuple[Any, ...]]) -> list[calls.Result]:
    try:
        given = [as_result(*result) for result in results]
    except TypeError:
        raise checks.InvalidInput(
            "results", "expected (trial, reward, costs) or (trial, metrics) for each", "give a list of these"
        ) from None
    checked = [(experiment._number(trial), experiment._values(reward, costs)) for trial, reward, costs in given]
    if experiment._checking is not None and checked:
        experiment._checking.check_trials(experiment.problem, np.array([values for _, values in checked]))
    checks.whole("results", len(checked), 0, "tell them in parts", MOST_ASKED)
    return checked


def read_report(experiment: Experiment, rows: Iterable[Mapping[str, Any]], key: str) -> traffic.Report:
    """A report of live traffic, checked as far as that needs no look at the store."""
    experiment._on_traffic("tell_sums")
    edge, sequence = parse_key(key)
    return traffic.Report(edge, sequence, _parsed_sums(experiment, rows))


def count_reports(
    experiment: Experiment, transaction: Transaction, reports: Sequence[traffic.Report]
) -> list[Outcome | Exception]:
    """Count reports in a transaction; errors of those that are refused are in their places."""
    return traffic.tell_sums(transaction, experiment.storage.lease_clock, experiment._setup(transaction), reports)


def _parsed_sums(experiment: Experiment, rows: Any) -> list[SumsRow]:
    """Rows of a report; an arm that is not known may have come meanwhile, by another process."""
    listed = isinstance(rows, Iterable) and not isinstance(rows, Mapping | str)
    seen, rows = experiment._seen[0], list(rows) if listed else rows
    try:
        return parse_rows(experiment._seen[1], rows)
    except checks.InvalidInput:
        changed = experiment.storage.store.changed(experiment.record.key)
        if changed == seen:
            raise
        return parse_rows(experiment.revision(changed), rows)
