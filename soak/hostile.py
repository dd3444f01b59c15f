"""The HTTP service among people who mean no good: slow, greedy, or with a token that was taken back."""

import os
import re
import resource
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np

from bestmix import SFSR, Problem, Uniform
from bestmix.client import connect
from bestmix.experiments import open_storage
from bestmix.service.tokens import Tokens
from soak.service import Serving

PROBLEM = Problem(["small", "medium", "large"], {"dollars": 5.0})
SPARE = 500  # descriptors that this process keeps for itself
LONGEST = 2.0  # seconds that a worker's call may take meanwhile
MOST_MEMORY = 700e6  # bytes


class Honest:
    """Workers who ask and tell all the time, and measure how long it takes."""

    def __init__(self, url: str, token: str, workers: int = 4) -> None:
        self.times: list[float] = []
        self.failures: list[str] = []
        self._over = threading.Event()
        self._crew = [threading.Thread(target=self._work, args=(url, token, f"w{i}")) for i in range(workers)]

    def __enter__(self) -> "Honest":
        for thread in self._crew:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        for thread in self._crew:
            thread.join(60)

    def _work(self, url: str, token: str, who: str) -> None:
        server = connect(url, token, patience=10.0)
        try:
            experiment = server.open("honest")
            while not self._over.is_set():
                began = time.monotonic()
                for trial in experiment.ask(1, worker=who):
                    experiment.tell(trial, 1.0, [1.0])
                self.times.append(time.monotonic() - began)
        except Exception as error:
            self.failures.append(f"{who}: {error!r}")
        finally:
            server.close()

    def figures(self) -> dict[str, Any]:
        """How it went for them."""
        problems = self.failures[:5]
        if not self.times:
            return {"problems": [*problems, "the workers did nothing"]}
        middle, slow = np.percentile(self.times, [50, 99])
        if max(self.times) > LONGEST:
            problems.append(f"an ask and a tell took {max(self.times):.1f} s")
        return {
            "asks and tells": len(self.times),
            "p50 p99 longest ms": [round(1e3 * float(t), 1) for t in (middle, slow, max(self.times))],
            "problems": problems,
        }


@contextmanager
def served(folder: Path) -> Iterator[tuple[Serving, Tokens, str]]:
    """A server with an experiment that honest workers use, its tokens, and that of the workers."""
    url = f"sqlite:///{folder / 'hostile.db'}"
    with open_storage(url) as storage:
        storage.create("honest", PROBLEM, 10_000_000, Uniform(), failures=10**9)
        tokens = Tokens(storage)
        serving = Serving(url, folder)
        try:
            yield serving, tokens, tokens.create("work")[1]
        finally:
            if serving.process.poll() is None:
                serving.stop()


