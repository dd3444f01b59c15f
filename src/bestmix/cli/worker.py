"""``bestmix worker``: makes trials of an experiment; any number of them, on any number of machines."""

import json
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from bestmix import progress
from bestmix.cli import common
from bestmix.cli.process import Result, TrialFailed, Trials
from bestmix.cli.run import catch_signals
from bestmix.cli.traffic import check_trials

if TYPE_CHECKING:
    from bestmix.client import RemoteExperiment
    from bestmix.experiments import Experiment, Trial
    from bestmix.problems.problem import Problem

SOONEST = 0.1  # seconds between two asks
LOOK = 1.0  # seconds between two looks at the experiment's figures, and at most between two asks


def worker(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="Its database, or http://... of a server.", show_default=False)
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The experiment's name.", show_default=False)],
    command: Annotated[
        str,
        typer.Option(
            "--exec", metavar="COMMAND", help="Makes one trial of {arm}, in {segment}, on {item}.", show_default=False
        ),
    ],
    jobs: Annotated[int, typer.Option("-j", "--jobs", min=1, help="Trials to make at once.")] = 1,
    who: Annotated[str | None, typer.Option("--name", help="This worker.", show_default="machine and process")] = None,
    retries: Annotated[int, typer.Option(min=0, help="Further attempts before a trial is reported as failed.")] = 0,
    timeout: Annotated[
        float | None, typer.Option(min=0.001, help="Seconds that a trial may take.", show_default="no limit")
    ] = None,
    patience: Annotated[float, typer.Option(help="Seconds to wait for a database or server out of reach.")] = 600.0,
    as_json: common.Json = False,
) -> None:
    """Make trials of an experiment until it is over.

    The command gets the arm's name in place of {arm}, with segments the segment's in place of {segment}, and where the
    experiment has items the item in place of {item}. Its last line on standard output is JSON with every metric:
    {"reward": 0.7, "dollars": 0.1}. Leases are renewed while trials run; Ctrl-C gives them back.

    The token of a server is read from the variable BESTMIX_TOKEN.

    Example: [bold]bestmix worker router.db router --exec './trial.sh {arm}' -j 4[/bold]
    """
    from bestmix.cli.opening import open_named
    from bestmix.experiments import Closed
    from bestmix.strategies.drive import drive
    from bestmix.strategies.timing import timed

    with open_named(url, name, patience) as experiment:
        check_trials(experiment, url)
        on_items = experiment.record.items is not None
        work, trials = LeasedTrials(experiment, who), Trials(command, told(experiment), retries, timeout, on_items)
        pull = timed(trials, experiment.problem, experiment.strategy)
        with (
            catch_signals() as caught,
            experiment_bar(experiment) as update,
            ThreadPoolExecutor(jobs) as pool,
            suppress(Closed),  # stopped or deleted meanwhile: what is under way is not wanted any more
        ):
            drive(work, pull, pool, jobs, stopped=lambda: bool(caught), halt=trials.stop, after=[update])
        conclude(work, url, caught, as_json)


def told(experiment: "Experiment | RemoteExperiment") -> "Problem":
    """The problem with what a trial prints: all metrics, but for the time that it takes, which is measured."""
    from bestmix.strategies.timing import without_time

    return without_time(experiment.problem, experiment.strategy)


def conclude(work: "LeasedTrials", url: str, caught: list[int], as_json: bool) -> None:
    """Say what was done, and end with a code that tells how it ended."""
    state = work.experiment.state
    if as_json:
        data = {"told": work.told, "failed": work.failed, "surplus": work.surplus, "state": state.to_dict()}
        typer.echo(json.dumps(data, indent=1))
    else:
        line = f"This worker told {common.trials(work.told)}, {work.failed} failed. {state.name} is {state.status}"
        most = "" if state.unlimited else f" of {state.budget}"
        common.output().print(f"{line}: {state.complete}{most} trials.", markup=False, soft_wrap=True)
        if state.status == "done":
            hint = f"See the answer with: {shlex.join(['bestmix', 'experiment', 'show', url, state.name])}"
            common.messages().print(hint, markup=False, soft_wrap=True)
    if caught:
        raise typer.Exit(128 + caught[0])
    if state.status == "failed":
        common.complain(f"Error: {state.reason}; correct it, then run: bestmix experiment resume.")
        raise typer.Exit(2)
    if state.status == "done" and work.failed:
        _conclude_short(work)


