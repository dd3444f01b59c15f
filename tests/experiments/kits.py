"""What the tests of experiments share: a clock that stands still, a problem, names."""

import os
import threading
import time
from dataclasses import dataclass
from itertools import count

from bestmix import Problem
from bestmix.experiments.sql.group_commit import PendingCalls

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


def crowd(experiment, calls):
    """The answers of calls that wait in line in this order while somebody else writes."""
    group_commit, key, found = experiment.storage.store._group_commit, experiment.record.key, {}
    pending = group_commit._pending[key] = PendingCalls()
    crew = []
    for k, call in enumerate(calls):
        crew.append(threading.Thread(target=lambda k=k, call=call: found.update({k: call()})))
        crew[-1].start()
        while len(pending.waiting) <= k and crew[-1].is_alive():
            time.sleep(0.0005)
    if pending.waiting:
        pending.waiting[0].leads = True
        pending.waiting[0].woken.set()
    for thread in crew:
        thread.join(60)
    assert not group_commit._pending.get(key)
    return [found[k] for k in range(len(calls))]