def connections(folder: Path, wanted: int, seconds: float) -> dict[str, Any]:
    """So many connections whose heads come a byte at a time, from many addresses; workers notice nothing."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    wanted = min(wanted, hard - SPARE)
    with served(folder) as (serving, _, token), Honest(serving.url, token) as honest:
        opened: list[socket.socket] = []
        end, closed, most = time.monotonic() + seconds, 0, 0
        while time.monotonic() < end:
            while len(opened) < wanted and time.monotonic() < end:
                opened.append(_slow(serving.port, len(opened)))
            alive = [one for one in opened if _drip(one)]
            closed += len(opened) - len(alive)
            opened = alive
            most = max(most, len(opened))
            time.sleep(1.0)
        for one in opened:
            one.close()
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return {"open at once": most, "closed by the server": closed, **honest.figures()}


def _slow(port: int, number: int) -> socket.socket:
    source = f"127.0.{1 + number // 250 % 250}.{1 + number % 250}"
    made = socket.create_connection(("127.0.0.1", port), timeout=10, source_address=(source, 0))
    made.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX: ")
    return made


def _drip(one: socket.socket) -> bool:
    """Send a byte; False, and closed, when the server has given it up."""
    try:
        one.setblocking(False)
        one.send(b"y")
        return True
    except OSError:
        one.close()
        return False


def uploads(folder: Path, number: int) -> dict[str, Any]:
    """So many bodies that stop before their end, half of them with a token; then the server is told to stop."""
    with served(folder) as (serving, tokens, token):
        greedy, memory = tokens.create("work")[1], []
        with ThreadPoolExecutor(50) as pool:
            opened = list(pool.map(lambda k: _stall(serving.port, greedy if k % 2 else None), range(number)))
        with Honest(serving.url, token) as honest:
            end = time.monotonic() + 15.0
            while time.monotonic() < end:
                memory.append(_resident(serving.process.pid))
                time.sleep(0.2)
        opened += [_stall(serving.port, greedy) for _ in range(20)]
        began = time.monotonic()
        serving.process.send_signal(signal.SIGTERM)
        serving.process.wait(60)
        stopping = time.monotonic() - began
        for one in opened:
            one.close()
    figures = honest.figures()
    if max(memory) > MOST_MEMORY:
        figures["problems"].append(f"the server held {max(memory) / 1e6:.0f} MB")
    if stopping > 5.0:
        figures["problems"].append(f"it took {stopping:.1f} s to stop")
    held = {"uploads": number, "memory, MB": round(max(memory) / 1e6), "seconds to stop": round(stopping, 2)}
    return held | figures


def _stall(port: int, token: str | None) -> socket.socket:
    """A body of eight million bytes, of which one is missing."""
    made = socket.create_connection(("127.0.0.1", port), timeout=10)
    access = f"Authorization: Bearer {token}\r\n" if token else ""
    head = f"POST /v1/experiments/honest/tell_many HTTP/1.1\r\nHost: x\r\n{access}Content-Length: 8000000\r\n\r\n"
    try:
        made.sendall(head.encode())
        made.settimeout(2.0)
        for _ in range(79):
            made.sendall(b" " * 100_000)
    except OSError:
        pass  # the server would not take it
    return made


def _resident(process: int) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return float(pages * resource.getpagesize())


def revocation(folder: Path, number: int) -> dict[str, Any]:
    """Streams of so many tokens, which are taken back one after another: how long each goes on."""
    with (
        served(folder) as (serving, tokens, token),
        Honest(serving.url, token, 1) as honest,
        ThreadPoolExecutor(number) as pool,
    ):
        made = [tokens.create("read") for _ in range(number)]
        streams = [_request(serving.port, "/v1/experiments/honest/stream", text) for _, text in made]
        ends = [pool.submit(_end, stream) for stream in streams]
        time.sleep(2.0)
        revoked = [_revoke(tokens, one.prefix) for one, _ in made]
        took = [end.result() - began for end, began in zip(ends, revoked, strict=True)]
    figures = honest.figures()
    if max(took) > 1.0:
        figures["problems"].append(f"a stream went on for {max(took):.2f} s")
    if min(took) < -0.5:
        figures["problems"].append("a stream ended before its token was revoked")
    return {"streams": number, "p50 longest s": [round(float(np.median(took)), 2), round(max(took), 2)], **figures}


def _end(stream: HTTPConnection) -> float:
    """When a stream is over."""
    stream.getresponse().read()
    stream.close()
    return time.monotonic()


def _revoke(tokens: Tokens, prefix: str) -> float:
    """When a token is revoked."""
    time.sleep(0.05)
    tokens.revoke(prefix)
    return time.monotonic()


def starvation(folder: Path, reports: int) -> dict[str, Any]:
    """A read token asks for so many reports of several experiments at once, and for every stream there is."""
    with served(folder) as (serving, tokens, token):
        server = connect(serving.url, os.environ["BESTMIX_TOKEN"])
        keys = []
        for k in range(6):
            experiment = server.create(f"report {k}", PROBLEM, 60, SFSR())
            keys.append(experiment.record.key)
            while given := experiment.ask(20):
                experiment.tell_many([(t, float(len(t.arm)), [len(t.arm) - 1.0]) for t in given])
        small = tokens.create("read")[1]
        _fetch(serving.port, f"/experiments/{keys[0]}/report", small)  # loads what draws
        streams = [_request(serving.port, f"/v1/experiments/{keys[0]}/stream", small) for _ in range(220)]
        refused = sum(one.getresponse().status == 503 for one in streams)
        with Honest(serving.url, token) as honest, ThreadPoolExecutor(reports) as pool:
            began = time.monotonic()
            paths = [f"/experiments/{keys[k % len(keys)]}/report" for k in range(reports)]
            answers = list(pool.map(lambda path: _fetch(serving.port, path, small), paths))
            took = time.monotonic() - began
            another = _request(serving.port, f"/v1/experiments/{keys[0]}/stream", tokens.create("read")[1])
            free = another.getresponse().status == 200
            time.sleep(1.0)
        for one in [*streams, another]:
            one.close()
        server.close()
    figures = honest.figures()
    figures["problems"] += [] if free else ["another token found no stream free"]
    return {
        "reports": {status: answers.count(status) for status in sorted(set(answers))},
        "seconds": round(took, 1),
        "streams refused": refused,
        **figures,
    }


def _request(port: int, path: str, token: str) -> HTTPConnection:
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    return connection


def _fetch(port: int, path: str, token: str) -> int:
    connection = _request(port, path, token)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer.status


def tabs(folder: Path, number: int, seconds: float) -> dict[str, Any]:
    """So many tabs of one browser, each on an experiment of its own, while results come in."""
    import shutil

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        return {"skipped": "Chromium is not installed"}
    from playwright.sync_api import sync_playwright

    with served(folder) as (serving, _, token), sync_playwright() as playwright:
        server = connect(serving.url, os.environ["BESTMIX_TOKEN"])
        found = [server.create(f"tab {k}", PROBLEM, 1000, Uniform()) for k in range(number)]
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context()
        with Honest(serving.url, token, 1) as honest:
            pages = [context.new_page() for _ in found]
            pages[0].goto(f"{serving.url}/login?token={os.environ['BESTMIX_TOKEN']}")
            for page, experiment in zip(pages, found, strict=True):
                page.goto(f"{serving.url}/experiments/{experiment.record.key}", timeout=20_000)
            delays, count, end = [], 0, time.monotonic() + seconds
            while time.monotonic() < end:
                count += 1
                for experiment in found:
                    experiment.tell(experiment.ask()[0], 1.0, [1.0])
                began = time.monotonic()
                for page in pages:
                    page.wait_for_selector(f"#news:has-text('Live: {count} of 1,000')", timeout=20_000)
                delays.append(time.monotonic() - began)
            streams = _metric(serving.url, "bestmix_streams")
        browser.close()
        server.close()
    figures = honest.figures()
    figures["problems"] += [] if streams == 1 else [f"the browser had {streams:g} streams"]
    return {"tabs": number, "updates": count, "longest delay s": round(max(delays), 2), **figures}


def _metric(url: str, name: str) -> float:
    text = connect(url).transport.fetch("/metrics").decode()
    return float(re.search(rf"^{name} (\S+)", text, re.M)[1])  # type: ignore[index]
