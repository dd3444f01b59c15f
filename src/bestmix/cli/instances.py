"""``bestmix instances``: the catalog of named instances."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from bestmix.cli import common

if TYPE_CHECKING:
    from bestmix.problems.instance import Instance
    from bestmix.problems.solution import Solution


def instances(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="Show this one arm by arm.", show_default=False)
    ] = None,
    export: Annotated[
        Path | None, typer.Option(help="Save the instance NAME (.toml or .json).", show_default=False)
    ] = None,
    as_json: common.Json = False,
) -> None:
    """List the named instances, each with its best mix; or show one of them, or of the random ones with segments.

    Example: [bold]bestmix instances D2P --export d2p.toml[/bold]
    """
    if export and not name:
        raise ValueError("--export: expected the name of an instance too, got none; write bestmix instances NAME")
    with common.messages().status("Loading ..."):
        from bestmix.problems import catalog
        from bestmix.problems.solution import solve

        listed = [name] if name else [*catalog.names(), *catalog.segment_names()]
        loaded = {key: catalog.load(key) for key in listed}
        solved = {key: solve(instance) for key, instance in loaded.items()}
    if name and export:
        loaded[name].save(export)
    if as_json:
        shown = [_plain(key, loaded[key], solved[key]) for key in loaded]
        typer.echo(json.dumps(shown[0] if name else shown, indent=1, allow_nan=False))
        return
    console = common.output()
    if name:
        console.print(_arms(name, loaded[name], solved[name]))
        console.print(_facts(loaded[name], solved[name]), markup=False)
    else:
        console.print(_catalog(loaded, solved))
    if export:
        console.print(f"Saved {export}", markup=False, soft_wrap=True)
    elif not name:
        console.print("bestmix instances NAME shows one arm by arm.")


def _catalog(loaded: "dict[str, Instance]", solved: "dict[str, Solution]") -> Table:
    table = Table("name", "arms", "costs", "bounds", "best mix", "reward")
    for key, instance in loaded.items():
        sizes = str(len(instance.arms)), str(len(instance.costs))
        table.add_row(key, *sizes, _bounds(instance), _mix(instance, solved[key]), f"{solved[key].value:.4f}")
    return table


def _arms(name: str, instance: "Instance", solution: "Solution") -> Table:
    """One arm a row."""
    heads = [f"mean {measure}" for measure in instance.problem.measures]
    table = Table("arm", "share", *heads, title=f"Instance {name}")
    for column in table.columns[1:]:
        column.justify = "right"
    for arm, row, share in zip(instance.arms, instance.means, solution.mixture, strict=True):
        cells = [f"{share:.1%}" if share > 0 else "-", *(f"{value:g}" for value in row)]
        table.add_row(arm, *cells, style="bold cyan" if share > 0 else "")
    return table


def _facts(instance: "Instance", solution: "Solution") -> str:
    noise = ", ".join(f"{key} {value}" for key, value in instance.noise.to_dict().items())
    known = f"\nKnown arms: the last {instance.known}." if instance.known else ""
    by = f"in {len(instance.problem.segments)} {instance.problem.group}s, as above" if instance.problem.segments else ""
    best = f"Best mix: {by or _mix(instance, solution)}, reward {solution.value:.4f}."
    return f"{best}\nBounds: {_bounds(instance)}.\nNoise: {noise}.{known}"


def _bounds(instance: "Instance") -> str:
    if not instance.plain:
        texts = [f"{c} ≤ {b:g}" if c in instance.problem.metrics else c for c, b in instance.problem.bounds.items()]
        return ", ".join(texts) or "none"
    return ", ".join(f"{c} ≤ {b:g}" for c, b in zip(instance.costs, instance.bound, strict=True)) or "none"


def _mix(instance: "Instance", solution: "Solution") -> str:
    if instance.problem.segments:
        verdict = "" if solution.feasible else "infeasible; least violation in "
        return f"{verdict}{len(instance.problem.segments)} {instance.problem.group}s"
    shares = [(arm, p) for arm, p in zip(instance.arms, solution.mixture, strict=True) if p > 0]
    mix = " + ".join(f"{p:.1%} {arm}" for arm, p in shares) if len(shares) > 1 else shares[0][0]
    return mix if solution.feasible else f"infeasible; least violation {mix}"


def _plain(name: str, instance: "Instance", solution: "Solution") -> dict[str, Any]:
    mixture = {arm: float(p) for arm, p in zip(instance.arms, solution.mixture, strict=True) if p > 0}
    best = {"feasible": solution.feasible, "mixture": mixture, "value": solution.value}
    return {"name": name, "known": instance.known, "best": best, **instance.to_dict()}
