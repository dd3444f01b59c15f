"""Where the chunks of a sweep run: threads, worker processes, or any executor of the user's."""

import multiprocessing
import os
import pickle
import signal
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

from bestmix.simulation.cells import BLOCK, Cell, Outcomes, run_chunk


class Chunk(NamedTuple):
    """Blocks [first, last) of the cell at a place of the grid."""

    place: int
    first: int
    last: int

    def size(self, runs: int) -> int:
        """How many runs it has, if the cell has ``runs``.

        >>> Chunk(0, first=2, last=4).size(runs=900)
        400
        """
        return min(self.last * BLOCK, runs) - self.first * BLOCK


Finished = tuple[Chunk, Outcomes]
Pool = TypeVar("Pool", bound=Executor)

_left: list[Executor] = []  # pools that an interrupt left at work


def run_chunks(
    cells: Sequence[Cell], chunks: Sequence[Chunk], runs: int, executor: Executor | None, threads: int | None
) -> Generator[Finished, None, None]:
    """Outcomes of the chunks as they finish; without an executor compiled ones in threads, others in processes."""
    if executor is not None:
        yield from _through(executor, [cell.bare() for cell in cells], chunks, runs)
        return
    workers = threads or cores()
    compiled = [chunk for chunk in chunks if cells[chunk.place].compiled]
    other = [chunk for chunk in chunks if not cells[chunk.place].compiled]
    if compiled:
        with interruptible(ThreadPoolExecutor(workers)) as pool:
            yield from _through(pool, cells, compiled, runs)
    if other and workers > 1 and _can_be_sent([cells[chunk.place] for chunk in other]):
        with interruptible(ProcessPoolExecutor(workers, initializer=_leave_interrupts_to_the_parent)) as processes:
            yield from _through(processes, [cell.bare() for cell in cells], other, runs)
    else:
        for chunk in other:
            yield chunk, run_chunk(cells[chunk.place], chunk.first, chunk.last, runs)


def _through(executor: Executor, cells: Sequence[Cell], chunks: Sequence[Chunk], runs: int) -> Iterator[Finished]:
    futures: dict[Future[Outcomes], Chunk] = {}
    try:
        for chunk in chunks:
            futures[executor.submit(run_chunk, cells[chunk.place], chunk.first, chunk.last, runs)] = chunk
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()


@contextmanager
def interruptible(pool: Pool) -> Iterator[Pool]:
    """The pool, shut down in the end; after an interrupt nobody waits for what is at work, which may take a minute.

    >>> with interruptible(ThreadPoolExecutor(2)) as pool:
    ...     list(pool.map(abs, [-1, 2]))
    [1, 2]
    """
    wait = True
    try:
        yield pool
    except (KeyboardInterrupt, GeneratorExit):  # the latter: whoever takes the results was interrupted
        wait = False
        _left.append(pool)
        raise
    finally:
        pool.shutdown(wait, cancel_futures=True)


def end_if_at_work(code: int) -> None:
    """End this process, and its worker processes, if an interrupt left some work: Python would wait for it."""
    if _left:
        for child in multiprocessing.active_children():
            child.kill()
        os._exit(code)


def cores() -> int:
    """Cores that this process may use.

    >>> cores() >= 1
    True
    """
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _leave_interrupts_to_the_parent() -> None:
    """Ctrl-C reaches every process of the terminal; only the parent answers it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _can_be_sent(cells: list[Cell]) -> bool:
    """Whether worker processes can be given these cells; a function from a notebook cannot."""
    try:
        pickle.dumps([cell.bare() for cell in cells])
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True
