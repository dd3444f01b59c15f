"""Trials as CSV or Parquet, an experiment as JSON: of one moment, written whole or not at all."""

import csv
import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bestmix import files
from bestmix.answers.logs import csv_files
from bestmix.checks import InvalidInput

if TYPE_CHECKING:
    from bestmix.experiments.experiment import Experiment
    from bestmix.experiments.model import RunState, Trial

BEFORE = ("id", "token", "slot", "round", "arm", "state", "worker")
AFTER = ("asked", "told", "note")
PAGE = 10_000  # rows of Parquet written at a time
HOW = "expected a file name that ends in .csv, .parquet or .json"


def export(experiment: "Experiment", path: Path, state: str | None = None, spreadsheet: bool = False) -> Path:
    """Write to the file, by the ending of its name.

    Parameters
    ----------
    experiment, path
        What to write, and where to: ``.csv``, ``.parquet`` or ``.json``.
    state
        Only trials in this state.
    spreadsheet
        In a CSV file, put an apostrophe before text that a spreadsheet would take for a formula.
        Logs are read without it.
    """
    kind = path.suffix.lower()
    if kind not in (".csv", ".parquet", ".json"):
        raise InvalidInput(path, f"{HOW}, got {path.suffix or 'none'}", "rename it")
    if spreadsheet and kind != ".csv":
        raise InvalidInput(path, f"an export for spreadsheets is a .csv file, got {kind}", "rename it")
    run, trials = experiment.contents(state)
    with files.replacing(path) as temporary:
        if kind == ".csv":
            _csv(experiment, temporary, trials, csv_files.for_spreadsheets if spreadsheet else csv_files.escaped)
        elif kind == ".json":
            _json(experiment, temporary, run, trials)
        else:
            _parquet(experiment, temporary, trials)
    return path


def columns(experiment: "Experiment") -> list[str]:
    """Names of the table's columns: the metrics have their own; one whose name is taken is called ``cost NAME``.

    Examples
    --------
    >>> from bestmix import Problem, open_experiment
    >>> exp = open_experiment("memory://", "a", Problem(["x", "y"], {"dollars": 1.0, "round": 2.0}), 9)
    >>> columns(exp)[7:11]
    ['reward', 'dollars', 'cost round', 'asked']
    """
    before, metrics = _before(experiment), experiment.problem.metrics
    taken, found = {*before, *AFTER, *metrics}, []
    for name in metrics:
        free = name
        while free in taken and (free != name or name in (*before, *AFTER)):
            free = f"cost {free}"
        taken.add(free)
        found.append(free)
    return [*before, *found, *AFTER]


def _before(experiment: "Experiment") -> tuple[str, ...]:
    """Columns that stand before the metrics; with segments and with items there is one more each."""
    segment = ("segment",) if experiment.problem.segments else ()
    return (*BEFORE, *segment, *(("item",) if experiment.record.items is not None else ()))


def _values(experiment: "Experiment", trial: "Trial") -> list[Any]:
    data, costs = trial.to_dict(), trial.costs or {}
    problem = experiment.problem
    metrics = [trial.reward, *(problem.shown_value(name, costs.get(name)) for name in problem.metrics[1:])]
    return [*(data[name] for name in _before(experiment)), *metrics, *(data[name] for name in AFTER)]


def _csv(experiment: "Experiment", path: Path, trials: "Iterator[Trial]", escape: Callable[[Any], Any]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(escape, columns(experiment)))
        writer.writerows(map(escape, _values(experiment, trial)) for trial in trials)


def _json(experiment: "Experiment", path: Path, now: "RunState", trials: "Iterator[Trial]") -> None:
    about = {
        "format": "bestmix experiment 1",
        "problem": experiment.problem.to_dict(),
        "strategy": dict(experiment.record.strategy),
        "lease": experiment.record.lease,
        "state": now.state.to_dict(),
        "recommendation": experiment.answer(now).to_dict(),
    }
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(about, indent=1, allow_nan=False)[:-2] + ',\n "trials": [')
        for place, trial in enumerate(trials):
            data, problem = trial.to_dict(), experiment.problem
            if data["costs"] is not None:
                data["costs"] = {name: problem.shown_value(name, value) for name, value in data["costs"].items()}
            file.write(("," if place else "") + "\n  " + json.dumps(data, allow_nan=False))
        file.write("\n ]\n}\n")


def _parquet(experiment: "Experiment", path: Path, trials: "Iterator[Trial]") -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ValueError("writing Parquet needs pyarrow; install bestmix[frames], or write .csv") from None
    whole, text, number = pyarrow.int64(), pyarrow.string(), pyarrow.float64()
    items = experiment.record.items
    numbers = ("token", "slot", "round", *(("item",) if items is not None and not items["named"] else ()))
    states = columns(experiment)[len(_before(experiment)) :][len(experiment.problem.metrics) - 1]
    named = (states,) if experiment.problem.flows else ()  # the state that comes next, the last of the metrics
    kinds = dict.fromkeys((*_before(experiment), *AFTER, *named), text) | dict.fromkeys(numbers, whole)
    names = columns(experiment)
    schema = pyarrow.schema([(name, kinds.get(name, number)) for name in names])
    with parquet.ParquetWriter(path, schema) as writer:
        while page := [_values(experiment, trial) for trial in islice(trials, PAGE)]:
            entries = [dict(zip(names, values, strict=True)) for values in page]
            writer.write_table(pyarrow.Table.from_pylist(entries, schema))
