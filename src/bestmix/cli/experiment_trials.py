"""``bestmix experiment``: its trials from the shell, taken, told, listed and written to files."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from bestmix.cli import common
from bestmix.cli.experiment_state import show_state
from bestmix.cli.opening import Name, Reason, Url, open_named
from bestmix.cli.traffic import check_trials, is_live, no_trials

NOTHING_NOW, NOTHING_MORE = 1, 3  # exit codes of ask

TrialId = Annotated[str, typer.Argument(metavar="TRIAL", help="The trial's id, from ask.", show_default=False)]
TrialState = Annotated[str | None, typer.Option("--state", help="Only trials in this state.", show_default="all")]


def ask(
    url: Url,
    name: Name,
    n: Annotated[int, typer.Option("-n", min=1, help="The most trials to hand out.")] = 1,
    worker: Annotated[str | None, typer.Option(help="Who asks.", show_default="machine and process")] = None,
    key: Annotated[str | None, typer.Option(help="Asking again with it gets the same trials.")] = None,
    segment: Annotated[
        str | None,
        typer.Option(help="Where users arrive: the segment of the one that the trial is for.", show_default=False),
    ] = None,
    as_json: common.Json = False,
) -> None:
    """Take trials under a lease: a line for each, with id, arm and, where there are any, segment and item, after tabs.

    Exit code 1 means that there is none just now, 3 that there will be no more.

    Example: [bold]bestmix experiment ask router.db router -n 4[/bold]
    """
    experiment = open_named(url, name)
    check_trials(experiment, url)
    given = experiment.ask(n, worker, key, segment)
    if as_json:
        data = {"trials": [t.to_dict() for t in given], "retry_after": given.retry_after, "why": given.why}
        typer.echo(json.dumps(data, indent=1))
    else:
        from bestmix.checks import visible

        for trial in given:
            places = trial.id, trial.arm, trial.segment, trial.item
            typer.echo("\t".join(visible(str(place), "") for place in places if place is not None))
    if not given:
        if not as_json:
            when = "" if given.retry_after is None else f"; ask again in {given.retry_after:.1f} s"
            common.messages().print(f"No trial: {given.why}{when}.", markup=False)
        raise typer.Exit(NOTHING_MORE if given.retry_after is None else NOTHING_NOW)


def tell(
    url: Url,
    name: Name,
    trial: Annotated[str | None, typer.Argument(metavar="TRIAL", help="The trial's id.", show_default=False)] = None,
    reward: Annotated[float | None, typer.Option(help="Its reward.", show_default=False)] = None,
    cost: Annotated[list[str] | None, typer.Option(metavar="NAME=NUMBER", help="A cost; repeat it.")] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=NUMBER", help="Or every metric by name; repeat it.", show_default=False),
    ] = None,
    file: Annotated[str | None, typer.Option(help="Or many, as lines of JSON; - is standard input.")] = None,
    as_json: common.Json = False,
) -> None:
    """Report results; when the command ends well they are safely on disk.

    A line of a file is {"trial": "...", "reward": 0.7, "costs": {"dollars": 0.1}}, or
    {"trial": "...", "metrics": {"quality": 0.7, "dollars": 0.1}}; all lines are taken, or none.

    Example: [bold]bestmix experiment tell router.db router 8c1f0a2b3d4e-17 --reward 0.7 --cost dollars=0.1[/bold]

    Example: [bold]bestmix experiment tell router.db router 8c1f0a2b3d4e-17 --metric quality=0.7[/bold]
    """
    if (trial is None) == (file is None) or (trial is not None and (reward is None) == (not metric)):
        raise ValueError(
            "tell: expected a trial with --reward and its --cost, or with --metric, or --file; give one of them"
        )
    if metric and cost:
        raise ValueError("--cost: expected none beside --metric, got one; write --metric for it")
    results = read_lines(file) if file is not None else [(trial, *result_of(reward, cost, metric))]
    experiment = open_named(url, name)
    check_trials(experiment, url)
    outcomes = experiment.tell_many(results)
    if as_json:
        typer.echo(json.dumps([outcome.value for outcome in outcomes]))
        return
    for outcome in dict.fromkeys(outcomes):
        typer.echo(f"{outcomes.count(outcome)} {outcome.value}")


def result_of(reward: float | None, cost: list[str] | None, metric: list[str] | None) -> tuple[Any, Any]:
    """The reward and the costs, or the metrics, that options give.

    >>> result_of(0.7, ["dollars=0.1"], None), result_of(None, None, ["quality=1"])
    ((0.7, {'dollars': 0.1}), ({'quality': 1.0}, None))
    """
    if metric:
        return common.parse_bounds(metric, "--metric", "quality=1"), None
    return reward, common.parse_bounds(cost or [], "--cost")


def read_lines(file: str) -> list[tuple[Any, Any, Any]]:
    """Results from lines of JSON."""
    from bestmix import checks
    from bestmix.files import Repeated, loads

    text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    results = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            data = loads(line)
            told = (data["metrics"], None) if "metrics" in data else (data["reward"], data.get("costs", {}))
            results.append((data["trial"], *told))
        except Repeated as error:
            raise ValueError(f"--file: in line {number} {error}") from None
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            raise ValueError(
                f"--file: expected JSON with trial, and reward and costs or metrics, in line {number}, "
                f"got {checks.shown(line)}"
            ) from None
    return results


def fail(url: Url, name: Name, trial: TrialId, reason: Reason = "", as_json: common.Json = False) -> None:
    """Report that a trial gave no result, so that it is handed out again.

    Example: [bold]bestmix experiment fail router.db router 8c1f0a2b3d4e-17 --reason 'no network'[/bold]
    """
    experiment = open_named(url, name)
    check_trials(experiment, url)
    experiment.tell_failed(trial, reason)
    show_state(experiment, as_json)


def renew(url: Url, name: Name, trial: TrialId, as_json: common.Json = False) -> None:
    """Start a trial's lease anew.

    Example: [bold]bestmix experiment renew router.db router 8c1f0a2b3d4e-17[/bold]
    """
    experiment = open_named(url, name)
    check_trials(experiment, url)
    renewed = experiment.renew(trial)[0]
    typer.echo(json.dumps(renewed.to_dict(), indent=1) if as_json else f"leased until {renewed.deadline:%F %T} UTC")


def export(
    url: Url,
    name: Name,
    path: Annotated[
        Path | None,
        typer.Argument(metavar="PATH", help="Where to (.csv, .parquet or .json); or as -o.", show_default=False),
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The same as PATH.", show_default=False)] = None,
    state: TrialState = None,
    spreadsheet: Annotated[
        bool, typer.Option("--spreadsheet", help="CSV: keep spreadsheets from taking text for formulas.")
    ] = False,
    as_json: common.Json = False,
) -> None:
    """Write the trials to a .csv or .parquet file, or everything to a .json file.

    Example: [bold]bestmix experiment export router.db router -o trials.csv --state complete[/bold]
    """
    places = [place for place in (path, output) if place is not None]
    if len(places) != 1:
        got = "both" if places else "none"
        raise ValueError(f"--output: expected the name of a file, as PATH or with -o, got {got}; give one")
    saved = open_named(url, name).export(places[0], state, spreadsheet)
    typer.echo(json.dumps({"saved": str(saved)}) if as_json else f"Saved {saved}")


def trials(
    url: Url,
    name: Name,
    state: TrialState = None,
    limit: Annotated[int, typer.Option(min=1, help="At most so many.")] = 50,
    after: Annotated[str | None, typer.Option(help="Those after this trial.", show_default=False)] = None,
    as_json: common.Json = False,
) -> None:
    """List trials in the order in which they were handed out.

    Example: [bold]bestmix experiment trials router.db router --state leased[/bold]
    """
    from bestmix.checks import shown

    experiment = open_named(url, name)
    found = experiment.trials(state, after=after, limit=limit)
    if as_json:
        typer.echo(json.dumps([trial.to_dict() for trial in found], indent=1))
        return
    if is_live(experiment):
        common.output().print(
            f"There are no single trials: {no_trials(experiment, url)}.", markup=False, soft_wrap=True
        )
        return
    segment = ["segment"] if experiment.problem.segments else []
    item = ["item"] if experiment.record.items is not None else []
    table = Table()
    for head in ["id", "arm", *segment, *item, "round", "state", "worker", *experiment.problem.metrics]:
        table.add_column(Text(head))
    for t in found:
        metrics = [] if t.reward is None else [t.reward, *(t.costs or {}).values()]
        where = [*([t.segment or ""] if segment else []), *(["" if t.item is None else shown(t.item)] if item else [])]
        table.add_row(
            *map(Text, [t.id, t.arm, *where, str(t.round), t.state, t.worker, *(f"{m:.4g}" for m in metrics)])
        )
    common.output().print(table)
