"""Long work in threads: a bar with the time left, an orderly end on Ctrl-C, and results that are kept."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from threading import Event
from typing import Any, TypeVar

from bestmix import files
from bestmix.progress import bar

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
    with (
        bar(what, len(items), shown=progress, recent=PATIENCE) as shown,
        ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool,
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
            raise
    return [future.result() for future in futures]
