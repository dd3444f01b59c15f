"""How far a search is: a bar with the time left, and a line for each round that ends."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bestmix import progress
from bestmix.answers.history import describe
from bestmix.strategies.protocol import MOST_TRIALS
from bestmix.strategies.search import Search

if TYPE_CHECKING:
    from rich.console import Console


@contextmanager
def search_bar(search: Search, shown: bool, lines: "Console | None" = None) -> Iterator[Callable[[], None]]:
    """A bar of the search; the function that it gives brings it up to date after results were told.

    Parameters
    ----------
    search
        Whose.
    shown
        Whether there is a bar.
    lines
        Where the rounds that end are told, a line each, bar or no bar.
    """
    total = search.budget if search.budget < MOST_TRIALS else None
    with progress.bar(status(search), total, "trials", shown, search.trials, lines) as bar:
        closed = len(search.history)

        def update() -> None:
            nonlocal closed
            for finished in search.history[closed:] if lines else ():
                bar.line(describe(search.problem, finished))
            closed = len(search.history)
            if shown:
                bar.update(search.trials, status(search))

        try:
            yield update
        finally:
            if search.done:
                bar.update(search.trials, status(search), total=max(search.trials, 1))


def status(search: Search) -> str:
    """Where the search is, in a few words.

    >>> from bestmix import Problem, Uniform
    >>> status(Uniform().start(Problem(["a", "b"]), budget=4))
    'USLP, round 1, 2 arms'
    """
    owed = search.ask()
    where = f"round {len(search.history) + 1}, {len(owed)} arms" if owed else "finished"
    money = "" if search.account is None else f", {search.account}"
    return f"{search.strategy.name}, {where}{money}"
