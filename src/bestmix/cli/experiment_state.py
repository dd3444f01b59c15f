"""Where an experiment is, as commands print it that look at one or change it."""

import json
from typing import TYPE_CHECKING

import typer
from rich.text import Text

from bestmix.cli import common, traffic

if TYPE_CHECKING:
    from bestmix.client import RemoteExperiment
    from bestmix.experiments import Experiment


def show_state(experiment: "Experiment | RemoteExperiment", as_json: bool, money: bool = True) -> None:
    """Where an experiment is, in a line or as JSON; with what is spent, where its budget is one of money."""
    state = experiment.state
    if as_json:
        typer.echo(json.dumps(state.to_dict(), indent=1))
        return
    parts = [f"{state.complete:,} of {state.budget:,} trials", f"{state.leased:,} leased"]
    if state.unlimited:
        made = f"{state.complete:,} {'requests' if traffic.is_live(experiment) else 'trials'}"
        parts = [made, *([f"{state.leased:,} leased"] if state.leased else [])]
    if money and state.unlimited and not traffic.is_live(experiment) and (account := experiment.account) is not None:
        parts.append(str(account))
    beside = (state.extra, "beside the plan"), (state.surplus, "left out"), (state.discounted, "of the log discounted")
    parts += [f"{n:,} {what}" for n, what in ((state.failed, "failed"), *beside) if n]
    where = f"round {state.round}, " if state.open else ""
    reason = f" ({state.reason})" if state.reason else ""
    line = f"{state.name}: {state.status}{reason}, {where}{', '.join(parts)}."
    common.output().print(Text(line, style="bold"), soft_wrap=True)
    for change in state.changes:
        common.output().print(Text(f"Changed in round {change['round']}: {change['text']}."), soft_wrap=True)
    if state.notes:
        common.output().print(Text(state.notes))
