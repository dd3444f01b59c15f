"""How far a search is: a bar with the time left, and a line for each round that ends."""

from collections import Counter
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from bestmix.answers.recommendation import Round
    from bestmix.strategies import Search


class SearchBar:
    """A progress bar for a search; call ``update`` after telling it something.

    Where the console is no terminal, only the lines of the rounds are written.
    """

    def __init__(self, search: "Search", console: Console) -> None:
        self.search = search
        self.told = len(search.history)
        columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("trials")
        times = TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn()
        self.bar = Progress(*columns, *times, console=console, disable=not console.is_terminal)
        self.task = self.bar.add_task(self._status(), total=search.budget, completed=search.trials)

    def __enter__(self) -> "SearchBar":
        self.bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self.search.done:
            self.bar.update(self.task, total=max(self.search.trials, 1), completed=self.search.trials)
        self.bar.stop()

    def update(self) -> None:
        """Show where the search is now."""
        for finished in self.search.history[self.told :]:
            self.bar.console.print(describe(finished), markup=False, soft_wrap=True)
        self.told = len(self.search.history)
        self.bar.update(self.task, completed=self.search.trials, description=self._status())

    def _status(self) -> str:
        owed = self.search.ask()
        number = len(self.search.history) + 1
        return f"round {number}, {len(owed)} arms" if owed else "finished"


def describe(finished: "Round") -> str:
    """A round in one line."""
    from bestmix.answers.recommendation import question

    trials = f"round {finished.number}: {sum(finished.pulls.values())} trials"
    if finished.reasons:
        spent: Counter[str] = Counter()
        for conditions in finished.reasons.values():
            spent.update(conditions)
        return f"{trials}, most on whether {question(spent.most_common(1)[0][0])}"
    if finished.rejected is None:
        return trials
    if finished.rejected.startswith("slack of "):
        return f"{trials}, {question(finished.rejected)}"
    margin = "" if finished.margin is None else f" (margin {finished.margin:.2g})"
    return f"{trials}, rejected {finished.rejected}{margin}"
