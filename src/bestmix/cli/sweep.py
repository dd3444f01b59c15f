"""``bestmix sweep``: strategies on instances over budgets, here or on a cluster, resumable."""

import json
import math
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import typer
from rich.table import Table
from rich.text import Text

from bestmix.cli import common

if TYPE_CHECKING:
    from bestmix.cli.grid import Grid
    from bestmix.simulation import CellResult, SweepResult

PATIENCE = 5  # seconds to wait for a scheduler
TABLES = (".csv", ".json", ".parquet")


def sweep(
    grid: Annotated[
        Path,
        typer.Argument(metavar="GRID", help="Instances, strategies, budgets (.toml or .json).", show_default=False),
    ],
    folder: Annotated[
        Path | None, typer.Option("--output", help="Where finished work is kept.", show_default="GRID.sweep")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(min=1, help="Runs of each cell.", show_default="the grid's, or 5000")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Of all runs.", show_default="the grid's, or 0")] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A Dask scheduler: tcp://host:8786.", show_default=False)
    ] = None,
    arriving: common.Arriving = False,
    threads: common.Threads = None,
    table: Annotated[
        Path | None,
        typer.Option("--table", "--csv", help="Save the table (.csv, .json or .parquet).", show_default=False),
    ] = None,
    figure: common.Figure = None,
    as_json: common.Json = False,
) -> None:
    """Simulate strategies on instances over budgets, many times each.

    GRID lists instances (names from the catalog, or files), strategies (challenger, sfsr, sfsr-l, uniform, single, or
    module:object next to GRID), budgets, runs, seed, and with segments whether users arrive (arriving = true). Ctrl-C
    loses nothing that is finished: the same command goes on, and more budgets or runs compute only what is new. With
    --cluster the workers must be able to import your modules too.

    Example: [bold]bestmix sweep grid.toml --figure errors.png --table errors.csv[/bold]
    """
    from bestmix.cli.grid import read_grid

    common.Outputs(figure).check()
    check_table(table)
    folder = folder or grid.with_suffix(".sweep")
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--output: expected a folder, got the file {folder}; choose another name")
    asked = read_grid(grid, runs, seed, arriving)
    with kept_in(folder), connected(cluster) as executor:
        try_each(asked)
        count = f"{asked.cells} cell{'' if asked.cells == 1 else 's'} of {asked.runs:,} runs"
        common.messages().print(f"{count}; finished work is kept in {folder}.", markup=False, soft_wrap=True)
        result = compute(asked, folder, executor, threads)
    saved = save(result, table)
    if figure:
        saved.append(draw(result, asked, figure))
    conclude(result, saved, as_json, {"output": str(folder)})


def check_table(path: Path | None) -> None:
    """Complain about a table's name before the work."""
    if path is None:
        return
    if path.suffix.lower() not in TABLES:
        raise ValueError(f"{path}: expected a table's name to end in {', '.join(TABLES)}; rename it")
    if path.suffix.lower() == ".parquet" and find_spec("pyarrow") is None:
        raise RuntimeError(f"{path}: Parquet needs pyarrow, which is not installed; install bestmix[frames]")
    if path.is_dir():
        raise ValueError(f"{path}: expected the name of a file, got a folder; add a name")
    path.parent.mkdir(parents=True, exist_ok=True)


def try_each(grid: "Grid") -> None:
    """One run of each strategy: compiles what is not compiled yet, and shows faults in users' own code."""
    from bestmix.simulation.sweep import try_out

    name, instance = next(iter(grid.instances.items()))
    budget = min(grid.budgets[name])
    with common.loading(common.messages()):
        for written, strategy in grid.strategies.items():
            try:
                try_out(instance, strategy, budget, grid.runs * grid.cells, grid.arriving)
            except Exception as error:  # a user's own code may raise anything
                if written not in grid.own:
                    raise
                what = " ".join(f"{type(error).__name__}: {error}".split())
                raise ValueError(f"{written} failed in a first run on {name}: {what[:300]}; correct it") from None


