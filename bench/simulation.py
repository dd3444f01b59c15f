"""Simulated runs on one thread: against the plain-Python twin, and against drawing the noise alone."""

import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from tests import naive

from bench.problems import sixteen
from bench.timing import Figure, fastest, in_turns, shown
from bestmix import SFSR, Uniform, catalog
from bestmix.simulation.cells import BLOCK, Cell
from bestmix.strategies import schedule

TITLE = "Simulation on one thread"
MEMORY = """
import bestmix
from bench.problems import sixteen
result = bestmix.simulate(sixteen(), bestmix.SFSR(), 2_000, runs={runs}, threads=1)
assert result.runs == {runs}
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def measure(quick: bool) -> list[Figure]:
    one, two = Cell(sixteen(), SFSR(), 2_000, 0), Cell(catalog.load("D2P"), SFSR(), 8_000, 0)
    twins = [against_twin(one, 1_500.0, 20, quick), against_twin(two, 4_000.0, 4, quick)]
    limits = [
        against_noise(Cell(cell.instance, strategy, cell.budget, 0), aim, quick)
        for cell, aim in ((one, 2.5), (two, 4.5))
        for strategy in (SFSR(), SFSR("lagrangian"), Uniform())
    ]
    return [*twins, *limits, memory(100_000 if quick else 1_000_000)]


def named(cell: Cell) -> str:
    """What a figure calls a cell."""
    return f"{cell.strategy.name}, L = {len(cell.instance.bound)}, K = {len(cell.instance.arms)}, N = {cell.budget:,}"


def block(cell: Cell, runs: int) -> Callable[[], None]:
    """An action that makes this many compiled runs, new ones each time."""
    size = 1 + len(cell.instance.bound)
    answer, weight, pulls = np.zeros((runs, size), dtype=np.int64), np.zeros((runs, size)), np.zeros(runs, np.int64)
    run = partial(cell.fast, np.random.default_rng(1), answer, weight, pulls)
    run()
    return run


def against_twin(cell: Cell, target: float, runs: int, quick: bool) -> Figure:
    """The twin gets its trials for nothing: they are drawn beforehand."""
    rng, instance = np.random.default_rng(0), cell.instance
    arms, costs = len(instance.arms), len(instance.bound)
    longest = schedule.rejects(arms, arms, costs, cell.budget)[-1]
    trials = [[instance.draw(a, longest, rng) for a in range(arms)] for _ in range(runs)]

    def twin() -> None:
        for some in trials:
            naive.sfsr_float(some, [], instance.bound, cell.budget)

    ours = 500 if quick else 5_000
    mine, other = in_turns([block(cell, ours), twin], 1 if quick else 5, time.thread_time).min(axis=0)
    mine, other = mine / ours, other / runs
    note = f"{shown(mine)} against {shown(other)} a run"
    return Figure(f"{named(cell)}: plain-Python twin", other / mine, target=target, note=note)


def against_noise(cell: Cell, aim: float, quick: bool) -> Figure:
    """Time of a run in units of the time that NumPy needs for its normals alone."""
    buffer, rng = np.empty(4096), np.random.default_rng(2)
    draw = partial(rng.standard_normal, out=buffer)
    run, one = fastest([block(cell, BLOCK), draw], 3 if quick else 15, 0.01, time.thread_time)
    count = normals(cell, 5 if quick else 40)
    run, noise = run / BLOCK, count * one / len(buffer)
    note = f"{shown(run)} a run; its {count:.0f} normals take {shown(noise)}"
    return Figure(f"{named(cell)}: time / time of its noise", run / noise, target=aim, at_most=True, note=note)


def normals(cell: Cell, runs: int) -> float:
    """Normals in a run, on average over some live ones: reward and costs of each arm asked for, each round."""
    rng, names = np.random.default_rng(3), {name: a for a, name in enumerate(cell.instance.arms)}
    count = 0
    for _ in range(runs):
        search = cell.strategy.start(cell.instance.problem, cell.budget)
        while owed := search.ask():
            count += len(owed) * (1 + len(cell.instance.bound))
            for arm, size in owed.items():
                rows = cell.instance.draw(names[arm], size, rng)
                search.tell(arm, rows[:, 0], rows[:, 1:])
    return count / runs


def memory(runs: int) -> Figure:
    """Largest resident memory of a process that makes all the runs of a cell, its machine code being there."""
    peak_megabytes(1_000)
    return Figure(f"peak memory of {runs:,} runs of a cell", peak_megabytes(runs), "MB", 400.0, at_most=True)


def peak_megabytes(runs: int) -> float:
    # Not ru_maxrss: a child inherits that from the process that starts it.
    done = subprocess.run([sys.executable, "-c", MEMORY.format(runs=runs)], capture_output=True, text=True, check=True)
    return int(done.stdout) / 1024
