"""A function on many items in threads, with a bar and an orderly end on Ctrl-C."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from threading import Event
from typing import TypeVar

from bestmix.progress import bar
from bestmix.simulation.executors import cores, interruptible

Item = TypeVar("Item")
Result = TypeVar("Result")

WRITING = 0.5  # seconds for a piece that is being written down when Ctrl-C comes
RECENT = 900.0  # seconds of work from which the bar foretells the rest: pieces differ much in length


def map_in_threads(
    function: Callable[[Item, Event], Result], items: Sequence[Item], what: str, threads: int | None, progress: bool
) -> list[Result]:
    """The function's results on all items, in their order.

    The function also receives an event: once it is set nobody wants the result any more.

    >>> map_in_threads(lambda number, stop: number * number, [1, 2, 3], "squares", threads=2, progress=False)
    [1, 4, 9]
    """
    stop = Event()
    with (
        bar(what, len(items), shown=progress, recent=RECENT) as shown,
        interruptible(ThreadPoolExecutor(threads or cores())) as pool,
    ):
        futures = [pool.submit(function, item, stop) for item in items]
        try:
            for future in as_completed(futures):
                future.result()
                shown.advance()
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            wait(futures, WRITING)
            raise
    return [future.result() for future in futures]
