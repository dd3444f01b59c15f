"""``bestmix run``: a search whose trials are processes, and which can be stopped and gone on with."""

import os
import signal
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bestmix.cli import budgets, common, items, problems, stopping
from bestmix.cli.process import TrialFailed, Trials
from bestmix.cli.trial_file import TrialFile, set_aside

if TYPE_CHECKING:
    from bestmix.answers.recommendation import Recommendation
    from bestmix.problems.items import Items
    from bestmix.problems.problem import Problem
    from bestmix.problems.spend import Spend
    from bestmix.strategies import Search, Strategy


def run(
    problem: Annotated[
        Path,
        typer.Argument(
            metavar="PROBLEM", help="Arms, goal, limits and known arms (.toml or .json).", show_default=False
        ),
    ],
    budget: budgets.Budget,
    command: Annotated[
        str,
        typer.Option(
            "--exec", metavar="COMMAND", help="Makes one trial of {arm}, in {segment}, on {item}.", show_default=False
        ),
    ],
    bound: problems.Bound = None,
    goal: problems.Goal = None,
    limit: problems.Limits = None,
    segments: problems.Segments = None,
    prices: budgets.Prices = None,
    most: budgets.Most = None,
    jobs: Annotated[int, typer.Option("-j", "--jobs", min=1, help="Trials to make at once.")] = 1,
    strategy: common.Strategies = common.StrategyName.challenger,
    confidence: stopping.Confidence = None,
    tolerance: stopping.Tolerance = None,
    proven: stopping.Proven = False,
    sigma: stopping.Sigma = None,
    ranges: stopping.Ranges = None,
    margin_share: stopping.MarginShare = None,
    log: Annotated[
        Path | None,
        typer.Option(help="Trials that were made already; they count, beside the budget.", show_default=False),
    ] = None,
    arm: Annotated[str, typer.Option(help="Column of the log that names the arm.")] = "arm",
    reward: Annotated[str, typer.Option(help="Column of the log that has the reward.")] = "reward",
    segment: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the log that names the segment.", show_default=False)
    ] = None,
    log_weight: Annotated[float, typer.Option(help="What a result of the log counts, such as 0.5 for an old one.")] = 1,
    log_item: items.LogItem = None,
    item_list: items.ItemList = None,
    shared: items.Shared = True,
    items_seed: items.ItemsSeed = 0,
    state: Annotated[
        Path | None, typer.Option(help="Where the run is kept (.json).", show_default="next to the problem")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over, even if there is a state.")] = False,
    retries: Annotated[int, typer.Option(min=0, help="Further attempts at a trial that fails.")] = 2,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds that a trial may take.", show_default="no limit")
    ] = None,
    safety: common.Safety = "0.95",
    everything: common.Everything = False,
    figure: common.Figure = None,
    report: common.Report = None,
    policy: common.PolicyFile = None,
    as_json: common.Json = False,
) -> None:
    """Find the best mix by running a command for each trial.

    The command gets the arm's name in place of {arm}, with segments the segment's in place of {segment}, and with items
    the item in place of {item}. Its last line on standard output is JSON with every metric:
    {"reward": 0.7, "dollars": 0.1, "seconds": 0.4}. Ctrl-C stops the run; the same command goes on with it, and so does
    one with a larger budget or another bound. Every trial is written to a .csv file beside the state.

    A budget may be what trials cost together: then the JSON also tells that, under the budget's unit, unless --price
    says what a trial of each arm costs, or the unit is one of time, which is measured.

    Bounds and limits are added to those of the problem's file; a goal and segments take the place of its own.

    With --items every arm's i-th trial is made on item i of one shuffled list, so that arms meet on the same items.

    Example: [bold]bestmix run problem.toml --budget 2000 --exec './trial.sh {arm}' -j 4[/bold]

    Example: [bold]bestmix run problem.toml --budget 2000 --items prompts.txt --exec './trial.sh {arm} {item}'[/bold]
    """
    outputs, wanted = common.Outputs(figure, report, policy), common.parse_safety(safety)
    outputs.check()
    state = state or problem.with_suffix(".run.json")
    if state.suffix.lower() != ".json":
        raise ValueError(f"--state: expected a file name that ends in .json, got {state}; rename it")
    written = state.with_suffix(".csv")
    if log is not None and log.resolve() == written.resolve():
        raise ValueError(
            f"--log: {log} is the file in which this run writes its own trials; choose another --state, which has "
            "another .csv beside it"
        )
    amount = budgets.parse_budget(budget, prices, most)
    asked = problems.load_problem(problem, bound, limit, goal, segments)
    amount = amount if isinstance(amount, int) else amount.named(asked)
    on = items.load_items(item_list, shared, items_seed)
    trials = Trials(command, _telling(asked, amount), retries, timeout, on is not None)
    chosen = common.make_strategy(
        strategy, stopping.options(confidence, tolerance, proven, sigma, ranges, margin_share)
    )
    with locked(state):
        with common.missing_values("fill them in, or take these rows out of the log"):
            search, file = open_search(
                asked, chosen, amount, state, fresh, log, (arm, reward, segment, log_item), log_weight, on
            )
        if search.done and search.made:
            common.messages().print(_over(search, state), markup=False, soft_wrap=True)
        elif search.trials and not search.done:
            common.messages().print(_beginning(search, log), markup=False, soft_wrap=True)
        go_on(search, trials, jobs, state, file, "the same command without --fresh" if fresh else "the same command")
    rec = search.recommend(wanted, everything)
    common.conclude(rec, outputs, f"The best mix for {problem.name}", as_json)
    _say_ended(search, rec, confidence, tolerance, amount)


