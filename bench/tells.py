"""One result, one call: how many single tells a second the server acknowledges, beside the framework's floor."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bench.timing import Figure

TITLE = "Single tells over HTTP on SQLite, clients and server on the same cores"
CLIENTS = 8
ASK = 200  # trials handed out at a time, so that what is measured is telling them
NAME = "tells"
TELLS, SLOW, WAIT = 1200.0, 5.0, 4.0  # a second; p99 over the median; milliseconds of one client's median


def measure(quick: bool) -> list[Figure]:
    """8 clients that tell one by one, then one alone, then 8 that call a route that does nothing."""
    seconds = 1.0 if quick else 8.0
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, serving(Path(folder)) as url:
        many = run(url, "tell", CLIENTS, seconds)
        floor = run(url, "empty", CLIENTS, seconds)
        one = run(url, "tell", 1, seconds)
    middle, slow = np.percentile(many["times"], [50, 99])
    rate, most = (len(found["times"]) / seconds for found in (many, floor))
    alone = 1e3 * float(np.median(one["times"]))
    return [
        Figure(f"tells a second, {CLIENTS} clients", rate, "/s", TELLS),
        Figure("99th percentile over the median", float(slow / middle), "x", SLOW, True, f"{1e3 * middle:.1f} ms"),
        Figure("median of one client that waits", alone, "ms", WAIT, True),
        Figure("empty calls with a token a second", most, "/s", note="the framework's floor, in the same run"),
        Figure("tells over empty calls", rate / most, "x"),
        Figure("CPU of the server for a tell", many["cpu"] / len(many["times"]) * 1e3, "ms"),
        Figure("CPU of a client for a tell", many["clients"] / len(many["times"]) * 1e3, "ms"),
        Figure("CPU of the server for an empty call", floor["cpu"] / len(floor["times"]) * 1e3, "ms"),
    ]


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A server with an experiment; its token is in BESTMIX_TOKEN, its process in BENCH_SERVER."""
    from bestmix import Problem, Uniform, open_storage
    from bestmix.service.tokens import Tokens

    path = folder / "tells.db"
    with open_storage(path) as storage:
        problem = Problem([f"arm{i}" for i in range(8)], {"dollars": 1.0, "seconds": 2.0})
        storage.create(NAME, problem, 100_000_000, Uniform())
        os.environ["BESTMIX_TOKEN"] = Tokens(storage).create("work")[1]
    with (folder / "log").open("wb") as log:
        command = [sys.executable, "-m", "bench.tells", "serve", str(path)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            assert process.stdout is not None
            os.environ["BENCH_SERVER"] = str(process.pid)
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
            process.wait(30)


def run(url: str, what: str, clients: int, seconds: float) -> dict[str, Any]:
    """So many processes at once; the times of their calls, and the server's CPU seconds meanwhile."""
    command = [sys.executable, "-m", "bench.tells", what, url, str(seconds)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    crew = [subprocess.Popen(command, **pipes) for _ in range(clients)]  # type: ignore[call-overload]
    for process in crew:
        assert process.stdout.readline() == "ready\n"
    before = cpu(int(os.environ["BENCH_SERVER"]))
    for process in crew:
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for process in crew]
    used = cpu(int(os.environ["BENCH_SERVER"])) - before
    for process in crew:
        process.communicate()
    return {
        "times": np.concatenate([answer["times"] for answer in answers]),
        "cpu": used,
        "clients": sum(answer["cpu"] for answer in answers),
    }


def cpu(process: int) -> float:
    """Seconds that a process has computed."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def client(what: str, url: str, seconds: float) -> None:
    """One client: calls one after another until the time is over; prints how long each took."""
    from bestmix.client import connect

    server = connect(url)
    experiment = server.open(NAME)
    empty = f"/v1/experiments/{experiment.record.key}/empty"
    given = list(experiment.ask(ASK))
    print("ready", flush=True)
    sys.stdin.readline()
    times, end, used = list[float](), time.perf_counter() + seconds, time.process_time()
    while (began := time.perf_counter()) < end:
        if what == "empty":
            server.transport.call("POST", empty, {})
        elif not given:
            given = list(experiment.ask(ASK))
            continue
        else:
            experiment.tell(given.pop(), 0.5, [0.5, 1.5])
        times.append(time.perf_counter() - began)
    print(json.dumps({"times": times, "cpu": time.process_time() - used}), flush=True)
    if given:
        experiment.give_back(*given)


def serve(path: str) -> None:
    """The service, with a route that needs a token and does nothing."""
    from fastapi import APIRouter, Depends
    from starlette.responses import JSONResponse, Response

    from bestmix import open_storage
    from bestmix.service.access import WORK
    from bestmix.service.app import Settings, create_app
    from bestmix.service.bodies import GuardedRoute
    from bestmix.service.server import listen, serve

    router = APIRouter(route_class=GuardedRoute)

    @router.post("/v1/experiments/{experiment}/empty", dependencies=[Depends(WORK)])
    async def empty() -> Response:
        return JSONResponse({})

    with open_storage(path) as storage:
        app = create_app(storage, Settings(rate=1e6))
        app.router.routes.extend(router.routes)
        listener = listen("127.0.0.1", 0)
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        serve(app, listener)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        client(sys.argv[1], sys.argv[2], float(sys.argv[3]))
