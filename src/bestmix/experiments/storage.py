"""``open_experiment`` and ``open_storage``: from a URL to experiments."""

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.moments import Moments
from bestmix.experiments import start_from_log
from bestmix.experiments.clock import Clock, LeaseClock, SystemClock
from bestmix.experiments.experiment import Experiment
from bestmix.experiments.item_slots import described
from bestmix.experiments.memory import MemoryStore
from bestmix.experiments.model import (
    FAILURES,
    LEASE,
    LONGEST_ARM,
    LONGEST_NOTE,
    Draft,
    Record,
    State,
    TrialQuery,
    check_label,
    check_name,
    check_text,
)
from bestmix.experiments.store import ExperimentStore
from bestmix.experiments.traffic import first_version
from bestmix.problems.items import Items, as_items
from bestmix.problems.problem import Problem
from bestmix.problems.spend import Spend, number_of_trials
from bestmix.strategies import Challenger, Strategy, rounds
from bestmix.strategies.built_in import as_numbered, as_saved, restore_saved
from bestmix.strategies.paid import Paid, as_begun, paid
from bestmix.strategies.protocol import MOST_TRIALS, check_strategy
from bestmix.strategies.rounds import Recipe
from bestmix.strategies.search_items import check_items
from bestmix.strategies.traffic import Traffic

LONGEST_LEASE = 365 * 86400.0  # seconds
MOST_AHEAD = 32  # slots that a decision does not wait for by default: four for each of eight workers
LEAST_AHEAD = 100  # trials of a budget from which on it is worth it


@dataclass(frozen=True)
class Terms:
    """What else can be said of a new experiment; ``open_experiment`` describes it."""

    lease: float
    failures: int
    notes: str
    log: start_from_log.Log | None
    items: Items | None = None