def _conclude_short(work: "LeasedTrials") -> None:
    """Say it where failed trials took of a hard budget of money; nothing was found out if all of them failed."""
    account = work.experiment.account
    if account is None or not account.lost:
        return
    command = "bestmix experiment extend, with a larger amount,"
    common.complain(
        f"The budget ended early: {account}. {work.failed} trials of this worker failed, the last one because: "
        f"{work.reason}. {command} goes on."
    )
    if not work.told:
        raise typer.Exit(2)


class LeasedTrials:
    """Trials of an experiment as work to be driven: each is under a lease, which is renewed while it runs."""

    def __init__(self, experiment: "Experiment | RemoteExperiment", who: str | None = None) -> None:
        self.experiment, self.who = experiment, who
        self.told = self.failed = self.surplus = 0
        self.reason = ""  # of the last failure
        self.over = False
        self._renewed, self._next = time.monotonic(), 0.0

    def next(self, most: int) -> "list[Trial]":
        """Ask for trials, though not again at once when there were none."""
        if not most or time.monotonic() < self._next:
            return []
        given = self.experiment.ask(most, self.who)
        self.over = not given and given.retry_after is None
        if not given and given.retry_after is not None:
            self._next = time.monotonic() + min(max(given.retry_after, SOONEST), LOOK)
        return given

    def arguments(self, trial: "Trial") -> tuple[str | int, ...]:
        """Its arm, with segments its segment, and with items its item."""
        return tuple(place for place in (trial.arm, trial.segment, trial.item) if place is not None)

    def tell(self, results: "Sequence[tuple[Trial, Result]]") -> None:
        """Tell results, all in one transaction."""
        outcomes = self.experiment.tell_many([(trial, *result) for trial, result in results])
        self._next = 0.0  # there may be new trials now: the last results of a round plan the next one
        self.told += len(outcomes)
        self.surplus += [outcome.value for outcome in outcomes].count("surplus")

    def fail(self, trial: "Trial", error: BaseException) -> None:
        """Report a trial that failed at every attempt; any other error ends the worker."""
        if not isinstance(error, TrialFailed):
            self.give_back([trial])
            raise error
        from bestmix.checks import visible

        self.failed += 1
        written = visible(error.written[-500:], keep="\n\r\t")  # a byte such as 0 cannot be stored
        self.reason = f"{error}: {written}"
        self.experiment.tell_failed(trial, self.reason)

    def keep(self, trials: "Sequence[Trial]") -> None:
        """Renew leases well before they run out."""
        from bestmix.experiments import Closed

        now = time.monotonic()
        if not trials or now - self._renewed < self.experiment.record.lease / 3:
            return
        self._renewed = now
        for trial in trials:
            try:
                self.experiment.renew(trial)
            except Closed:
                if self.experiment.done:
                    raise

    def give_back(self, trials: "Sequence[Trial]") -> None:
        """Let others have them at once."""
        from bestmix.experiments import Closed

        with suppress(Closed):
            self.experiment.give_back(*trials)


@contextmanager
def experiment_bar(experiment: "Experiment | RemoteExperiment") -> Iterator[Callable[[], None]]:
    """A bar of the whole experiment, where there is a terminal; the function brings it up to date now and then."""
    console, looked = common.messages(), 0.0
    name, first = experiment.record.name, experiment.state
    most = None if first.unlimited else first.budget
    with progress.bar(name, most, "trials", console.is_terminal, console=console) as bar:

        def update() -> None:
            nonlocal looked
            if console.is_terminal and time.monotonic() - looked >= LOOK:
                looked = time.monotonic()
                state = experiment.state
                bar.update(state.complete, total=None if state.unlimited else state.budget)

        yield update
