"""What clients whose calls are refused cost the others, who share commits with them."""

import threading
import time
from pathlib import Path
from typing import Any

from bestmix import Problem, Uniform
from bestmix.experiments import Conflict, open_storage

PROBLEM = Problem(["a", "b", "c", "d"], {"cost": 1.0})
ASK = 64  # trials in a call, so that nearly all calls are tells


def measure(path: Path, refused: int, seconds: float, tellers: int = 8) -> dict[str, float]:
    """Tells a second of so many threads of a server beside others whose every call is a conflict."""
    counts = {"tells": 0, "refusals": 0}
    with open_storage(path) as storage:
        experiment = storage.create("refusals", PROBLEM, 10_000_000, Uniform(), lease=3600.0)
        wrong = experiment.ask(1)[0]
        experiment.tell(wrong, 1.0, [0.5])
        end = time.monotonic() + seconds

        def tell() -> None:
            while time.monotonic() < end:
                for trial in experiment.ask(ASK):
                    experiment.tell(trial, 0.5, [0.25])
                    counts["tells"] += 1
                    if time.monotonic() >= end:
                        return

        def conflict() -> None:
            while time.monotonic() < end:
                try:
                    experiment.tell(wrong, 2.0, [0.5])
                except Conflict:
                    counts["refusals"] += 1

        crew = [threading.Thread(target=work) for work in [tell] * tellers + [conflict] * refused]
        for thread in crew:
            thread.start()
        for thread in crew:
            thread.join()
    return {what: count / seconds for what, count in counts.items()}


def compare(folder: Path, seconds: float, turns: int = 3) -> dict[str, Any]:
    """With no conflicting client, with one and with four, in turns; the others' tells as shares of the first."""
    rates: dict[int, list[float]] = {0: [], 1: [], 4: []}
    for turn in range(turns):
        for refused, found in rates.items():
            found.append(measure(folder / f"{turn}-{refused}.db", refused, seconds)["tells"])
    best = {refused: sorted(found)[len(found) // 2] for refused, found in rates.items()}
    result: dict[str, Any] = {f"tells a second beside {k} conflicting": round(rate) for k, rate in best.items()}
    return result | {f"share beside {k}": round(best[k] / best[0], 2) for k in (1, 4)}
