"""Long work in threads: a bar with the time left, an orderly end on Ctrl-C, and results that are kept."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

from bestmix import files

Item = TypeVar("Item")
Result = TypeVar("Result")

PATIENCE = 900.0  # seconds of work from which the bar foretells the rest: pieces differ much in length


class Shelf:
    """Small results in a folder, a file for each key; a file that cannot be read counts as not there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, key: str) -> dict[str, Any]:
        """What was put there last; empty when nothing was."""
        try:
            return files.read(self.folder / f"{key}.json")
        except ValueError:
            return {}

    def put(self, key: str, data: dict[str, Any]) -> None:
        """Keep it, in the place of what was there."""
        files.write(self.folder / f"{key}.json", data)


def work_off(
    function: Callable[[Item, Event], Result], items: Sequence[Item], what: str, threads: int | None, progress: bool
) -> list[Result]:
    """The function's results on all items, in their order.

    The function also receives an event: once it is set nobody wants the result any more.

    >>> work_off(lambda number, stop: number * number, [1, 2, 3], "squares", threads=2, progress=False)
    [1, 4, 9]
    """
    stop = Event()
    with _bar(len(items), what, progress) as advance, ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        futures = [pool.submit(function, item, stop) for item in items]
        try:
            for future in as_completed(futures):
                future.result()
                advance()
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise
    return [future.result() for future in futures]


@contextmanager
def _bar(total: int, what: str, shown: bool) -> Iterator[Callable[[], None]]:
    """A progress bar; the function that it gives moves it by one."""
    if not shown:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    parts = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    console = Console(stderr=True)
    with Progress(*parts, TextColumn("left"), console=console, speed_estimate_period=PATIENCE) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)
