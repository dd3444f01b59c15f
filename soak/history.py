"""What workers were told, written as they were told it; and the checker that reads it afterwards."""

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bestmix.experiments import Experiment
from bestmix.experiments.audit import audit


class Journal:
    """Calls and answers of one worker, a line each; a line is whole or, where a kill cut it, absent."""

    def __init__(self, folder: Path, worker: str) -> None:
        self._file = os.open(folder / f"{worker}.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, kind: str, **data: Any) -> None:
        """Add a line; the operating system keeps it when this process is killed."""
        line = json.dumps({"kind": kind, "at": time.monotonic(), **data}) + "\n"
        os.write(self._file, line.encode())


def read(folder: Path) -> Iterator[dict[str, Any]]:
    """All lines of all workers."""
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue  # cut by a kill


def value(number: int) -> tuple[float, float]:
    """Reward and cost of a trial: a function of its number, so that whoever tells it tells the same."""
    return (number * 2654435761 % 1000) / 1000, (number * 40503 % 1000) / 500


def check(experiment: Experiment, folder: Path, seen: list[dict[str, Any]]) -> list[str]:
    """What is wrong with the recorded history; an empty list is good news.

    ``seen`` are the figures that an observer read all along.
    """
    trials = {t.token: t for t in experiment.iter_trials()}
    problems = list(audit(experiment))
    handed: dict[int, set[str]] = defaultdict(set)
    acknowledged = 0
    for line in read(folder):
        if line["kind"] == "asked":
            for number in line["trials"]:
                handed[number].add(line["worker"])
        elif line["kind"] == "told":
            acknowledged += len(line["trials"])
            problems += _lost(trials, line)
    problems += [f"trial {n} was handed to {sorted(who)}" for n, who in handed.items() if len(who) > 1]
    problems += [f"trial {n} was handed out and is not there" for n in handed if n not in trials]
    state = experiment.state
    for figures in seen:
        if figures["complete"] + figures["leased"] > state.budget:
            problems.append(f"the budget was exceeded at a moment: {figures}")
        if figures["complete"] + figures["leased"] + figures["waiting"] != figures["room"]:
            problems.append(f"the round's quota was not kept at a moment: {figures}")
    told = [f["complete"] for f in seen]
    if told != sorted(told):
        problems.append("the number of results went down at a moment")
    if state.status != "done":
        problems.append(f"the experiment ended as {state.status}, with {state.complete} of {state.budget}")
    if not acknowledged:
        problems.append("nothing was acknowledged, so nothing was checked")
    return problems


def _lost(trials: dict[int, Any], line: dict[str, Any]) -> Iterator[str]:
    """Acknowledged results that are not there exactly as they were told."""
    for number, outcome in zip(line["trials"], line["outcomes"], strict=True):
        trial = trials.get(number)
        counted = ["complete", "extra"]
        states = {"surplus": ["surplus"], "counted": counted}.get(outcome, [*counted, "surplus"])
        if trial is None or trial.state.value not in states:
            yield f"trial {number} was acknowledged as {outcome} and is {trial and trial.state}"
        elif (trial.reward, *trial.costs.values()) != value(number):
            yield f"trial {number} was told {value(number)} and holds {trial.reward}, {trial.costs}"
