"""What the tests of experiments share: a clock that stands still, a problem, names."""

import os
from dataclasses import dataclass
from itertools import count

from bestmix import Problem

KINDS = ["memory", "sqlite", "wal", "postgres"]
NAMES = (f"experiment {number} of {os.getpid()}" for number in count())
PROBLEM = Problem(["a", "b", "c"], {"dollars": 1.0})


@dataclass
class FakeClock:
    """Time moves when a test says so."""

    boot: str = "boot"
    ticks: float = 1000.0
    wall: float = 1_700_000_000.0

    def tick(self):
        return self.ticks

    def now(self):
        return self.wall

    def pass_time(self, seconds):
        self.ticks += seconds
        self.wall += seconds
