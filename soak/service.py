"""The HTTP service under load and faults: killed, overloaded, sent nonsense."""

import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from bestmix import Problem, Uniform
from bestmix.client import connect
from bestmix.experiments import open_storage
from bestmix.service.tokens import Tokens
from soak import history, throughput, worker

PROBLEM = Problem(["a", "b", "c", "d"], {"cost": 1.0})
BESTMIX = [sys.executable, "-c", "from bestmix.cli import main; main()"]


class Serving:
    """``bestmix serve`` in a process of its own, always on the same port; its token is in BESTMIX_TOKEN."""

    def __init__(self, storage: str, folder: Path) -> None:
        with open_storage(storage) as opened:
            os.environ["BESTMIX_TOKEN"] = Tokens(opened).create("admin")[1]
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = (folder / "server.log").open("ab")
        options = ["--port", str(self.port), "--no-session", "--no-warm-up", "--rate", "100000"]
        self.command = [*BESTMIX, "serve", "--storage", storage, *options]
        self.process = self._start()
        self.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self.command, stdout=self.log, stderr=self.log)

    def wait(self) -> None:
        """Until it answers."""
        connect(self.url, patience=60.0).experiments(limit=1)

    def kill(self) -> None:
        """``kill -9``, and start it again at once."""
        self.process.kill()
        self.process.wait()
        self.process = self._start()

    def stop(self) -> None:
        """End it as systemd would."""
        self.process.terminate()
        self.process.wait(40)
        self.log.close()


def kill(storage: str, folder: Path, kills: int, workers: int = 8) -> dict[str, Any]:
    """Kill the server again and again while workers ask and tell; what was acknowledged is there, once."""
    folder.mkdir(parents=True)
    name, began = f"kills {time.time_ns()}", time.monotonic()
    with open_storage(storage, patience=120.0) as opened:
        experiment = opened.create(name, PROBLEM, 10_000_000, Uniform(), lease=5.0, failures=10**9)
        serving = Serving(storage, folder)
        seen: list[dict[str, Any]] = []
        failures: list[str] = []
        crew = [
            threading.Thread(target=_work, args=(serving.url, name, f"worker{i}", folder, failures))
            for i in range(workers)
        ]
        for thread in crew:
            thread.start()
        for _ in range(kills):
            serving.wait()
            time.sleep(0.2)
            seen.append({"complete": experiment.state.complete})
            serving.kill()
        serving.wait()
        experiment.stop("enough")
        for thread in crew:
            thread.join(120)
        serving.stop()
        problems = [p for p in history.check(experiment, folder, []) if "ended as stopped" not in p] + failures
        told = [look["complete"] for look in seen]
        problems += [] if told == sorted(told) else ["the number of results went down at a moment"]
        problems += [f"{sum(t.is_alive() for t in crew)} workers hang"] if any(t.is_alive() for t in crew) else []
        state = experiment.state
    return {
        "kills": kills,
        "workers": workers,
        "results": state.complete,
        "expired": state.expired,
        "surplus": state.surplus,
        "seconds": round(time.monotonic() - began, 1),
        "problems": problems[:10],
    }


def _work(url: str, name: str, who: str, folder: Path, failures: list[str]) -> None:
    from bestmix.experiments import Closed

    try:
        worker.main(url, name, who, str(folder))
    except Closed:
        pass  # it was stopped, at last
    except Exception as error:
        failures.append(f"{who} needed a hand: {error!r}")


def load(folder: Path, trials: int, seconds: float, minutes: float) -> dict[str, Any]:
    """How fast results are acknowledged, how long pages take with many trials, whether memory stays."""
    empty, full = throughput.files(folder, ["empty", "full"])
    throughput.prepare(empty, 0)
    throughput.prepare(full, trials)
    found: dict[str, Any] = {"problems": []}
    serving = [Serving(url, folder) for url in (empty, full)]
    tokens = {}
    for server, url in zip(serving, (empty, full), strict=True):
        with open_storage(url) as opened:
            tokens[server.url] = Tokens(opened).create("admin")[1]
    pages = {"empty": [], "full": []}
    for _ in range(20):
        for label, server in zip(pages, serving, strict=True):
            pages[label].append(_page(server.url, tokens[server.url]))
    times = {label: float(np.median([t for t, _ in looks[2:]])) for label, looks in pages.items()}
    found["page of an empty experiment, ms"] = round(1e3 * times["empty"], 1)
    found[f"page with {trials:,} trials, ms"] = round(1e3 * times["full"], 1)
    found["page, full over empty"] = round(times["full"] / times["empty"], 2)
    found["page, kB"] = round(max(size for _, size in pages["full"]) / 1000, 1)
    os.environ["BESTMIX_TOKEN"] = tokens[serving[0].url]
    for together in (1, throughput.ASK):
        got = throughput.measure(serving[0].url, 8, seconds, together)
        middle, slow = np.percentile(got["tells"], [50, 99])
        label = f"tells of {together}"
        found[f"{label}: results a second"] = round(got["tells a second"])
        found[f"{label}: p50 p99 ms"] = [round(1e3 * float(middle), 1), round(1e3 * float(slow), 1)]
        found[f"{label}: p99 over p50"] = round(float(slow / middle), 2)
    memory = []
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end:
        throughput.measure(serving[0].url, 8, min(20.0, 10 * minutes), throughput.ASK)
        memory.append(_memory(serving[0].url))
    found["memory, MB"] = [round(m / 1e6, 1) for m in (memory[0], memory[len(memory) // 2], memory[-1])]
    for server in serving:
        server.stop()
    return found


def _page(url: str, token: str) -> tuple[float, int]:
    """Seconds and bytes of an experiment's page."""
    transport = connect(url, token).transport
    began = time.perf_counter()
    content = transport.fetch(f"/experiments/{throughput.NAME}")
    took = time.perf_counter() - began
    transport.close()
    return took, len(content)


def _memory(url: str) -> float:
    text = connect(url).transport.fetch("/metrics").decode()
    return float(re.search(r"^process_resident_memory_bytes (\S+)", text, re.M)[1])  # type: ignore[index]


def fuzz(folder: Path, examples: int) -> dict[str, Any]:
    """Requests that schemathesis makes up from the OpenAPI document."""
    from soak.nonsense import send

    serving = Serving(f"sqlite:///{folder / 'fuzz.db'}", folder)
    try:
        return send(serving.url, os.environ["BESTMIX_TOKEN"], examples)
    finally:
        serving.stop()
