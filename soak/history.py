"""What workers were told, written as they were told it; and the checker that reads it afterwards."""

import json
import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
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


MOST_COST = 2.0  # that a trial can cost


def value(number: int) -> tuple[float, float]:
    """Reward and cost of a trial: a function of its number, so that whoever tells it tells the same."""
    return (number * 2654435761 % 1000) / 1000, (number * 40503 % 1000) / 500


def check(experiment: Experiment, folder: Path, seen: list[dict[str, Any]], amount: float = 0.0) -> list[str]:
    """What is wrong with the recorded history; an empty list is good news.

    ``seen`` are the figures that an observer read all along; ``amount`` is the money that all trials may cost together,
    those of workers that were killed among them.
    """
    trials = {t.token: t for t in experiment.iter_trials()}
    problems = list(audit(experiment))
    handed: dict[int, set[str]] = defaultdict(set)
    acknowledged = 0
    for line in read(folder):
        if line["kind"] == "asked":
            for number in line["trials"]:
                handed[number].add(line["worker"])
            for number, item in zip(line["trials"], line.get("items", ()), strict=False):
                if number in trials and trials[number].item != item:
                    problems.append(f"trial {number} was handed out on item {item} and is on {trials[number].item}")
        elif line["kind"] == "told":
            acknowledged += len(line["trials"])
            problems += _lost(trials, line)
    problems += [f"trial {n} was handed to {sorted(who)}" for n, who in handed.items() if len(who) > 1]
    problems += [f"trial {n} was handed out and is not there" for n in handed if n not in trials]
    problems += _items(experiment, trials)
    problems += _overspent(experiment, handed, amount) if amount else []
    state = experiment.state
    for figures in seen:
        if figures["complete"] + figures["leased"] > state.budget:
            problems.append(f"the budget was exceeded at a moment: {figures}")
        if figures["room"] is None:
            continue  # a round is only a part of the budget
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


def _items(experiment: Experiment, trials: dict[int, Any]) -> Iterator[str]:
    """Slots that changed their item, and items that an arm had in two slots; there are enough for all."""
    if experiment.record.items is None:
        return
    slots: dict[int, set[Any]] = defaultdict(set)
    for trial in trials.values():
        slots[trial.slot].add((trial.arm, trial.item))
    yield from (f"slot {slot} was handed out on {sorted(on)}" for slot, on in slots.items() if len(on) > 1)
    had = Counter(next(iter(on)) for on in slots.values())
    yield from (f"arm {arm} had item {item} {times} times" for (arm, item), times in had.items() if times > 1)
    told = Counter(trial.arm for trial in trials.values() if trial.state.value in ("complete", "extra"))
    kept = Counter[str]()
    now = experiment.run_state()
    for (_, arm), found in now.by_item.items():
        kept[experiment.problem.arms[arm]] += found.count
    if kept != told:
        yield f"sums by item hold {dict(kept)} results, the trials are {dict(told)}"


def _overspent(experiment: Experiment, handed: Iterable[int], amount: float) -> Iterator[str]:
    """Whether trials cost more than there was, told or not, and whether the account says what was told."""
    paid, account = math.fsum(value(number)[1] for number in handed), experiment.account
    told = [t for t in experiment.iter_trials() if t.costs is not None and t.state.value in ("complete", "extra")]
    spent = math.fsum(value(t.token)[1] for t in told)
    if paid > amount * (1 + 1e-9):
        yield f"trials for {paid} were handed out, of a budget of {amount}"
    if account is None or not math.isclose(account.spent, spent, rel_tol=1e-4):
        yield f"the account says {account}, the trials {spent}"


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
