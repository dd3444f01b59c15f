"""Workers and servers that are killed at any moment: what was acknowledged is there, exactly once."""

import random
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bestmix import Challenger, Problem, Spend, Uniform
from bestmix.experiments import Experiment, open_storage
from bestmix.strategies import Strategy
from soak import history
from soak.history import MOST_COST

PROBLEM = Problem(["a", "b", "c", "d"], {"cost": 1.0})


@dataclass(frozen=True)
class Load:
    """How many workers make how many trials, and how often one of them is killed.

    With an ``amount`` the budget is that much money, for about so many trials, and hard; with ``ahead`` Challenger
    plans so many slots ahead.
    """

    workers: int = 8
    trials: int = 20_000
    kills: int = 200
    lease: float = 2.0
    batch: int = 4
    items: int | None = None  # that trials are made on
    amount: float = 0.0
    ahead: int = 0

    @property
    def budget(self) -> int | Spend:
        """Trials, or money."""
        return Spend(self.amount, "cost", most=MOST_COST) if self.amount else self.trials

    @property
    def strategy(self) -> Strategy:
        """One round for all trials; with money, and planned ahead, many."""
        return Challenger(ahead=self.ahead) if self.ahead or self.amount else Uniform()


def run(
    url: str, folder: Path, load: Load, outage: Callable[[], None] | None = None, outages: int = 0
) -> dict[str, Any]:
    """Figures of one run; ``outage`` breaks the server and restores it, ``outages`` times in the course of it."""
    folder.mkdir(parents=True)
    name = f"soak {time.time_ns()}"
    began = time.monotonic()
    with open_storage(url, patience=120.0) as storage:
        experiment = storage.create(
            name, PROBLEM, load.budget, load.strategy, lease=load.lease, failures=10**9, items=load.items
        )
        crew = Crew(url, name, folder, load)
        try:
            seen, broken = _drive(experiment, crew, load, outage, outages)
        finally:
            crew.end()
        seconds = time.monotonic() - began
        problems = history.check(experiment, folder, seen, load.amount)
        state = experiment.state
    return {
        "trials": load.trials,
        "workers": load.workers,
        "kills": crew.killed,
        "outages": broken,
        "expired": state.expired,
        "surplus": state.surplus,
        "items": load.items,
        "looks": len(seen),
        "seconds": round(seconds, 1),
        "problems": problems[:10],
    }


def _drive(
    experiment: Experiment, crew: "Crew", load: Load, outage: Callable[[], None] | None, outages: int
) -> tuple[list[dict[str, Any]], int]:
    """Kill and break things, spread over the run, and look at the figures all along; how often something broke."""
    rng = random.Random(1)
    seen: list[dict[str, Any]] = []
    broken = 0
    while True:
        state = experiment.state
        room = state.complete if not state.open else load.trials if isinstance(load.strategy, Uniform) else None
        figures = {key: getattr(state, key) for key in ("complete", "leased", "waiting")}
        seen.append(figures | {"room": room})
        if not state.open:
            return seen, broken
        share = state.complete / load.trials
        while crew.killed < load.kills * share:
            crew.kill(rng)
        if outage is not None and broken < outages * share:
            outage()
            broken += 1
        crew.keep_up()
        time.sleep(0.02)


class Crew:
    """Worker processes, replaced when they end."""

    def __init__(self, url: str, name: str, folder: Path, load: Load) -> None:
        self.command = [sys.executable, "-m", "soak.worker", url, name]
        self.folder = folder
        self.load = load
        self.killed = self.started = 0
        self.processes: list[subprocess.Popen[bytes]] = []
        self.keep_up()

    def keep_up(self) -> None:
        """As many workers as there should be."""
        self.processes = [p for p in self.processes if p.poll() is None]
        while len(self.processes) < self.load.workers:
            self.started += 1
            words = [*self.command, f"worker{self.started}", str(self.folder), str(self.load.batch)]
            self.processes.append(subprocess.Popen(words))

    def kill(self, rng: random.Random) -> None:
        """``kill -9`` of one of them, and a new one in its place."""
        process = rng.choice(self.processes)
        process.kill()
        process.wait()
        self.killed += 1
        self.keep_up()

    def end(self) -> None:
        """Wait for those who notice that all is done; end the rest."""
        for process in self.processes:
            try:
                process.wait(20.0)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
