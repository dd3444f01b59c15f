"""Live traffic from the shell: options of ``experiment create``, its weights, and sums that are told."""

import json
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from bestmix.cli import common
from bestmix.cli.opening import Name, Url, open_named

if TYPE_CHECKING:
    from bestmix.client import RemoteExperiment
    from bestmix.experiments import Experiment
    from bestmix.experiments.traffic_model import TrafficState
    from bestmix.problems.problem import Problem
    from bestmix.problems.spend import Spend
    from bestmix.strategies import Strategy
    from bestmix.strategies.traffic import Traffic

Explore = Annotated[
    str | None,
    typer.Option(
        help="Live traffic in place of a budget: the share that explores.", metavar="SHARE", show_default=False
    ),
]
Serve = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ARM[=SHARE]", help="With --explore: what is served before anything is known.", show_default="all alike"
    ),
]
RoundRequests = Annotated[
    int | None, typer.Option(min=1, help="With --explore: requests that end a round.", show_default="10000")
]
RoundSeconds = Annotated[float | None, typer.Option(help="With --explore: time that ends a round.", show_default="600")]
Carry = Annotated[bool, typer.Option("--carry", help="With --explore: what rounds leave of a limit pays for margins.")]


def settings(
    explore: str | None, serve: list[str] | None, requests: int | None, seconds: float | None, carry: bool
) -> "Traffic | None":
    """What the options say; None where they say nothing.

    >>> settings("5%", ["small=0.9", "large=0.1"], None, 60.0, False)
    Traffic(explore='5%', safety=0.999, requests=10000, seconds=60.0, serve={'small': 0.9, 'large': 0.1}, carry=False)
    """
    if explore is None:
        if serve or requests is not None or seconds is not None or carry:
            raise ValueError("--explore: expected with --serve, --round-requests, --round-seconds and --carry; give it")
        return None
    from bestmix.strategies.traffic import Traffic

    given: dict[str, Any] = {"requests": requests, "seconds": seconds, "serve": _served(serve)}
    return Traffic(explore, carry=carry, **{name: value for name, value in given.items() if value is not None})


def in_place_of(
    live: "Traffic | None", budget: "int | Spend | None", strategy: "Strategy"
) -> "tuple[int | Spend, Strategy]":
    """Budget and strategy of a new experiment, which live traffic takes the place of."""
    if live is None:
        if budget is None:
            raise ValueError("--budget: a new experiment needs one; give the most trials to make, or --explore")
        return budget, strategy
    from bestmix.strategies.challenger import Challenger
    from bestmix.strategies.protocol import MOST_TRIALS

    if budget is not None or strategy != Challenger():
        raise ValueError("--explore: live traffic takes the place of budget and strategy; leave these out")
    return MOST_TRIALS, live


def _served(serve: list[str] | None) -> str | dict[str, float] | None:
    if not serve or (len(serve) == 1 and "=" not in serve[0]):
        return serve[0] if serve else None
    return common.parse_bounds(serve, "--serve", "small=0.9")


def weights(
    url: Url,
    name: Name,
    segment: Annotated[str | None, typer.Option(help="Only those of this segment.", show_default=False)] = None,
    as_json: common.Json = False,
) -> None:
    """Show what the requests of live traffic follow now.

    Example: [bold]bestmix experiment weights router.db live[/bold]
    """
    show_weights(open_named(url, name), segment, as_json)


def show_weights(experiment: "Experiment | RemoteExperiment", segment: str | None, as_json: bool) -> None:
    """Print what requests follow now."""
    found = experiment.published()
    if segment is not None:
        experiment.problem.check_segment(segment)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=1))
        return
    table = Table()
    arms = list(dict.fromkeys(arm for shares in found.segments.values() for arm in shares))
    for head in ([""] if "" in found.segments else ["segment"]) + arms:
        table.add_column(Text(head))
    for name, shares in found.segments.items():
        if segment in (None, name):
            table.add_row(*map(Text, [name, *(f"{100 * shares.get(arm, 0.0):.2f}%" for arm in arms)]))
    common.output().print(table)
    line = f"Version {found.version}, {found.status}, {100 * found.explore:.3g}% explores"
    line += f", until {found.valid_until:%F %T} UTC at the latest."
    common.output().print(Text(line), soft_wrap=True)
    if found.alarm:
        common.output().print(Text(f"Alarm: {found.alarm}.", style="bold red"), soft_wrap=True)


def is_live(experiment: "Experiment | RemoteExperiment") -> bool:
    """Whether it is one on live traffic."""
    return experiment.record.strategy.get("kind") == "Traffic"


def check_trials(experiment: "Experiment | RemoteExperiment", url: str) -> None:
    """Refuse what is done with single trials, which live traffic has none of, in the words of the shell."""
    if is_live(experiment):
        raise ValueError(no_trials(experiment, url))


def no_trials(experiment: "Experiment | RemoteExperiment", url: str) -> str:
    """Why live traffic has no single trials, and what it has."""
    words = shlex.join([url, experiment.record.name])
    return (
        f"{experiment.record.name} is on live traffic: its requests are the trials, and only their sums are kept; "
        f"see bestmix experiment weights {words}, and report with bestmix.Edge or bestmix experiment tell-sums"
    )


def show_served(problem: "Problem", state: "TrafficState") -> None:
    """Print what limits are about on average over all requests so far, beside the limits."""
    for cost, limit in zip(problem.costs, problem.limits, strict=True):
        mean = state.means.get(cost)
        if mean is not None:
            where = "" if limit.segment is None else f" in {limit.segment}"
            line = f"All requests so far: mean {limit.quantity}{where} {mean:.4g}, limit {limit}."
            common.output().print(Text(line), soft_wrap=True)


def tell_sums(
    url: Url,
    name: Name,
    key: Annotated[str, typer.Option(help="Who reports, and the number of the report: web-1:12.", show_default=False)],
    file: Annotated[str, typer.Option(help="Rows as lines of JSON; - is standard input.")] = "-",
    as_json: common.Json = False,
) -> None:
    """Report requests of live traffic as sums; a report is counted once, however often it is sent.

    A line is {"version": 3, "arm": "small", "n": 2, "sums": {"quality": 1.0}, "products": {"quality*quality": 1.0}},
    with the segment where there are any.

    Example: [bold]bestmix experiment tell-sums router.db live --key web-1:12 --file sums.jsonl[/bold]
    """
    outcome = open_named(url, name).tell_sums(read_rows(file), key)
    typer.echo(json.dumps(outcome.value) if as_json else outcome.value)


def read_rows(file: str) -> list[dict[str, Any]]:
    """Rows of a report from lines of JSON."""
    from bestmix import checks
    from bestmix.files import Repeated, loads

    text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            rows.append(dict(loads(line)))
        except Repeated as error:
            raise ValueError(f"--file: in line {number} {error}") from None
        except (ValueError, TypeError, RecursionError):
            raise ValueError(f"--file: expected a row in line {number}, got {checks.shown(line)}; write JSON") from None
    return rows
