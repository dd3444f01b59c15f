"""How many results a second are acknowledged, how long calls take, and what a million trials change."""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from bestmix import Problem, Uniform
from bestmix.experiments import open_storage
from soak.worker import opened

ARMS = [f"arm{i}" for i in range(8)]
PROBLEM = Problem(ARMS, {"dollars": 1.0, "seconds": 2.0})
ASK = 16
NAME = "throughput"


def prepare(url: str, trials: int) -> None:
    """An experiment with so many trials already there."""
    log = None
    if trials:
        rng = np.random.default_rng(0)
        values = {name: rng.random(trials) for name in ("reward", "dollars", "seconds")}
        log = {"arm": [ARMS[i % len(ARMS)] for i in range(trials)], **values}
    with open_storage(url) as storage:
        storage.create(NAME, PROBLEM, 100_000_000, Uniform(), log=log)


def work(url: str, seconds: float, together: int = ASK) -> None:
    """One worker: ask for 16, tell so many of them at once; print the times that calls took."""
    asks, tells = list[float](), list[float]()
    with opened(url) as storage:
        experiment = storage.open(NAME)
        experiment.give_back(*experiment.ask(1))  # everything loaded
        print("ready", flush=True)
        sys.stdin.readline()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            began = time.perf_counter()
            given = experiment.ask(ASK)
            asked = time.perf_counter()
            asks.append(asked - began)
            for start in range(0, len(given), together):
                began = time.perf_counter()
                some = given[start : start + together]
                experiment.tell_many([(t, 0.1 * t.token % 1.0, [0.5, 1.5]) for t in some])
                tells.append(time.perf_counter() - began)
    print(json.dumps({"asks": asks, "tells": tells, "memory": peak()}), flush=True)


def peak() -> float:
    """The most MB that this process held; getrusage would also count what its parent held when it started it."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(url: str, workers: int, seconds: float, together: int = ASK) -> dict[str, Any]:
    """So many workers at once."""
    words = [sys.executable, "-m", "soak.throughput", url, str(seconds), str(together)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    crew = [subprocess.Popen(words, **pipes) for _ in range(workers)]  # type: ignore[call-overload]
    for process in crew:
        assert process.stdout.readline() == "ready\n"
    for process in crew:
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [json.loads(process.communicate()[0]) for process in crew]
    asks, tells = (np.concatenate([a[what] for a in answers]) for what in ("asks", "tells"))
    return {
        "tells a second": together * len(tells) / seconds,
        "asks": asks,
        "tells": tells,
        "memory": max(a["memory"] for a in answers),
    }


def compare(
    empty: str, full: str, trials: int, workers: int = 8, seconds: float = 5.0, turns: int = 3
) -> dict[str, Any]:
    """An empty database and one with many trials, measured in turns."""
    prepare(empty, 0)
    began = time.monotonic()
    prepare(full, trials)
    loaded = time.monotonic() - began
    runs: dict[str, list[dict[str, Any]]] = {empty: [], full: []}
    for _ in range(turns):
        for url, found in runs.items():
            found.append(measure(url, workers, seconds))
    result: dict[str, Any] = {"trials": trials, "workers": workers, "loading s": round(loaded, 1)}
    for label, url in (("empty", empty), ("full", full)):
        result[f"{label}: tells a second"] = round(float(np.median([r["tells a second"] for r in runs[url]])))
        result[f"{label}: MB of a worker"] = round(max(r["memory"] for r in runs[url]))
        for what in ("asks", "tells"):
            times = np.concatenate([r[what] for r in runs[url]])
            result[f"{label}: {what} p50 p99 ms"] = [round(1e3 * float(q), 1) for q in np.percentile(times, [50, 99])]
    for what in ("asks", "tells"):
        ratio = result[f"full: {what} p50 p99 ms"][1] / result[f"empty: {what} p50 p99 ms"][1]
        result[f"p99 of {what}, full over empty"] = round(ratio, 2)
    return result


def databases(server: Any, names: list[str]) -> list[str]:
    """URLs of new databases on a server."""
    import sqlalchemy as sa

    from bestmix.experiments.sql.database import parse_url

    base = parse_url(server.url)
    engine = sa.create_engine(base, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for name in names:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
    engine.dispose()
    return [base.set(database=name).render_as_string(hide_password=False) for name in names]


def files(folder: Path, names: list[str]) -> list[str]:
    """URLs of new files."""
    return [f"sqlite:///{folder / name}.db" for name in names]


if __name__ == "__main__":
    work(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
