"""Timing in turns, tables and result files.

A figure is a ratio of two things that were timed alternately in the same process, so that a slow moment
of the machine hits both; each side counts with its fastest or its median repetition.
"""

import json
import math
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"
console = Console(width=120)

Action = Callable[[], object]
Clock = Callable[[], float]


@dataclass(frozen=True)
class Figure:
    """One measured number and what it should be.

    ``target`` is the least acceptable number, or the largest with ``at_most``; None is for information. A number above
    what is ``possible`` is a fault of the measurement.
    """

    what: str
    measured: float | None
    unit: str = "x"
    target: float | None = None
    at_most: bool = False
    note: str = ""
    possible: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the target is met; nothing without one."""
        if self.measured is None:
            return "not available"
        if self.possible is not None and self.measured > self.possible:
            return "impossible"
        if self.target is None:
            return ""
        met = self.measured <= self.target if self.at_most else self.measured >= self.target
        return "ok" if met else "miss"


def in_turns(actions: Sequence[Action], rounds: int, clock: Clock = time.perf_counter) -> np.ndarray:
    """Seconds of each action in each round (rounds, actions); they take turns, in alternating order."""
    seconds = np.empty((rounds, len(actions)))
    for r in range(rounds):
        order = range(len(actions)) if r % 2 == 0 else reversed(range(len(actions)))
        for i in order:
            start = clock()
            actions[i]()
            seconds[r, i] = clock() - start
    return seconds


def repeated(action: Action, least: float, clock: Clock = time.perf_counter) -> tuple[Action, int]:
    """An action repeated so often that it takes about ``least`` seconds, and how often that is."""
    times = 1
    while True:
        start = clock()
        for _ in range(times):
            action()
        seconds = clock() - start
        if seconds >= least / 2:
            break
        times = math.ceil(times * min(max(least / max(seconds, 1e-9), 2.0), 100.0))

    def several() -> None:
        for _ in range(times):
            action()

    return several, times


def fastest(actions: Sequence[Action], rounds: int, least: float, clock: Clock = time.perf_counter) -> np.ndarray:
    """Seconds of one call of each action: the fastest of several rounds of at least ``least`` seconds each."""
    many = [repeated(action, least, clock) for action in actions]
    seconds = in_turns([action for action, _ in many], rounds, clock).min(axis=0)
    return seconds / np.array([times for _, times in many])


def growth(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Exponent of the size, by a straight line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def shown(seconds: float) -> str:
    """A time in the unit that suits it.

    >>> shown(0.00123)
    '1.23 ms'
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def show(title: str, figures: Sequence[Figure]) -> None:
    """Print a table of figures."""
    table = Table(title=title, title_justify="left", title_style="bold", expand=True)
    for name, justify in (("what", "left"), ("measured", "right"), ("target", "right"), ("", "left")):
        table.add_column(name, justify=justify, no_wrap=name != "what")
    table.add_column("note", style="dim")
    colour = {"ok": "green", "miss": "red", "impossible": "red"}
    for f in figures:
        measured = "-" if f.measured is None else _number(f.measured, f.unit)
        target = "" if f.target is None else f"{'<=' if f.at_most else '>='} {_number(f.target, f.unit)}"
        verdict = f"[{colour[f.verdict]}]{f.verdict}[/]" if f.verdict in colour else f.verdict
        table.add_row(f.what, measured, target, verdict, f.note)
    console.print(table)


def save(part: str, seconds: float, figures: Sequence[Figure], quick: bool) -> None:
    """Write the figures of a part to ``results/<part>.json``."""
    RESULTS.mkdir(exist_ok=True)
    content = {
        "part": part,
        "quick": quick,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "seconds": round(seconds, 1),
        "figures": [asdict(f) | {"verdict": f.verdict} for f in figures],
    }
    (RESULTS / f"{part}.json").write_text(json.dumps(content, indent=2) + "\n")


def _number(value: float, unit: str) -> str:
    digits = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return f"{digits}{unit}" if unit in ("x", "") else f"{digits} {unit}"
