"""``bestmix demo``: the best mix of compression codecs on this machine, from real trials."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from bestmix.cli import codecs, common

if TYPE_CHECKING:
    from bestmix.answers.recommendation import Recommendation
    from bestmix.strategies import Search, Strategy

PILOT = 5  # trials of each codec before the bounds are set


def demo(
    folder: Annotated[Path, typer.Option("--output", help="Folder for the results.")] = Path("demo"),
    budget: Annotated[int, typer.Option(min=1, help="The most trials to make.")] = 600,
    seed: Annotated[int, typer.Option(help="Of the data that each trial compresses.")] = 0,
    strategy: common.Strategies = common.StrategyName.challenger,
    files: Annotated[
        list[Path] | None,
        typer.Option(help="File or folder to compress; repeat it.", show_default="files of this Python"),
    ] = None,
    as_json: common.Json = False,
) -> None:
    """Find the best mix of compression codecs on this machine, with real trials.

    Which mix of zlib, bz2 and lzma saves the most space, while the mean times to compress and to decompress stay
    within bounds?

    Example: [bold]bestmix demo --output demo --budget 600[/bold]
    """
    began = time.monotonic()
    console = common.messages() if as_json else common.output()
    trials = codecs.CodecTrials(codecs.read_corpus(files or []), seed)
    recipe = common.make_strategy(strategy)
    start(recipe, trials, dict.fromkeys(codecs.COSTS, 1.0), budget)  # tells of too small a budget before the work
    folder.mkdir(parents=True, exist_ok=True)
    about = introduce(trials.corpus, console)
    limits = set_bounds(trials, console)
    rec, rows = search(trials, limits.bounds, recipe, budget)
    gain = compare(rec)
    saved = save(folder, rec, rows, [about, limits.rule, gain])
    if as_json:
        paths = {path.name: str(path) for path in saved}
        data = {"recommendation": rec.to_dict(), "rule": limits.rule, "comparison": gain, "files": paths}
        typer.echo(json.dumps(data, indent=1, allow_nan=False))
        return
    console.print()
    common.show(rec, console)
    console.print(gain, style="bold", markup=False)
    console.print(f"\nDone in {time.monotonic() - began:.0f} s.", style="green")
    show_next(folder, saved, limits.bounds, console)


def introduce(corpus: codecs.Corpus, console: Console) -> str:
    """Say what is about to happen."""
    about = (
        f"Each trial compresses and decompresses a block of {codecs.BLOCK // 1024} KB, taken from random places of "
        f"{corpus.files:,} files ({len(corpus.data) / 1e6:.0f} MB) of {corpus.place}. The reward is the share of space "
        "saved; the costs are milliseconds per MB to compress and to decompress."
    )
    console.print("Which mix of codecs saves the most space, within limits on time?", style="bold")
    console.print(about, markup=False)
    return about


def show_next(folder: Path, saved: list[Path], bounds: dict[str, float], console: Console) -> None:
    """Say where the results are and what to do with them."""
    console.print(f"Saved in {folder}: {', '.join(path.name for path in saved)}.", markup=False)
    console.print(f"Open {folder / 'report.html'} in a browser, or ask the same trials another question:", markup=False)
    tighter = " ".join(f"--bound {cost}={two_digits(0.7 * bound):g}" for cost, bound in bounds.items())
    console.print(f"  bestmix solve {folder / 'trials.csv'} --reward saved {tighter}", markup=False, soft_wrap=True)


@dataclass(frozen=True)
class Limits:
    """Bounds for the demo and the rule that set them, in words."""

    bounds: dict[str, float]
    rule: str


def set_bounds(trials: codecs.CodecTrials, console: Console) -> Limits:
    """Bounds that call for a true mix on any machine, from a few trials of each codec.

    The second bound is below what the best mix under the first alone needs. It therefore binds, and
    only codecs on both sides of it together can meet it exactly.
    """
    import numpy as np

    from bestmix.problems.solution import solve_means

    arms = list(trials.codecs)
    with console.status("Pilot: a few trials of each codec, to set the bounds ..."):
        rows = [[_row(trials, arm) for arm in arms] for _ in range(PILOT)]
    means = np.median(rows, axis=0)  # of few trials, one of which may have met a busy machine
    slow, quick = int(means[:, 1].argmax()), int(means[:, 2].argmin())
    first = two_digits(means[slow, 1] / 3)
    relaxed = solve_means(means[:, :2], np.array([first]))
    need = float(relaxed.mixture @ means[:, 2])
    second = two_digits((means[quick, 2] + need) / 2)
    rule = (
        f"The bounds come from a pilot: medians of {PILOT} trials of each codec. compress_ms ≤ {first:g}: a third of "
        f"the slowest codec ({arms[slow]}, {means[slow, 1]:.0f}). decompress_ms ≤ {second:g}: half-way between the "
        f"quickest codec ({arms[quick]}, {means[quick, 2]:.1f}) and what the best mix would need without this bound "
        f"({need:.1f})."
    )
    console.print(rule, markup=False)
    return Limits(dict(zip(codecs.COSTS, (first, second), strict=True)), rule)


def _row(trials: codecs.CodecTrials, arm: str) -> list[float]:
    reward, costs = trials(arm)
    return [reward, *costs.values()]


def two_digits(value: float) -> float:
    """A number rounded so that people can remember it.

    >>> two_digits(103.7), two_digits(4.27)
    (100.0, 4.3)
    """
    return float(f"{value:.2g}")


def start(strategy: "Strategy", trials: codecs.CodecTrials, bounds: dict[str, float], budget: int) -> "Search":
    """A search for the best mix of the codecs."""
    from bestmix.problems.problem import Problem

    return strategy.start(Problem(list(trials.codecs), bounds), budget)


def search(
    trials: codecs.CodecTrials, bounds: dict[str, float], strategy: "Strategy", budget: int
) -> "tuple[Recommendation, list[list[Any]]]":
    """Make the trials one at a time, so that none disturbs the timing of another."""
    from bestmix.strategies.drive import Inline, drive
    from bestmix.strategies.search_bar import search_bar
    from bestmix.strategies.search_work import SearchWork

    run = start(strategy, trials, bounds, budget)
    rows: list[list[Any]] = []

    def pull(arm: str) -> tuple[float, list[float]]:
        reward, *costs = _row(trials, arm)
        rows.append([arm, reward, *costs])
        return reward, costs

    console = common.messages()
    with search_bar(run, console.is_terminal, console) as update:
        # The arms take turns, so that a slow spell of the machine hits all alike.
        drive(SearchWork(run), pull, Inline(), jobs=1, after=[update])
    return run.recommend(), rows


def compare(rec: "Recommendation") -> str:
    """What the mix gains over the best codec that keeps the bounds on its own."""
    if not rec.feasible:
        return "On these trials no mix keeps both bounds: the machine was quicker during the pilot. Run the demo again."
    if rec.single is None:
        return "No single codec keeps both bounds for sure."
    single = rec.estimates[rec.single]
    gain = rec.value - single.reward
    if tuple(rec.mixture) == (single.arm,):
        return f"Here the best mix is a single codec, {single.arm}."
    return (
        f"The best single codec within the bounds, {single.arm}, saves {single.reward:.1%}; the mix saves "
        f"{rec.value:.1%}, which is {100 * gain:.1f} points more and leaves {gain / (1 - single.reward):.1%} "
        "less to store."
    )


def save(folder: Path, rec: "Recommendation", rows: list[list[Any]], notes: list[str]) -> list[Path]:
    """Write everything to the folder, and say what."""
    from bestmix import files, plots
    from bestmix.pages.report import save_report

    title = "The best mix of compression codecs"
    saved = [save_report(rec, folder / "report.html", title, notes=notes)]
    if plots.available():
        figure = plots.recommendation_figure(rec)
        saved += [plots.save(figure, folder / f"figure.{kind}") for kind in ("png", "svg")]
    header = ["arm", "saved", *rec.problem.costs]
    files.write_text(folder / "trials.csv", files.csv_text([dict(zip(header, row, strict=True)) for row in rows]))
    files.write(folder / "recommendation.json", rec.to_dict())
    rec.policy().save(folder / "policy.json")
    return [*saved, folder / "trials.csv", folder / "recommendation.json", folder / "policy.json"]
