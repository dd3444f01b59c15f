"""One progress bar for all long work: what it is, how much of it is done, the time so far and the time left."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

RECENT = 30.0  # seconds of work from which the time left is foretold


class Bar:
    """A bar that can be moved; without a ``Progress`` nothing is shown."""

    def __init__(self, console: "Console | None", progress: "Progress | None", task: "TaskID | None") -> None:
        self._console, self._progress, self._task = console, progress, task

    def advance(self, count: int = 1) -> None:
        """Move it on."""
        if self._progress is not None and self._task is not None:
            self._progress.advance(self._task, count)

    def update(self, completed: int, what: str | None = None, total: int | None = None) -> None:
        """Show that so much is done."""
        if self._progress is not None and self._task is not None:
            self._progress.update(self._task, completed=completed, description=what, total=total)

    def line(self, text: str) -> None:
        """Write a line above the bar, where there is a console."""
        if self._console is not None:
            self._console.print(text, markup=False, soft_wrap=True)


@contextmanager
def bar(
    what: str,
    total: int | None,
    unit: str = "",
    shown: bool = True,
    completed: int = 0,
    console: "Console | None" = None,
    recent: float = RECENT,
) -> Iterator[Bar]:
    """A progress bar.

    Parameters
    ----------
    what
        What is done, before the bar.
    total
        How much there is to do; None when nobody knows.
    unit
        Of what is counted, after the numbers.
    shown
        Whether there is a bar; lines are written in any case where there is a console.
    completed
        How much is done already.
    console
        Standard error by default.
    recent
        Seconds of work from which the time left is foretold: more for pieces that differ in length.

    Examples
    --------
    >>> with bar("walks", total=3, shown=False) as walks:
    ...     walks.advance()
    """
    if not shown:
        yield Bar(console, None, None)
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

    words = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        *([TextColumn(unit)] if unit else []),
    )
    times = TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("left")
    console = console or Console(stderr=True)
    with Progress(*words, *times, console=console, speed_estimate_period=recent) as progress:
        yield Bar(console, progress, progress.add_task(what, total=total, completed=completed))