@contextmanager
def kept_in(folder: Path) -> Iterator[None]:
    """Ctrl-C as a sentence that says how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        common.complain(f"Stopped; finished work is kept in {folder}, and the same command goes on from there.")
        raise typer.Exit(common.INTERRUPTED) from None


@contextmanager
def connected(address: str | None) -> Iterator[Executor | None]:
    """The executor of a Dask cluster; None without an address."""
    if address is None:
        yield None
        return
    if find_spec("distributed") is None:
        raise RuntimeError("--cluster: needs the package distributed, which is not installed; install bestmix[dask]")
    knock(address)
    from distributed import Client

    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, TypeError) as error:
        raise _unanswered(address, error) from None
    with client:
        workers = len(client.scheduler_info()["workers"])
        count = f"{workers} worker{'' if workers == 1 else 's'}{'' if workers else '; waiting for one'}"
        common.messages().print(f"The cluster at {address} has {count}.", markup=False)
        yield client.get_executor()  # type: ignore[no-untyped-call]


def knock(address: str) -> None:
    """Find out whether a scheduler listens there, before a client tries for much longer."""
    try:
        parts = urlsplit(address if "://" in address else f"tcp://{address}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or not port:
        raise ValueError(f"--cluster: expected an address such as tcp://host:8786, got {address!r}; write it so")
    try:
        with socket.create_connection((host, port), timeout=PATIENCE) as line:
            said = line.recv(8, socket.MSG_WAITALL) if parts.scheme == "tcp" else b""
    except OSError as error:
        raise _unanswered(address, error) from None
    # A scheduler speaks first, and begins with the small length of its message. Anything else that
    # listens there would keep a client waiting for ever.
    if int.from_bytes(said, sys.byteorder) > 2**24 or (parts.scheme == "tcp" and not said):
        raise _unanswered(address, ValueError("something else listens there"))


def _unanswered(address: str, error: Exception) -> RuntimeError:
    reason = " ".join(str(error).split())[:120]
    return RuntimeError(
        f"--cluster: no scheduler answered at {address} within {PATIENCE} seconds ({reason}); check the address, or "
        "start one with: dask scheduler"
    )


def compute(grid: "Grid", folder: Path | None, executor: Executor | None, threads: int | None) -> "SweepResult":
    """The sweep, with a bar on standard error where that is a terminal."""
    from bestmix import simulation

    shown = common.messages().is_terminal
    recipes = list(grid.strategies.values())
    options: dict[str, Any] = {"output": folder, "threads": threads, "progress": shown, "arriving": grid.arriving}
    with common.progress_aside():
        try:
            return simulation.sweep(
                grid.instances, recipes, grid.budgets, grid.runs, grid.seed, executor=executor, **options
            )
        except ImportError as error:
            raise RuntimeError(
                f"--cluster: a worker cannot import what it was sent ({error}); put bestmix and your own modules on "
                "the workers' path"
            ) from None


def save(result: "SweepResult", table: Path | None) -> list[Path]:
    """Write the table, if it is wanted."""
    if table is None:
        return []
    result.save(table)
    return [table]


def draw(result: "SweepResult", grid: "Grid", path: Path) -> Path:
    """Error curves of all instances, with their arms where every one has a single cost."""
    from bestmix import plots

    plane = all(instance.plain and len(instance.costs) == 1 for instance in grid.instances.values())
    return plots.save(plots.sweep_figure(result, grid.instances if plane else None), path)


def conclude(
    result: "SweepResult",
    saved: list[Path],
    as_json: bool,
    more: dict[str, Any],
    by: common.Measure = common.Measure.error,
) -> None:
    """Print the table, or everything as JSON."""
    if as_json:
        from bestmix.answers.recommendation import finite

        data = {"rows": [finite(row) for row in result.rows()], **more, "files": [str(path) for path in saved]}
        typer.echo(json.dumps(data, indent=1, allow_nan=False))
        return
    console = common.output()
    for name in dict.fromkeys(cell.instance for cell in result):
        console.print(measure_table(result, name, by))
    for path in saved:
        console.print(f"Saved {path}", markup=False, soft_wrap=True)


STOPPED = 0.9  # of the budget: where fewer trials were made on average, tables say how many
MEASURES = {
    common.Measure.error: "wrong answers in %",
    common.Measure.kept: "mixes that keep all limits in %",
    common.Measure.loss: "mean loss",
}


def measure_table(result: "SweepResult", instance: str, by: common.Measure = common.Measure.error) -> Table:
    """Budgets downwards, strategies across; the best of each budget in bold."""
    cells = [cell for cell in result if cell.instance == instance]
    strategies = list(dict.fromkeys(cell.strategy for cell in cells))
    more = ", and the mean loss" if by is common.Measure.error else ""
    title = f"{instance}: {MEASURES[by]} of {cells[0].runs:,} runs (95% interval){more}"
    table = Table(title=Text(title), title_justify="left", title_style="bold")
    table.add_column("budget", justify="right")
    for name in strategies:
        table.add_column(Text(name), justify="right", overflow="fold")
    for budget in dict.fromkeys(cell.budget for cell in cells):
        row = [next(c for c in cells if (c.strategy, c.budget) == (name, budget)) for name in strategies]
        values = [c.measured(by.value)[0] for c in row]
        best = max(values) if by is common.Measure.kept else min(values)
        table.add_row(
            f"{budget:,}", *(_entry(c, by, len(row) > 1 and v == best) for c, v in zip(row, values, strict=True))
        )
    return table


def _entry(cell: "CellResult", by: common.Measure, best: bool) -> Text:
    value, (low, high) = cell.measured(by.value)
    if by is common.Measure.loss:
        text = f"{value:.4g} ({low:.4g}–{high:.4g})"
    else:
        text = f"{100 * value:.2f} ({100 * low:.2f}–{100 * high:.2f})"
    if cell.mean_pulls < STOPPED * cell.budget:
        text += f", {cell.mean_pulls:,.0f} trials"
    if by is common.Measure.error and math.isfinite(cell.loss):
        text += f"\nloss {cell.loss:.3g}"  # near-ties are often told wrong, and next to nothing is lost
    return Text(text, style="bold cyan" if best else "")