class Storage:
    """All experiments of one database; ``open_storage`` makes it.

    Examples
    --------
    >>> from bestmix import Problem, Uniform
    >>> storage = open_storage("memory://")
    >>> exp = storage.create("router", Problem(["a", "b"]), budget=4, strategy=Uniform())
    >>> [(state.name, state.status.value) for state in storage.experiments()]
    [('router', 'running')]
    >>> storage.open("router").ask(1)[0].arm
    'a'
    """

    def __init__(self, store: ExperimentStore, clock: Clock) -> None:
        self.store = store
        self.lease_clock = LeaseClock(clock)

    def create(
        self,
        name: str,
        problem: Problem,
        budget: int | Spend | None = None,
        strategy: Strategy | None = None,
        *,
        traffic: Traffic | None = None,
        lease: float = LEASE,
        failures: int = FAILURES,
        notes: str = "",
        log: Any = None,
        arm: str = "arm",
        reward: str = "reward",
        segment: str | None = None,
        log_weight: float = 1.0,
        item: str | None = None,
        items: Any = None,
        shared: bool = True,
    ) -> Experiment:
        """Create an experiment; ``open_experiment`` describes the arguments."""
        budget, strategy = on_traffic(name, traffic, budget, strategy)
        held = _log(log, arm, reward, segment, log_weight, item), as_items(items, shared)
        terms = Terms(lease, failures, notes, *held)
        made = self._create(name, problem, budget, strategy, terms)
        if made is None:
            raise checks.AlreadyExists(
                "name", f"there is an experiment {name!r} already", "open it, or choose another name"
            )
        return made

    def _create(
        self, name: str, problem: Problem, budget: int | Spend, strategy: Strategy | None, terms: "Terms"
    ) -> Experiment | None:
        """The experiment, or None when the name is taken."""
        recipe, budget = _recipe(_check_problem(problem), strategy, budget)
        problem = recipe.problem
        recipe = Recipe(problem, _looking_ahead(recipe.strategy, problem, budget))
        record = Record(
            secrets.token_hex(6),
            check_name(name),
            problem.to_dict(),
            recipe.strategy.to_dict(),
            number_of_trials(budget, "give the number of trials that may be made", MOST_TRIALS),
            _check_lease(terms.lease),
            checks.whole("failures", terms.failures, 1, "give the number of failed trials that end it"),
            described(None if terms.items is None else check_items(terms.items, problem, recipe.strategy)),
        )
        notes = check_text("notes", terms.notes, LONGEST_NOTE, empty=True)
        if isinstance(recipe.strategy, Traffic):
            draft = self._traffic_draft(record, recipe, recipe.strategy, notes, terms)
            return Experiment(self, record, recipe.strategy) if self.store.create(draft) else None
        if terms.log is None:
            start = start_from_log.Start(rounds.begin(recipe, record.first_budget), [], rounds.no_trials(problem), [])
        else:
            now = self.lease_clock.clock.now()
            start = start_from_log.replay(recipe, record.first_budget, terms.log, now, terms.items)
        if start.on:
            record = replace(record, items={**(record.items or {}), **start.on})
        step, log = start.step, (start.earlier, 1.0 if terms.log is None else terms.log.weight)
        texts = () if terms.items is None else terms.items.names or ()
        draft = Draft(record, notes, step.memory, step.quota, step.rounds, start.moments, start.rows, *log, items=texts)
        draft = replace(draft, by_item=start.by_item)
        return Experiment(self, record, recipe.strategy) if self.store.create(draft) else None

    def _traffic_draft(self, record: Record, recipe: Recipe, plan: Traffic, notes: str, terms: "Terms") -> Draft:
        """A new experiment on live traffic, which knows what a log tells."""
        moments = rounds.no_trials(recipe.problem)
        if terms.items is not None:
            raise checks.InvalidInput("items", "requests of live traffic bring their own", "leave them out")
        if terms.log is not None:
            moments = start_from_log.log_sums(recipe.problem, terms.log)
        memory, quota = plan.begin(recipe.problem, record.first_budget), [0] * len(moments)
        version = first_version(recipe.problem, plan, moments, self.lease_clock.clock.now())
        return Draft(record, notes, memory, quota, [], moments, [], version=version)

    def open(self, name: str, strategy: Strategy | None = None) -> Experiment:
        """Open an experiment that exists; a strategy with a function of your own must be passed again."""
        record = self.store.find(check_text("name", name))
        if record is None:
            held = [found.name for found, _ in self.store.entries(limit=5)]
            raise checks.Missing(
                "name",
                f"there is no experiment {checks.shown(name)} (there is {', '.join(map(repr, held)) or 'none'})",
                "check the name, or give problem and budget to create it",
            )
        saved = as_numbered(record.strategy)
        if strategy is not None:
            strategy = as_begun(as_saved(strategy, saved), saved)
        if strategy is not None and strategy.to_dict() not in (saved, _without_ahead(saved)):
            raise checks.AlreadyExists(
                "strategy",
                f"the experiment has {dict(record.strategy)}, got {strategy.to_dict()}",
                "pass the same one, or none",
            )
        if strategy is None or isinstance(strategy, Challenger):
            strategy = restore_saved(record.strategy)
        return Experiment(self, record, strategy, self.store.changed(record.key))

    def open_key(self, key: str) -> Experiment | None:
        """The experiment with that key, which stays the same when it is renamed; None when there is none."""
        record = self.store.record(key)
        if record is None:
            return None
        return Experiment(self, record, restore_saved(record.strategy), self.store.changed(key))

    def experiments(self, after: str = "", limit: int | None = None) -> list[State]:
        """Figures of the experiments in the order of their names, those after a name."""
        return [state for _, state in self.store.entries(after, limit)]

    def close(self) -> None:
        """Let go of files and connections."""
        self.store.close()

    def __enter__(self) -> "Storage":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def open_storage(url: str | os.PathLike[str], *, patience: float = 60.0, clock: Clock | None = None) -> Storage:
    """The storage at a URL; made if it is not there.

    Parameters
    ----------
    url
        ``sqlite:///file.db``, ``postgresql://user@host/database``, a file's path, or ``memory://``.
    patience
        Seconds that a call keeps trying when the database is out of reach.
    clock
        Where time comes from; the machine's clocks by default.

    Examples
    --------
    >>> open_storage("memory://").experiments()
    []
    """
    clock = clock or SystemClock()
    if not isinstance(url, (str, os.PathLike)) or not os.fspath(url):
        raise checks.InvalidInput(
            "url", expected="text such as 'sqlite:///file.db'", got=checks.shown(url), remedy="give one"
        )
    if os.fspath(url).startswith("memory:"):
        return Storage(MemoryStore(clock), clock)
    from bestmix.experiments.sql.database import Database, parse_url
    from bestmix.experiments.sql.store import SqlStore

    return Storage(SqlStore(Database(parse_url(url), checks.number("patience", patience)), clock), clock)


