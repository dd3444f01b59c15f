"""Simulation on two cores: threads, and a Dask cluster of two single-thread workers on this machine.

Only what is measured while nothing else runs says how much faster two cores are: beside other work one thread and
two get shares of the machine that have nothing to do with each other. Such rounds are thrown away and made again.
"""

import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import psutil
from distributed import Client

import bestmix as bm
from bench.problems import sixteen
from bench.timing import Action, Figure, in_turns, shown

TITLE = "Simulation on two cores against one thread (wall clock)"
CORES = 2
OTHERS = 0.05  # share of the machine that other processes may take in a round that counts
TRIES = 4  # rounds that may be thrown away
SEEDS = itertools.count()  # a new one for every call: a cluster may remember the results of a call before


def measure(quick: bool) -> list[Figure]:
    return [threads(quick), dask(quick)]


def threads(quick: bool) -> Figure:
    def job(count: int, runs: int) -> None:
        bm.simulate("D2P", bm.SFSR(), 8_000, runs=runs, seed=next(SEEDS), threads=count)

    runs = size_for(partial(job, 1), 0.5 if quick else 4.0)
    ratio, note = compare(partial(job, 2, runs), partial(job, 1, runs), 1 if quick else 4)
    return Figure("two threads", ratio, target=1.7, possible=CORES, note=f"{runs:,} runs of SFSR on D2P: {note}")


def dask(quick: bool) -> Figure:
    with cluster(workers=2) as client:
        spread = partial(grid, executor=client.get_executor())
        for _ in range(3):
            spread(1_000)  # each worker loads its machine code
        runs = size_for(partial(grid, threads=1), 1.0 if quick else 10.0)
        ratio, note = compare(partial(spread, runs), partial(grid, runs, threads=1), 1 if quick else 3)
    note = f"12 cells of {runs:,} runs: {note}"
    return Figure("Dask, two workers of one thread", ratio, target=1.5, possible=CORES, note=note)


def compare(both: Action, one: Action, rounds: int) -> tuple[float | None, str]:
    """How much faster two cores are, None on a busy machine; the note says what it had to give at that time."""
    actions, kept, shares = [both, one, partial(only_draw, 2), partial(only_draw, 1)], [], []
    while len(kept) < rounds and len(shares) < rounds + TRIES:
        before = busy_seconds()
        seconds = in_turns(actions, 1)[0]
        shares.append((busy_seconds() - before) / (seconds.sum() * psutil.cpu_count()))
        if shares[-1] <= OTHERS:
            kept.append(seconds)
    if len(kept) < rounds:
        return (
            None,
            f"other processes took {min(shares):.0%} to {max(shares):.0%} of the machine: run it on a quiet one",
        )
    two, single, free_two, free_one = np.array(kept).min(axis=0)
    note = f"{shown(single)} and {shown(two)}; two threads that only draw normals: {free_one / free_two:.2f}x"
    return single / two, note


def busy_seconds() -> float:
    """CPU seconds that the machine has spent on others than this process and those that it has started."""
    mine, all_cores = psutil.Process(), psutil.cpu_times()
    ours = [process.cpu_times() for process in (mine, *mine.children(recursive=True))]
    busy = sum(all_cores) - all_cores.idle - all_cores.iowait - all_cores.guest - all_cores.guest_nice
    return float(busy - sum(times.user + times.system for times in ours))


def only_draw(count: int) -> None:
    """A fixed number of normals, spread over threads that share nothing: two free cores make it twice as fast."""

    def draw(seed: int) -> None:
        rng, buffer = np.random.default_rng(seed), np.empty(4096)
        for _ in range(16_000 // count):
            rng.standard_normal(out=buffer)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(draw, range(count)))


def grid(runs: int, **options: object) -> None:
    """Twelve cells: two instances, three strategies, two budgets."""
    instances = {"sixteen": sixteen(), "D2P": bm.catalog.load("D2P")}
    strategies = [bm.SFSR(), bm.SFSR("lagrangian"), bm.Uniform()]
    bm.sweep(instances, strategies, [4_000, 8_000], runs, seed=next(SEEDS), **options)


def size_for(job: Callable[[int], None], seconds: float) -> int:
    """Runs with which a job takes about this long."""
    runs = 1_000
    job(runs)
    while True:
        start = time.perf_counter()
        job(runs)
        took = time.perf_counter() - start
        if took > 0.2:
            return round(runs * seconds / took / 1_000 + 0.5) * 1_000
        runs *= 4


@contextmanager
def cluster(workers: int) -> Iterator[Client]:
    """A scheduler and workers as processes of their own, on the loopback address; stopped at the end."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        file = folder / "scheduler.json"
        common = ["--scheduler-file", file]
        scheduler = ["scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", *common]
        stack.callback(stop, start(scheduler, folder))
        deadline = time.monotonic() + 60
        while not file.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        one = ["worker", "--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1", *common]
        for _ in range(workers):
            stack.callback(stop, start([*one, "--local-directory", folder], folder))
        client = stack.enter_context(Client(scheduler_file=str(file), timeout=60))
        client.wait_for_workers(workers, timeout=60)
        yield client


def start(arguments: list[str | Path], folder: Path) -> subprocess.Popen[bytes]:
    with (folder / f"{arguments[0]}.log").open("ab") as log:
        return subprocess.Popen([sys.executable, "-m", "dask", *arguments], stdout=log, stderr=log)


def stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
