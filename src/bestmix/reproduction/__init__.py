"""Figures that anyone can make anew: the paper's experiments, and what goes beyond them.

Each comes with its data and a caption. Simulated runs that are finished are kept in the output folder.
"""

import os
import time
from dataclasses import dataclass
from pathlib import Path

from bestmix import checks, files, plots
from bestmix.reproduction.beyond import draw_beyond
from bestmix.reproduction.calibration import draw_calibration
from bestmix.reproduction.deploy import draw_deploy
from bestmix.reproduction.outcome import Drawing
from bestmix.reproduction.paper import (
    GROUPS,
    RUNS,
    Failure,
    draw_errors,
    draw_failure,
    draw_scores,
    error_curves,
    find_failure,
    five_arms,
)
from bestmix.reproduction.rivals import draw_rivals

__all__ = [
    "BEYOND",
    "FIGURES",
    "GROUPS",
    "RUNS",
    "Failure",
    "Made",
    "error_curves",
    "find_failure",
    "five_arms",
    "reproduce",
]

FIGURES = ("score", "A", "H", "D", "failure")  # of the paper: a minute or two in all
BEYOND = ("calibration", "deploy", "rivals", "beyond")  # of Challenger, which is not the paper's: minutes, and hours


@dataclass(frozen=True)
class Made:
    """A figure that was made: its files, what it shows, how long it took, and a table in words if it has one."""

    name: str
    caption: str
    files: tuple[Path, ...]
    seconds: float
    table: str = ""


def reproduce(
    name: str,
    folder: str | os.PathLike[str] = "reproduction",
    runs: int | None = None,
    seed: int = 0,
    *,
    instances: int | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> Made:
    """Make one of the figures: PNG, SVG, the data as CSV, and the caption as text.

    Parameters
    ----------
    name
        One of ``FIGURES``, which are the paper's, or of ``BEYOND``: ``"calibration"`` takes minutes,
        ``"beyond"`` hours.
    folder
        Where the files go. Finished runs are kept there too, so that a second call does not repeat them.
    runs, seed
        Runs of each cell; by default as many as in the paper, and for ``BEYOND`` as its captions say.
    instances
        Random instances of each family of ``"beyond"`` and ``"rivals"``; by default as its caption says.
    threads
        How many; all cores by default.
    progress
        Show a progress bar.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in reproduce("score", folder).files]
    ['score.png', 'score.svg', 'score.csv', 'score.txt']
    """
    checks.choice("figure", name, [*FIGURES, *BEYOND])
    if runs is not None:
        runs = checks.whole("runs", runs, 1, "give the number of runs of each cell")
    if instances is not None:
        instances = checks.whole("instances", instances, 1, "give the random instances of each family")
    began = time.perf_counter()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if name in GROUPS:
        drawn = draw_errors(name, folder, runs, seed, threads, progress)
    elif name == "calibration":
        drawn = draw_calibration(folder, runs, seed, threads, progress)
    elif name == "deploy":
        drawn = draw_deploy(folder, runs, seed, threads, progress)
    elif name == "rivals":
        drawn = draw_rivals(folder, runs, seed, instances, threads, progress)
    elif name == "beyond":
        drawn = draw_beyond(folder, runs, seed, instances, threads, progress)
    else:
        drawn = draw_scores() if name == "score" else draw_failure(seed)
    return Made(name, drawn.caption, _write(name, drawn, folder), time.perf_counter() - began, drawn.table)


def _write(name: str, drawn: Drawing, folder: Path) -> tuple[Path, ...]:
    saved = [
        plots.save(figure, folder / f"{stem}.{suffix}")
        for stem, figure in drawn.figures.items()
        for suffix in ("png", "svg")
    ]
    for written, text in {**drawn.texts, f"{name}.txt": drawn.caption + "\n"}.items():
        files.write_text(folder / written, text)
        saved.append(folder / written)
    return tuple(saved)