def open_experiment(
    url: str | os.PathLike[str] | Storage,
    name: str,
    problem: Problem | None = None,
    budget: int | Spend | None = None,
    strategy: Strategy | None = None,
    *,
    traffic: Traffic | None = None,
    lease: float | None = None,
    failures: int | None = None,
    notes: str = "",
    log: Any = None,
    arm: str = "arm",
    reward: str = "reward",
    segment: str | None = None,
    log_weight: float = 1.0,
    item: str | None = None,
    items: Any = None,
    shared: bool = True,
    patience: float = 60.0,
    clock: Clock | None = None,
) -> Experiment:
    """Open an experiment that is kept in a database, or create it.

    Parameters
    ----------
    url
        ``sqlite:///file.db``, ``postgresql://user@host/database``, a file's path, or ``memory://``;
        or a storage that is open.
    name
        Its name in the storage.
    problem, budget, strategy
        As for a search in this process; Challenger by default. When the experiment exists they may be left
        out, and must be the same otherwise. The budget may be one of money, as ``Spend(200.0, "dollars")``: then
        trials tell what they cost. A strategy with a function of your own cannot be read
        back from a database: pass it every time.
    traffic
        For an experiment on live traffic, in place of budget and strategy: how much of it explores, and so on. Its
        calls are ``weights`` and ``tell_sums``.
    lease
        Seconds that a worker has for a trial before it is handed to another one; 60 by default.
    failures
        Failed trials after which the experiment stops handing out; 100 by default.
    notes
        Whatever you want to remember about it.
    log
        Trials that were made before, which the experiment starts from: a CSV or Parquet path, a frame
        or a mapping of columns. With Challenger and Uniform all of them count, the budget is for further trials, and
        the first round owes what they lack. SFSR has a schedule for the whole budget: they fill its places in order,
        and the rest is left out of the estimates, unless ``recommend(everything=True)`` asks for it.
    arm, reward, segment
        Names of the log's columns that hold the arm, the reward and, where there are segments, the segment; other
        metrics have their own names.
    log_weight
        What a result of the log counts, such as 0.5 for an old log; 1 by default.
    item
        Name of the log's column with the items that its trials were made on, where there are ``items``: no arm is given
        one of them again, and arms that meet on them are compared on them (not with less weight). Without it the log's
        trials count as trials that have no item.
    items
        What trials are made on, such as prompts: a list of texts, or how many there are; ``trial.item`` is then what to
        make a trial on. All arms go through them in one order, which is shuffled once, so that they meet on the same
        items; ``Items(prompts, seed=7)`` shuffles otherwise. An arm that has had all begins with the first again.
    shared
        Whether arms meet on the same items; with False each arm has an order of its own.
    patience
        Seconds that a call keeps trying when the database is out of reach.

    Examples
    --------
    >>> from bestmix import Problem, Uniform
    >>> exp = open_experiment("memory://", "router", Problem(["a", "b"], {"dollars": 1.0}), 4, Uniform())
    >>> for trial in exp.ask(4, worker="w1"):
    ...     outcome = exp.tell(trial.id, 1.0 if trial.arm == "a" else 2.0, {"dollars": 0.5})
    >>> exp.done, exp.recommend().support
    (True, ('b',))
    """
    if traffic is not None:
        budget, strategy = on_traffic(name, traffic, budget, strategy)
    storage = url if isinstance(url, Storage) else open_storage(url, patience=patience, clock=clock)
    if problem is not None and storage.store.find(check_text("name", name)) is None:
        budget, strategy = on_traffic(name, None, budget, strategy)
        held = LEASE if lease is None else lease, FAILURES if failures is None else failures
        terms = Terms(*held, notes, _log(log, arm, reward, segment, log_weight, item), as_items(items, shared))
        made = storage._create(name, problem, budget, strategy, terms)
        if made is not None:
            return made
    found = storage.open(name, strategy)
    _check_same(found, problem, budget, lease)
    _check_same_items(found, as_items(items, shared))
    _check_same_log(found, _log(log, arm, reward, segment, log_weight, item))
    return found


def on_traffic(
    name: str, traffic: Any, budget: int | Spend | None, strategy: Strategy | None
) -> tuple[int | Spend, Strategy | None]:
    """Budget and strategy of a new experiment; live traffic takes the place of both, and has no end of its own."""
    if traffic is None:
        if budget is None:
            raise checks.InvalidInput(
                "budget", "a new experiment needs one", f"give the number of trials that {name!r} may make"
            )
        return budget, strategy
    if not isinstance(traffic, Traffic):
        raise checks.InvalidInput(
            "traffic", expected="Traffic(explore='5%')", got=checks.shown(traffic), remedy="give one"
        )
    if budget is not None or strategy is not None:
        raise checks.InvalidInput(
            "traffic", "it takes the place of budget and strategy", "leave these out, or the traffic"
        )
    return MOST_TRIALS, traffic


def _recipe(problem: Problem, strategy: Strategy | None, budget: int | Spend) -> tuple[Recipe, int]:
    """Problem and strategy with the most trials, which is beyond reach where money is what is limited."""
    chosen = check_strategy(strategy or Challenger())
    if not isinstance(budget, Spend):
        return Recipe(problem, chosen), budget
    chosen, problem = paid(chosen, problem, budget.named(problem))
    return Recipe(problem, chosen), MOST_TRIALS