def _telling(problem: "Problem", budget: "int | Spend") -> "Problem":
    """The problem with what a trial prints: its price too, unless that is known or measured."""
    if isinstance(budget, int) or budget.timed(problem):
        return problem
    return problem.tracking(budget.missing(problem))


def _say_ended(
    search: "Search",
    rec: "Recommendation",
    confidence: float | None,
    tolerance: str | None,
    budget: "int | Spend",
) -> None:
    """Say it where the budget was over before what was wanted was reached."""
    from bestmix.answers.number_text import level_text

    if rec.trials < search.budget and rec.account is None:
        return
    spent = f"The budget of {budget}{' trials' if rec.account is None else ''} ended"
    if tolerance is not None and not (search.memory.get("certificate") or {}).get("enough"):
        common.messages().print(f"{spent} before a mix was certainly within {tolerance}.")
    elif tolerance is None and confidence and (rec.support_probability or 0.0) < confidence:
        common.messages().print(f"{spent} before {level_text(confidence)} was reached.")


def open_search(
    problem: "Problem",
    strategy: "Strategy",
    budget: "int | Spend",
    state: Path,
    fresh: bool,
    log: Path | None = None,
    columns: tuple[str, str, str | None, str | None] = ("arm", "reward", None, None),
    log_weight: float = 1.0,
    on: "Items | None" = None,
) -> "tuple[Search, TrialFile]":
    """The search in the state file if it is of the same work, perhaps with more trials; a new one if there is none.

    And the file of its trials, from which it gets back what a run that was killed has told and not saved.
    """
    from bestmix import files
    from bestmix.strategies import Search

    written = state.with_suffix(".csv")
    if fresh or not state.exists():
        new = strategy.start(problem, budget)
        new.try_on(on)
        if log is not None:
            arm, reward, segment, item = columns
            new.start_from(log, arm, reward, segment, log_weight, item)
        return new, TrialFile(new, written)
    try:
        data = files.read(state)
        search = Search.from_dict(data)
    except ValueError as error:
        raise ValueError(f"{state}: not the state of a run ({error}); choose another --state, or use --fresh") from None
    if not isinstance(budget, int):
        problem = problem.tracking(budget.missing(problem))
    if search.strategy.name != strategy.name:
        held = f"another strategy ({search.strategy.name}, not {strategy.name})"
        raise ValueError(
            f"{state}: the run kept there has {held}; ask for the same, choose another --state, or start over with "
            "--fresh"
        )
    if (log is None) is search.has_log:
        held_log = f"{search.earlier} trials of a log" if search.earlier else "a log" if search.has_log else "no log"
        raise ValueError(f"{state}: the run kept there has {held_log}; ask for the same, or start over with --fresh")
    if log is not None and (fault := search.log_fault(search.log_marks(log, *columns[:3]), log_weight)):
        raise ValueError(
            f"{state}: the run kept there is another, {fault}; ask for the same, or start over with --fresh"
        )
    if search.item_list != on:
        held_items = "no items" if search.item_list is None else f"{len(search.item_list)} items, or another order"
        raise ValueError(f"{state}: the run kept there has {held_items}; ask for the same, or start over with --fresh")
    file = TrialFile(search, written, _rows(data), new=False)
    if isinstance(budget, int):
        budget += search.earlier
    if isinstance(budget, int) and search.account is None and budget < search.budget:
        raise ValueError(
            f"{state}: the run kept there has a larger budget ({search.budget}, not {budget}); ask for no fewer, "
            "choose another --state, or start over with --fresh"
        )
    try:
        _go_on_with(search, problem, budget, state)
    except ValueError as error:
        raise ValueError(f"{state}: {error}: choose another --state, or use --fresh") from None
    return search, file


