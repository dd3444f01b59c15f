"""Edges and their server killed at random: the database has what the edges recorded, each request once."""

import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bestmix import Edge, Problem, Traffic, open_experiment
from bestmix.experiments import open_storage
from bestmix.experiments.audit import audit
from soak.edge import BATCH, METRICS
from soak.service import Serving

PROBLEM = Problem(["small", "large"], goal="maximise quality", limits=["dollars <= 1"])
RATE = 500.0  # requests a second of an edge
LATE = 1.5  # seconds: what was recorded so long before a kill is in the file, by the interval of a second


class Process:
    """An edge in a process of its own, with its journal."""

    def __init__(self, url: str, folder: Path, number: int) -> None:
        self.journal = folder / f"edge{number}.journal"
        words = [url, "live", str(folder / "spool"), str(self.journal), str(RATE)]
        self.process = subprocess.Popen([sys.executable, "-m", "soak.edge", *words])
        self.killed: float | None = None

    def kill(self) -> None:
        """``kill -9``."""
        self.killed = time.monotonic()
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """SIGTERM: it reports what is left."""
        self.process.terminate()
        self.process.wait(120)

    def read(self) -> tuple[str, list[tuple[float, int]]]:
        """Its name, and when it had how many requests planned."""
        lines = self.journal.read_text().splitlines() if self.journal.exists() else []
        if not lines or not lines[0].startswith("edge "):
            return "", []  # killed before it began
        pairs = [line.split() for line in lines[1:] if not line.startswith("end") and len(line.split()) == 2]
        return lines[0].split()[1], [(float(at), int(total)) for at, total in pairs]


def run(storage: str, folder: Path, seconds: float, edges: int = 16, seed: int = 0) -> dict[str, Any]:
    """Kill an edge or the server about once a second; then compare."""
    folder.mkdir(parents=True)
    rng = random.Random(seed)
    open_experiment(storage, "live", PROBLEM, traffic=Traffic(requests=20_000, serve="small")).close()
    serving = Serving(storage, folder)
    running = [Process(serving.url, folder, number) for number in range(edges)]
    while not all(process.read()[1] for process in running):
        time.sleep(0.2)
    dead: list[Process] = []
    kills, began = 0, time.monotonic()
    while time.monotonic() < began + seconds:
        time.sleep(rng.uniform(0.5, 1.5))
        if rng.random() < 0.25:
            serving.kill()
            kills += 1
            continue
        place = rng.randrange(edges)
        running[place].kill()
        dead.append(running[place])
        running[place] = Process(serving.url, folder, edges + len(dead))
    serving.wait()
    time.sleep(2.0)
    for process in running:
        process.stop()
    deliver(serving.url, folder)
    serving.stop()
    with open_storage(storage) as opened:
        found = compare(opened.open("live"), running, dead)
    return {"server killed": kills, "edges killed": len(dead), **found, "seconds": round(time.monotonic() - began, 1)}


def deliver(url: str, folder: Path) -> None:
    """An edge that takes over what others have left."""
    with Edge(url, "live", spool=folder / "spool", interval=0.1):
        end = time.monotonic() + 60
        while list((folder / "spool").glob("*.json")) and time.monotonic() < end:
            time.sleep(0.2)


def compare(live: Any, running: list[Process], dead: list[Process]) -> dict[str, Any]:
    """Requests of each edge in the database against its journal, and the sums of the arms."""
    problems = list(audit(live))
    state = live.traffic()
    counted = {edge.name: edge.requests for edge in state.edges}
    for process in running:
        name, lines = process.read()
        wanted = lines[-1][1] if lines else 0
        if counted.get(name, 0) != wanted:
            problems.append(f"{name} recorded {wanted}, the database has {counted.get(name, 0)}")
    lost, longest = 0, 0.0
    for process in dead:
        name, lines = process.read()
        held = counted.get(name, 0)
        if not lines or process.killed is None:
            continue
        if held > lines[-1][1]:
            problems.append(f"{name} recorded at most {lines[-1][1]}, the database has {held}")
        missing = [at for at, total in lines if total > held + BATCH]  # a batch that was told may not have been made
        age = process.killed - missing[0] if missing else 0.0
        lost, longest = lost + max(lines[-1][1] - held, 0), max(longest, age)
        if age > LATE:
            problems.append(f"{name} lost requests of {age:.2f} s before it was killed")
    problems += sums(live)
    figures = {"requests": live.state.complete, "versions": len(state.versions), "lost by killed edges": lost}
    return {**figures, "oldest lost, s": round(longest, 2), "problems": problems[:10]}


def sums(live: Any) -> list[str]:
    """Every request of an arm has the same metrics, so that its sums are known."""
    found = live.storage.store.traffic(live.record.key).sums
    wrong = []
    for (version, arm), moments in found.items():
        wanted = METRICS[PROBLEM.arms[arm]]
        mean = dict(zip(PROBLEM.measures, moments.mean().tolist(), strict=True))
        if mean != wanted or moments.scatter().any():
            wrong.append(f"version {version}, {PROBLEM.arms[arm]}: its sums are not those of its requests")
    return wrong
