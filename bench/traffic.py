"""Live traffic over HTTP: what an edge serves, and what a server needs for many of them."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np

from bench.courses import prices
from bench.timing import Figure, fastest
from bestmix import Edge, Problem, Traffic, catalog, open_experiment
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.cli.edge_bench import measure as serve
from bestmix.client.edge import LONGEST_WAIT
from bestmix.client.edge_server import EdgeServer
from bestmix.strategies.traffic import plan_round

PROBLEM = Problem(["small", "medium", "large"], goal="maximise quality", limits=["dollars <= 1"])
PAIRS, EDGES, SHARE, SECONDS = 400_000, 50, 5.0, 1.0  # targets: a second, edges, % of a core, of a billion requests
TITLE = "Live traffic: what an edge serves, and what a server needs for many of them"


def measure(quick: bool) -> list[Figure]:
    """What is promised of edges and servers."""
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as (process, url, token):
        found = [one_edge(url, token, Path(folder), 1.0 if quick else 5.0)]
        found.append(many_edges(process, url, token, 3.0 if quick else 20.0))
        found.append(alone(Path(folder), 20 if quick else 200))
    return [*found, *planning(), billion()]


@contextmanager
def server(folder: Path):
    """A server of its own process, with an experiment."""
    database = f"sqlite:///{folder / 'x.db'}"
    open_experiment(database, "live", PROBLEM, traffic=Traffic(requests=1_000_000, serve="small")).close()
    program = "from bestmix.cli import main; main()"
    words = [sys.executable, "-c", program, "serve", "--storage", database, "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        line = ""
        while "token=" not in line:
            line = process.stdout.readline()
        address = next(word for word in line.split() if word.startswith("http"))
        threading.Thread(target=process.stdout.read, daemon=True).start()
        url, token = address.partition("/login")[0], address.partition("token=")[2].strip()
        Edge(url, "live", token, spool=folder / "spool", patience=60.0).close()  # when it listens
        yield process, url, token
    finally:
        process.terminate()
        process.wait(30)


def one_edge(url: str, token: str, folder: Path, seconds: float) -> Figure:
    """choose() and record() in one process, with what is added up and reported beside them."""
    with Edge(url, "live", token, spool=folder / "spool") as edge:
        told = serve(edge, seconds, 1, None, False)
        assert told["reported"] == told["requests"]
        units = serve(edge, seconds / 2, 1, None, True)
    note = f"{told['per_second']:,.0f} by the clock on the wall; with units {units['per_cpu_second']:,.0f}"
    return Figure("choose + record, of a second of the processor", told["per_cpu_second"], "", PAIRS, note=note)


def many_edges(process: subprocess.Popen, url: str, token: str, seconds: float) -> Figure:
    """Processor of a server that EDGES edges report to each second, while each waits for new weights."""
    over, first = threading.Event(), EdgeServer(url, "live", token)
    given = url, first.weights(None, 0.0)[1]["experiment"], token
    first.close()
    crew = [threading.Thread(target=job, args=(given, over, k)) for k in range(EDGES) for job in (reports, waits)]
    for thread in crew:
        thread.start()
    time.sleep(5.0)  # the first rounds are planned, and what that takes is loaded, once
    before, began = processor(process.pid), time.monotonic()
    time.sleep(seconds)
    used, passed = processor(process.pid) - before, time.monotonic() - began
    over.set()
    for thread in crew:
        thread.join(60)
    return Figure(f"server's share of a core with {EDGES} edges", 100 * used / passed, "%", SHARE, at_most=True)


def reports(given: tuple[str, str, str], over: threading.Event, place: int) -> None:
    """Report the three arms once a second."""
    own, number = EdgeServer(*given), 0
    over.wait(place / EDGES)
    began = time.monotonic()
    while not over.is_set():
        number += 1
        own.report({"key": f"bench-{os.getpid()}-{place}:{number}", "rows": rows()})
        over.wait(max(began + number - time.monotonic(), 0.0))
    own.close()


def rows() -> list[dict[str, object]]:
    """What a report has of the three arms."""
    return [
        {
            "version": 1,
            "arm": arm,
            "n": 100,
            "sums": {"quality": 70.5, "dollars": 50.25},
            "products": {"quality*quality": 55.5, "quality*dollars": 40.5, "dollars*dollars": 33.25},
        }
        for arm in PROBLEM.arms
    ]


def alone(folder: Path, reports: int) -> Figure:
    """Reports one after another, each counted in a transaction of its own."""
    with open_experiment(folder / "alone.db", "live", PROBLEM, traffic=Traffic(requests=10**9, serve="small")) as live:
        for k in range(1, 4):  # the first round is planned
            live.tell_sums(rows(), f"edge:{k}")
        began = time.process_time()
        for k in range(4, 4 + reports):
            live.tell_sums(rows(), f"edge:{k}")
        seconds = (time.process_time() - began) / reports
        sizes = len(json.dumps({"key": "web-1:1", "rows": rows()})), len(json.dumps(live.published().to_dict()))
    note = f"a report has {sizes[0]} bytes, the document of weights {sizes[1]}"
    return Figure("a report alone, counted in SQLite, processor", 1e3 * seconds, "ms", note=note)


def planning() -> list[Figure]:
    """The next version's weights, in plain Python as a server makes them; a thousand trials of each arm are in."""
    figures = []
    for instance in (prices(), catalog.load("A2"), catalog.load("D3P")):
        rng = np.random.default_rng(0)
        arms, size = len(instance.arms), instance.means.shape[1]
        evidence = Evidence(instance.problem, [Moments(size).plus(instance.draw(a, 1000, rng)) for a in range(arms)])
        (seconds,) = fastest([partial(plan_round, evidence, Traffic(), 10_000)], 3, 0.0, time.process_time)
        what = f"the next version for {arms} arms, {size - 1} limit{'s' if size > 2 else ''}, processor"
        figures.append(Figure(what, 1e3 * seconds, "ms"))
    return figures


def waits(given: tuple[str, str, str], over: threading.Event, place: int) -> None:
    """Wait for new weights, as edges do."""
    own, tag = EdgeServer(*given), None
    while not over.is_set():
        found = own.weights(tag, LONGEST_WAIT)
        tag = tag if found is None else found[0]
    own.close()


def processor(pid: int) -> float:
    """Seconds of the processor that a process has used."""
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def billion() -> Figure:
    """The answer from the sums of a billion requests."""
    live = open_experiment("memory://", "live", PROBLEM, traffic=Traffic())
    n = 1_000_000_000
    rows = [
        {
            "version": 1,
            "arm": arm,
            "n": n // 3,
            "sums": {"quality": mean * n / 3, "dollars": cost * n / 3},
            "products": {
                "quality*quality": (mean**2 + 0.04) * n / 3,
                "quality*dollars": mean * cost * n / 3,
                "dollars*dollars": (cost**2 + 0.01) * n / 3,
            },
        }
        for arm, mean, cost in zip(PROBLEM.arms, (0.5, 0.6, 0.8), (0.2, 0.7, 2.0), strict=True)
    ]
    began, wall = time.process_time(), time.perf_counter()
    live.tell_sums(json.loads(json.dumps(rows)), "all")
    answer = live.recommend()
    seconds, passed = time.process_time() - began, time.perf_counter() - wall
    note = f"{passed:.2f} s by the clock on the wall; {answer.sentence()}"
    return Figure("sums of a billion requests counted and answered, processor", seconds, "s", SECONDS, True, note)