def _rows(state: Mapping[str, Any]) -> int | None:
    """How many rows of the file of trials a saved state has counted; None where it does not say."""
    rows = state.get("rows")
    return rows if isinstance(rows, int) and rows >= 0 else None


def _go_on_with(search: "Search", problem: "Problem", budget: "int | Spend", state: Path) -> None:
    """Go on with another problem where the trials speak to it, and with another amount, and say so."""
    from bestmix.problems.changes import wish_for

    if problem == search.problem and (isinstance(budget, int) or search.account is None):
        search.extend(budget)
        return
    wish, noted = wish_for(search.problem, problem), len(search.changes)
    if wish is None:
        raise ValueError(
            "the run kept there has another problem, with a goal, costs, segments or known arms of its own"
        )
    search.change(wish.bounds, wish.limits, wish.arms, budget, features=wish.features)
    if len(search.changes) == noted:
        return
    told, made = search.changes[-1]["text"], common.trials(search.made)
    common.messages().print(
        f"{state}: the problem has changed ({told}); going on with its {made}.",
        markup=False,
        soft_wrap=True,
    )


def go_on(search: "Search", trials: Trials, jobs: int, state: Path, file: TrialFile, again: str) -> None:
    """Make the trials that are owed, saving as they come and whatever happens."""
    from bestmix.strategies.drive import drive
    from bestmix.strategies.search_bar import search_bar
    from bestmix.strategies.search_work import Checkpoint, SearchWork
    from bestmix.strategies.timing import timed

    console, saved = common.messages(), Checkpoint(search, state, lambda: {"rows": file.rows})

    def begin() -> None:
        if state.exists():
            set_aside(state, "is of an earlier run")
        saved.save()

    file.before_first = begin
    if not file.new:  # what the state gained from the file, or by another problem, is not lost when this one is killed
        saved.save()
    if search.done:
        return
    try:
        with (
            catch_signals() as caught,
            search_bar(search, console.is_terminal, console) as update,
            ThreadPoolExecutor(jobs) as pool,
        ):
            work, pull = SearchWork(search, record=file), timed(trials, search.problem, search.strategy)
            drive(work, pull, pool, jobs, stopped=lambda: bool(caught), halt=trials.stop, after=(update, saved))
    except TrialFailed as failure:
        common.complain(f"Error: {failure}; {_kept(search, state, file)}. Correct the trial; then {again} goes on.")
        console.print(failure.written or "It wrote nothing.", markup=False)
        raise typer.Exit(2) from None
    finally:
        if not file.new:  # a command that cannot even start does not replace what an earlier run has left
            saved.save()
    if caught and not search.done:
        common.complain(f"Stopped; {_kept(search, state, file)}, and {again} goes on from there.")
        raise typer.Exit(128 + caught[0])


def _kept(search: "Search", state: Path, file: TrialFile) -> str:
    if file.new or not search.made:
        return "no trial was made"
    return f"{_made(search)} are kept in {state}"


def _beginning(search: "Search", log: Path | None) -> str:
    """What there is before the first trial of this run."""
    if search.trials > search.earlier:
        return f"Going on after {_made(search)}."
    source = "a log" if log is None else "standard input" if str(log) == "-" else log
    return f"Starting from {common.trials(search.earlier)} of {source}."


def _over(search: "Search", state: Path) -> str:
    """That nothing is left to run, and what goes on."""
    from bestmix.strategies.paid import Paid
    from bestmix.strategies.protocol import Extendable

    strategy = search.strategy.strategy if isinstance(search.strategy, Paid) else search.strategy
    spent = search.account is not None or search.trials >= search.budget
    further = "A larger --budget goes on with it, and" if spent and isinstance(strategy, Extendable) else "Only"
    return f"Nothing was run: the run in {state} is over, with {_made(search)}. {further} --fresh starts over."


def _made(search: "Search") -> str:
    """How many trials there are, of how many; or what they cost."""
    if search.account is None:
        return f"{search.made:,} of {common.trials(search.budget)}"
    return f"{common.trials(search.made)} ({search.account})"


@contextmanager
def catch_signals() -> Iterator[list[int]]:
    """A list that gets the number of SIGINT, SIGTERM or SIGHUP when it comes.

    The signal only leaves a note, so that it can never cut through the telling of a trial.
    """
    caught: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        caught.append(number)

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) == signal.SIG_DFL:  # else nohup wants the run to outlive its terminal
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, note) for number in numbers}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def locked(state: Path) -> Iterator[None]:
    """Keep other runs off the state file, where the system has locks."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    state.parent.mkdir(parents=True, exist_ok=True)
    lock = state.with_name(f".{state.name}.lock")
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise RuntimeError(f"{state}: another run is using this state; wait for it, or choose another") from None
        try:
            yield
        finally:
            os.unlink(lock)