def _check_same(found: Experiment, problem: Problem | None, budget: int | Spend | None, lease: float | None) -> None:
    """Refuse to go on with another problem, budget or lease than the experiment has."""
    held, money = found.record, found.strategy.spend if isinstance(found.strategy, Paid) else None
    if problem is not None and money is not None:
        problem = problem.tracking(money.missing(problem))
    if problem is not None and problem.to_dict() not in (held.problem, found.problem.to_dict()):
        raise checks.AlreadyExists(
            "problem",
            f"the experiment {held.name!r} has another one",
            "leave it out, or choose another name",
        )
    account = found.account if money is not None else None
    budget = budget.named(found.problem) if isinstance(budget, Spend) else budget
    if account is not None and budget is not None and budget not in (money, account.spend):
        fault = f"the experiment {held.name!r} has {account.spend}, got {budget}"
        raise checks.AlreadyExists("budget", fault, "leave it out, or call extend()")
    if account is None and budget is not None and budget not in (held.first_budget, found.state.budget):
        raise checks.AlreadyExists(
            "budget",
            f"the experiment {held.name!r} has {found.state.budget}, got {budget}",
            "leave it out, or call extend()",
        )
    if lease is not None and lease != held.lease:
        raise checks.AlreadyExists(
            "lease", f"the experiment {held.name!r} has {held.lease:g} s, got {lease:g}", "leave it out"
        )


def _check_same_items(found: Experiment, items: Items | None) -> None:
    """Refuse to go on with other items than the experiment has."""
    if items is not None and items != found.items:
        raise checks.AlreadyExists(
            "items",
            f"the experiment {found.record.name!r} has others, or none",
            "leave them out, or choose another name",
        )


def _check_same_log(found: Experiment, log: start_from_log.Log | None) -> None:
    """Refuse to go on with another log than the experiment began with; one whose file is elsewhere cannot be read."""
    if log is None or isinstance(found.strategy, Traffic):
        return
    if isinstance(log.frame, (str, os.PathLike)) and not os.path.exists(log.frame):
        return
    problem, now = Problem.from_dict(found.record.problem), found.run_state()
    held, logged = rounds.no_trials(problem), now.earlier[: len(problem.cells)]  # arms that were added come after them
    if any(logged):
        held = [m or none for m, none in zip(logged, held, strict=True)]
    else:  # a schedule has filled its places with them
        for row in found.storage.store.trials(found.record.key, TrialQuery(worker=start_from_log.WORKER)):
            if row.expires == row.asked:  # unlike what a worker of this name was handed out
                held[row.arm] = held[row.arm].plus(problem.rows.measure(np.array([row.values])))
    given = start_from_log.log_sums(problem, replace(log, weight=1.0))
    same = len(given) == len(held) and all(map(Moments.matches, given, held))
    fault = "" if same else "another log" if any(m.count for m in held) else "no log"
    if not fault and log.weight != now.weight:
        fault = f"a log whose results count {now.weight:g}, not {log.weight:g}"
    if fault:
        raise checks.AlreadyExists(
            "log", f"the experiment {found.record.name!r} began with {fault}", "leave it out, or choose another name"
        )


def _log(
    frame: Any, arm: str, reward: str, segment: str | None, weight: float, item: str | None = None
) -> start_from_log.Log | None:
    if frame is None:
        return None
    return start_from_log.Log(frame, arm, reward, segment, checks.weight("log_weight", weight), item)


def _looking_ahead(strategy: Strategy, problem: Problem, budget: Any) -> Strategy:
    """A new experiment's Challenger plans ahead where it can and that is worth it, unless it says otherwise."""
    if not isinstance(strategy, Challenger) or strategy.ahead is not None or not isinstance(budget, int):
        return strategy
    ahead = replace(strategy, ahead=min(MOST_AHEAD, max(budget, 0) // 10))
    return ahead if budget >= LEAST_AHEAD and ahead.look_ahead(problem) else strategy


def _without_ahead(data: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "ahead"}


def _check_problem(problem: Any) -> Problem:
    if not isinstance(problem, Problem):
        raise checks.InvalidInput(
            "problem", expected="a Problem", got=type(problem).__name__, remedy="an Instance has one: .problem"
        )
    for kind, names in (("arms", problem.arms), ("bounds", problem.metrics), ("segments", problem.segments)):
        for name in names:  # those of older experiments are opened whatever they are
            check_label(kind, name, LONGEST_ARM)
    return problem


def _check_lease(lease: Any) -> float:
    seconds = checks.number("lease", lease, "give the seconds that a trial may take")
    if not 0 < seconds <= LONGEST_LEASE:
        raise checks.InvalidInput(
            "lease", expected="seconds between 0 and a year", got=f"{seconds:g}", remedy="give what a trial may take"
        )
    return seconds
