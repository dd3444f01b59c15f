"""``bestmix worker``: makes trials of an experiment; any number of them, on any number of machines."""

import json
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bestmix.cli import common
from bestmix.cli.process import Result, TrialFailed, Trials
from bestmix.cli.run import POLL, catch_signals

if TYPE_CHECKING:
    from bestmix.client import RemoteExperiment
    from bestmix.experiments import Experiment, Handout, Trial

LOOK = 1.0  # seconds between two looks at the experiment's figures, and at most between two asks


def worker(
    url: Annotated[
        str, typer.Argument(metavar="URL", help="Its database, or http://... of a server.", show_default=False)
    ],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The experiment's name.", show_default=False)],
    command: Annotated[
        str, typer.Option("--exec", metavar="COMMAND", help="Makes one trial of {arm}.", show_default=False)
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

    The command gets the arm's name in place of {arm}. Its last line on standard output is JSON:
    {"reward": 0.7, "costs": {"dollars": 0.1}}. Leases are renewed while trials run; Ctrl-C gives them back.

    The token of a server is read from the variable BESTMIX_TOKEN.

    Example: [bold]bestmix worker router.db router --exec './trial.sh {arm}' -j 4[/bold]
    """
    from bestmix.cli.experiment import open_named
    from bestmix.experiments import Experiment

    with open_named(url, name, patience) as experiment:
        if isinstance(experiment, Experiment):  # a server does the arithmetic itself
            common.warm_up(experiment.strategy, common.messages())
        crew = Crew(experiment, Trials(command, experiment.problem, retries, timeout), jobs, who, url)
        with catch_signals() as caught, crew.bar():
            crew.work(caught)
        conclude(crew, caught, as_json)


def conclude(crew: "Crew", caught: list[int], as_json: bool) -> None:
    """Say what was done, and end with a code that tells how it ended."""
    state = crew.experiment.state
    if as_json:
        data = {"told": crew.told, "failed": crew.failed, "surplus": crew.surplus, "state": state.to_dict()}
        typer.echo(json.dumps(data, indent=1))
    else:
        line = f"This worker told {crew.told} trials, {crew.failed} failed. {state.name} is {state.status}"
        common.output().print(f"{line}: {state.complete} of {state.budget} trials.", markup=False, soft_wrap=True)
        if state.status == "done":
            hint = f"See the answer with: bestmix experiment show {crew.url} {state.name}"
            common.messages().print(hint, markup=False, soft_wrap=True)
    if caught:
        raise typer.Exit(128 + caught[0])
    if state.status == "failed":
        common.complain(f"Error: {state.reason}; mend it, then run: bestmix experiment resume.")
        raise typer.Exit(2)


@dataclass
class Crew:
    """Trials under way, each in a thread that waits for its process."""

    experiment: "Experiment | RemoteExperiment"
    trials: Trials
    jobs: int
    who: str | None = None
    url: str = ""
    told: int = 0
    failed: int = 0
    surplus: int = 0
    _renewed: float = field(default_factory=time.monotonic)
    _looked: float = 0.0
    _next: float = 0.0
    _progress: Progress | None = None

    def bar(self) -> Progress:
        """A bar of the whole experiment, where there is a terminal."""
        console = common.messages()
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
        self._progress = Progress(*columns, console=console, disable=not console.is_terminal)
        self._progress.add_task(self.experiment.record.name, total=self.experiment.state.budget)
        return self._progress

    def work(self, caught: list[int]) -> None:
        """Go on until there is nothing more to do, or a signal was caught."""
        from bestmix.experiments import Closed

        flying: dict[Future[Result], Trial] = {}
        with ThreadPoolExecutor(self.jobs) as pool:
            try:
                while not caught:
                    over = self._fill(pool, flying)
                    if over and not flying:
                        return
                    self._settle(flying, POLL)
                    self._keep(list(flying.values()))
            except Closed:
                pass  # stopped or deleted meanwhile: what is under way is not wanted any more
            finally:
                self.trials.stop()
                wait(flying)
                self._give_back(flying)

    def _fill(self, pool: ThreadPoolExecutor, flying: "dict[Future[Result], Trial]") -> bool:
        """Ask for as many trials as there are hands free; whether there will be no more."""
        free = self.jobs - len(flying)
        if not free or time.monotonic() < self._next:
            return False
        given: Handout = self.experiment.ask(free, self.who)
        for trial in given:
            flying[pool.submit(self.trials, trial.arm)] = trial
        if not given and given.retry_after is not None:
            self._next = time.monotonic() + min(max(given.retry_after, POLL), LOOK)
        return not given and given.retry_after is None

    def _settle(self, flying: "dict[Future[Result], Trial]", seconds: float) -> None:
        """Tell what has come in, all in one transaction."""
        if not flying:
            time.sleep(seconds)
            return
        done = wait(flying, seconds, FIRST_COMPLETED).done
        self._tell(flying, [future for future in done if future.exception() is None])
        for future in done:
            error = future.exception()
            if isinstance(error, TrialFailed):
                self.failed += 1
                self.experiment.tell_failed(flying.pop(future), f"{error}: {error.written[-500:]}")
            elif error is not None:
                raise error

    def _tell(self, flying: "dict[Future[Result], Trial]", good: "list[Future[Result]]") -> None:
        """Tell results; those that are told are no longer under way."""
        outcomes = self.experiment.tell_many([(flying[future], *future.result()) for future in good])
        for future in good:
            del flying[future]
        self.told += len(outcomes)
        self.surplus += outcomes.count("surplus")  # type: ignore[arg-type]

    def _keep(self, trials: "list[Trial]") -> None:
        """Renew leases well before they run out, and show how far the experiment is."""
        from bestmix.experiments import Closed

        now = time.monotonic()
        if trials and now - self._renewed >= self.experiment.record.lease / 3:
            self._renewed = now
            for trial in trials:
                try:
                    self.experiment.renew(trial)
                except Closed:
                    if self.experiment.done:
                        raise
        if self._progress is not None and not self._progress.disable and now - self._looked >= LOOK:
            self._looked = now
            state = self.experiment.state
            self._progress.update(self._progress.task_ids[0], completed=state.complete, total=state.budget)

    def _give_back(self, flying: "dict[Future[Result], Trial]") -> None:
        """Tell what finished after all; the rest may be handed to others at once."""
        from bestmix.experiments import Closed

        try:
            self._tell(flying, [future for future in flying if future.exception() is None])
            self.experiment.give_back(*flying.values())
        except Closed:
            pass
