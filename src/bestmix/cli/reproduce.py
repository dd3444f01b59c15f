"""``bestmix reproduce``: the paper's figures from scratch, and those that go beyond it."""

import json
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from bestmix.cli import common
from bestmix.cli.sweep import kept_in

if TYPE_CHECKING:
    from bestmix.reproduction import Made


class Name(StrEnum):
    """Figures that can be asked for."""

    A = "A"
    H = "H"
    D = "D"
    score = "score"
    failure = "failure"
    calibration = "calibration"
    deploy = "deploy"
    rivals = "rivals"
    beyond = "beyond"
    all = "all"


DOING = {
    "score": "intersection value scores of five arms",
    "A": "SFSR, SFSR-L and USLP on A1 to A3",
    "H": "SFSR, SFSR-L and USLP on H1 to H3",
    "D": "SFSR, SFSR-L and USLP on the six D instances",
    "failure": "a run of SFSR-L on H2 that loses an arm of the best mix",
}
MORE = {
    "calibration": "claimed chances that the support is right against true ones, on D, A and H",
    "deploy": "claimed chances that the limits are kept, and that the support is right, against true ones",
    "rivals": "published algorithms beside those of this package, with a budget and until sure",
    "beyond": "Challenger beside SFSR, SFSR-L and USLP on D, A, H and random instances; this takes an hour or more",
}


def reproduce(
    figure: Annotated[
        Name, typer.Option(case_sensitive=False, help="Which figure; all: those of the paper.")
    ] = Name.all,
    folder: Annotated[Path, typer.Option("--output", help="Folder for the results.")] = Path("reproduction"),
    runs: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Runs of each cell.",
            show_default="10000; D 5000; calibration 2000; deploy 40; rivals 500; beyond 5000",
        ),
    ] = None,
    instances: Annotated[
        int | None,
        typer.Option(
            min=1, help="Random instances of each family, for beyond and rivals.", show_default="100; rivals 2"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all runs.")] = 0,
    threads: common.Threads = None,
    as_json: common.Json = False,
) -> None:
    """Make the paper's figures anew: PNG, SVG, the data as CSV, and a caption.

    D has the means of the paper's table. A and H were designed for this package, because the paper does not print the
    means of its own. Ctrl-C loses nothing that is finished: the same command goes on.

    Four figures are made only when asked for. calibration, three minutes of one core: how true the claimed chances of
    a right support are. deploy, two minutes of one core: how true those of kept limits are. rivals, an hour or so:
    published algorithms beside those of this package. beyond, an hour or more: Challenger beside the paper's
    algorithms, error curves, the trials that each needs for 10% and 1% error, and the same on random instances.

    Example: [bold]bestmix reproduce --figure D --output reproduction[/bold]
    """
    began = time.perf_counter()
    console = common.messages() if as_json else common.output()
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--output: expected a folder, got the file {folder}; choose another name")
    if instances is not None and figure not in (Name.beyond, Name.rivals):
        raise ValueError(f"--instances: expected --figure beyond or rivals with it, got {figure.value}; leave it out")
    from bestmix import plots

    with plots.style():  # tells of a missing Matplotlib before the work
        pass
    made = []
    with kept_in(folder):
        for name in DOING if figure is Name.all else [figure.value]:
            made.append(make(name, folder, runs, seed, instances, threads, console))
    total = time.perf_counter() - began
    if as_json:
        shown = [{**vars(one), "files": [str(path) for path in one.files]} for one in made]
        typer.echo(json.dumps({"figures": shown, "seconds": total}, indent=1, allow_nan=False))
        return
    console.print(f"Done in {total:.0f} s. Saved in {folder}:", style="green", markup=False)
    for one in made:
        console.print("  " + "  ".join(path.name for path in one.files), markup=False)


def make(
    name: str, folder: Path, runs: int | None, seed: int, instances: int | None, threads: int | None, console: Console
) -> "Made":
    """One figure, with a line before it and what it shows after it."""
    from bestmix import reproduction

    count = runs or reproduction.RUNS.get(name)
    console.print(
        f"{name}: {(DOING | MORE)[name]}{f', {count:,} runs a cell' if name in reproduction.RUNS else ''}",
        style="bold",
        markup=False,
    )
    shown = common.messages().is_terminal
    with common.progress_aside():
        one = reproduction.reproduce(name, folder, runs, seed, instances=instances, threads=threads, progress=shown)
    if one.table:
        console.print(one.table, markup=False, soft_wrap=True)
    console.print(f"  {one.seconds:.1f} s. {one.caption}\n", markup=False)
    return one
