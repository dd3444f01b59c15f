"""Trials as CSV or Parquet, an experiment as JSON; read page by page, written whole or not at all."""

import csv
import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bestmix import files

if TYPE_CHECKING:
    from bestmix.experiments.experiment import Experiment
    from bestmix.experiments.model import Trial

BEFORE = ("id", "token", "slot", "round", "arm", "state", "worker", "reward")
AFTER = ("asked", "told", "note")
PAGE = 10_000  # rows of Parquet written at a time
HOW = "expected a file name that ends in .csv, .parquet or .json"


def export(experiment: "Experiment", path: Path, state: str | None = None) -> Path:
    """Write to the file, by the ending of its name; only trials in a state, if one is given."""
    kind = path.suffix.lower()
    writers = {".csv": _csv, ".parquet": _parquet, ".json": _json}
    if kind not in writers:
        raise ValueError(f"{path}: {HOW}, got {path.suffix or 'none'}; rename it")
    if state is not None:
        experiment.trials(state, limit=1)  # complains about an unknown state before anything is written
    with files.replacing(path) as temporary:
        writers[kind](experiment, temporary, state)
    return path


def columns(experiment: "Experiment") -> list[str]:
    """Names of the table's columns; a cost whose name is taken is called ``cost NAME``.

    Examples
    --------
    >>> from bestmix import Problem, open_experiment
    >>> exp = open_experiment("memory://", "a", Problem(["x", "y"], {"dollars": 1.0, "round": 2.0}), 9)
    >>> columns(exp)[7:11]
    ['reward', 'dollars', 'cost round', 'asked']
    """
    taken, costs = {*BEFORE, *AFTER, *experiment.problem.costs}, []
    for name in experiment.problem.costs:
        free = name
        while free in taken and (free != name or name in (*BEFORE, *AFTER)):
            free = f"cost {free}"
        taken.add(free)
        costs.append(free)
    return [*BEFORE, *costs, *AFTER]


def _values(experiment: "Experiment", trial: "Trial") -> list[Any]:
    data = trial.to_dict()
    costs = [None if trial.costs is None else trial.costs[name] for name in experiment.problem.costs]
    return [*(data[name] for name in BEFORE), *costs, *(data[name] for name in AFTER)]


def harmless(value: Any) -> Any:
    """Text that no spreadsheet takes for a formula: after an apostrophe where it begins like one.

    >>> harmless("=1+1"), harmless("plain"), harmless(-1.5)
    ("'=1+1", 'plain', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value


def _csv(experiment: "Experiment", path: Path, state: str | None) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(map(harmless, columns(experiment)))
        writer.writerows(map(harmless, _values(experiment, trial)) for trial in experiment.iter_trials(state))


def _json(experiment: "Experiment", path: Path, state: str | None) -> None:
    about = {
        "format": "bestmix experiment 1",
        "problem": dict(experiment.record.problem),
        "strategy": dict(experiment.record.strategy),
        "lease": experiment.record.lease,
        "state": experiment.state.to_dict(),
        "recommendation": experiment.recommend().to_dict(),
    }
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(about, indent=1, allow_nan=False)[:-2] + ',\n "trials": [')
        for place, trial in enumerate(experiment.iter_trials(state)):
            file.write(("," if place else "") + "\n  " + json.dumps(trial.to_dict(), allow_nan=False))
        file.write("\n ]\n}\n")


def _parquet(experiment: "Experiment", path: Path, state: str | None) -> None:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise ValueError("writing Parquet needs pyarrow; install bestmix[frames], or write .csv") from None
    whole, text, number = pyarrow.int64(), pyarrow.string(), pyarrow.float64()
    kinds = {"token": whole, "slot": whole, "round": whole, **dict.fromkeys(("id", "arm", "state", "worker"), text)}
    kinds |= dict.fromkeys(AFTER, text)
    names = columns(experiment)
    schema = pyarrow.schema([(name, kinds.get(name, number)) for name in names])
    trials = experiment.iter_trials(state)
    with parquet.ParquetWriter(path, schema) as writer:
        while page := [_values(experiment, trial) for trial in islice(trials, PAGE)]:
            entries = [dict(zip(names, values, strict=True)) for values in page]
            writer.write_table(pyarrow.Table.from_pylist(entries, schema))
