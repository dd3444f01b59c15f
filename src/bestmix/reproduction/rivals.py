"""Published algorithms beside ours: wrong answers, loss, kept limits and trials, with a budget and until sure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bestmix import files, plots
from bestmix.plots.rivals import Mark
from bestmix.reproduction.outcome import KEPT, Drawing, as_markdown
from bestmix.reproduction.paced import paced_rows
from bestmix.reproduction.rival_instances import TRAFFIC, Subject, subjects
from bestmix.simulation import CellResult, SweepResult, sweep
from bestmix.strategies.rivals import comparison
from bestmix.strategies.rivals.comparison import CONFIDENCE, SINGLE

RUNS = 500
INSTANCES = 2  # random ones of each shape
CAP = 500_000  # trials, where strategies that stop by themselves are cut off


@dataclass(frozen=True, eq=False)
class Comparison:
    """Cells of one instance: of strategies that spend its budget, and of those that stop by themselves."""

    subject: Subject
    spent: SweepResult
    sure: SweepResult


def compare(
    asked: Sequence[Subject], folder: Path | None, runs: int, seed: int, threads: int | None = None, cap: int = CAP
) -> list[Comparison]:
    """Simulate all strategies on these instances; what is finished is kept in the folder."""
    found = []
    for subject in asked:
        options: dict[str, Any] = {"runs": runs, "seed": seed, "output": folder, "threads": threads}
        named = {subject.name: subject.instance}
        spent = sweep(named, comparison.with_budget(subject.instance), [subject.budget], **options)
        sure = sweep(named, comparison.with_confidence(CONFIDENCE), [cap], **options)
        found.append(Comparison(subject, spent, sure))
    return found


def draw_rivals(
    folder: Path, runs: int | None, seed: int, instances: int | None, threads: int | None, progress: bool
) -> Drawing:
    """Trials until sure and wrong answers with a budget, on every instance, and the tables."""
    del progress  # every instance is short
    asked = subjects(instances or INSTANCES)
    found = compare(asked, folder / KEPT, runs or RUNS, seed, threads)
    figure = plots.rivals_figure(
        {
            f"trials until {CONFIDENCE:.0%} sure": {one.subject.name: _trials(one) for one in found},
            "wrong answers in %, with a budget": {
                one.subject.name: _errors(one) for one in found if one.subject.has_support
            },
        }
    )
    tables = sure_rows(found), error_rows(found), loss_rows(found), paced_rows(asked, runs or RUNS, seed)
    table = "\n".join(map(as_markdown, tables))
    rows = [cell.row() for one in found for result in (one.spent, one.sure) for cell in result]
    caption = _caption(runs or RUNS, seed, [subject.name for subject in asked])
    texts = {"rivals.csv": files.csv_text(rows), "rivals.md": f"{table}\n{caption}\n"}
    return Drawing({"rivals": figure}, texts, caption, table)


def _trials(one: Comparison) -> dict[str, Mark]:
    return {_bare(cell): Mark(cell.mean_pulls, is_trusted(one, cell)) for cell in one.sure}


def _errors(one: Comparison) -> dict[str, Mark]:
    mixing = [cell for cell in one.spent if cell.strategy not in SINGLE]
    return {cell.strategy: Mark(100 * cell.error_rate) for cell in mixing}


def is_trusted(one: Comparison, cell: CellResult) -> bool:
    """Whether a strategy that stops by itself is as often right as it claims, as far as the runs tell, and stopped.

    Where the support is not asked for, it is enough that it stopped.
    """
    if cut_off(cell):
        return False
    return not one.subject.has_support or cell.interval[0] <= 1 - CONFIDENCE


def cut_off(cell: CellResult) -> bool:
    """Whether more than one run in twenty was cut off at the cap."""
    return comparison.cut_off(cell.outcomes.pulls, cell.budget) > 1 - CONFIDENCE


def _bare(cell: CellResult) -> str:
    return cell.strategy.partition("[")[0]


def sure_rows(found: Sequence[Comparison]) -> list[dict[str, str]]:
    """Trials until sure, and wrong answers or the loss of the mix; the fewest trials that keep their word in bold.

    Of wrong answers of which no mix has a loss, because the verdict was infeasible, the share is told.
    """
    rows = []
    for one in found:
        kept = [cell.mean_pulls for cell in one.sure if is_trusted(one, cell)]
        row = {"until sure": one.subject.name}
        for cell in one.sure:
            count = f"{'over ' if cut_off(cell) else ''}{cell.mean_pulls:,.0f}"
            loss = f" (loss {cell.loss:.3f}{_without_mix(cell)})"
            wrong = f" ({100 * cell.error_rate:.1f}%)" if one.subject.has_support else loss
            best = is_trusted(one, cell) and cell.mean_pulls == min(kept)
            row[_bare(cell)] = f"**{count}**{wrong}" if best else f"{count}{wrong}"
        rows.append(row)
    return rows


def error_rows(found: Sequence[Comparison]) -> list[dict[str, str]]:
    """Wrong answers with a budget, of strategies that answer with a mix; the fewest in bold."""
    rows: list[dict[str, str]] = []
    for one in (one for one in found if one.subject.has_support):
        cells = [cell for cell in one.spent if cell.strategy not in SINGLE]
        least = min(cell.error_rate for cell in cells)
        row = {"wrong answers in %": one.subject.name, "budget": f"{one.subject.budget:,}"}
        for cell in cells:
            text = f"{100 * cell.error_rate:.1f}"
            row[cell.strategy] = f"**{text}**" if cell.error_rate == least else text
        rows.append(row)
    return rows


def loss_rows(found: Sequence[Comparison]) -> list[dict[str, str]]:
    """Mean loss with a budget, and the share of mixes that keep the limits; the smallest loss in bold.

    Runs that wrongly said infeasible have neither, and their share is told where there are any.
    """
    rows = []
    for one in found:
        least = min(cell.loss for cell in one.spent if not math.isnan(cell.loss))
        row = {"loss (limits kept)": one.subject.name}
        for cell in one.spent:
            text = f"**{cell.loss:.4f}**" if cell.loss == least else f"{cell.loss:.4f}"
            told = f"{text} ({100 * cell.kept:.0f}%{_without_mix(cell)})"
            row[cell.strategy] = "no mix" if math.isnan(cell.loss) else told
        rows.append(row)
    return rows


def _without_mix(cell: CellResult) -> str:
    """The share of runs that wrongly said infeasible, where there are any."""
    return f"; {100 * cell.wrongly_infeasible / cell.runs:.1f}% infeasible" if cell.wrongly_infeasible else ""


def _caption(runs: int, seed: int, names: Sequence[str]) -> str:
    missing = "" if TRAFFIC in names else f" {TRAFFIC} is left out: paretobandit, which has its data, is not installed."
    return (
        f"Published algorithms beside those of this package, {runs:,} runs a cell. Left: mean trials until each is "
        f"{CONFIDENCE:.0%} sure; hollow marks: wrong significantly more often than {1 - CONFIDENCE:.0%}, or more than "
        f"one run in twenty was cut off at {CAP:,} trials. CTnS and CGE take estimated costs for known ones, but on "
        "Carlsson, where costs have no noise. Right: wrong supports with the budget that the table names. Das and "
        "Carlsson are instances of the rivals' own papers, whose best mix has two bases: there the mix is asked for, "
        "and judged by its loss, without the runs that wrongly said that no mix keeps the limits. Random instances: "
        f"means uniform on [0, 2], arms x costs, and the seed. Seed {seed}.{missing}"
    )
