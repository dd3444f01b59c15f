import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import bestmix as bm
from bestmix.simulation.cells import BLOCK, Cell
from bestmix.simulation.executors import Chunk, cores, interruptible, run_chunks

CELL = Cell(bm.catalog.load("D1P"), bm.Uniform(), 400, 3)


@pytest.mark.parametrize(
    ("runs", "size"), [(10 * BLOCK, 2 * BLOCK), (4 * BLOCK - 1, 2 * BLOCK - 1), (2 * BLOCK + 1, 1)]
)
def test_a_chunk_ends_where_the_runs_end(runs, size):
    assert Chunk(0, 2, 4).size(runs) == size


def test_chunks_together_are_all_runs():
    runs = 3 * BLOCK + 7
    chunks = [Chunk(0, 0, 2), Chunk(0, 2, 4)]
    found = dict(run_chunks([CELL], chunks, runs, None, threads=2))
    assert {chunk: len(outcomes) for chunk, outcomes in found.items()} == {c: c.size(runs) for c in chunks}
    whole = bm.simulate(CELL.instance, CELL.strategy, CELL.budget, runs, CELL.seed)
    assert sum(int((found[c].outcome != 0).sum()) for c in chunks) == whole.errors


def test_cores_are_those_that_this_process_may_use():
    assert 1 <= cores() <= (os.cpu_count() or 1)


@pytest.mark.parametrize(("error", "waits"), [(KeyboardInterrupt, False), (RuntimeError, True)])
def test_an_interrupt_waits_for_nothing_and_a_fault_for_what_is_at_work(error, waits):
    tasks, ended = [], threading.Event()

    def fail():
        with interruptible(ThreadPoolExecutor(1)) as pool:
            tasks.extend([pool.submit(lambda: (time.sleep(0.3), ended.set())), pool.submit(int)])
            raise error

    with pytest.raises(error):
        fail()
    assert ended.is_set() == waits
    assert tasks[1].cancelled()
    assert ended.wait(10)
