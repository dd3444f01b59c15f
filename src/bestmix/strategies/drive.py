"""``drive``: the one loop that makes trials, whoever decides on them and wherever they run.

It asks what to do next, runs trials at once in an executor, tells their results as they come and keeps leases
alive. However it ends, by a failure, an interrupt or a request to stop, results that were paid for are told.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

Pull = Callable[..., Any]
Trial = TypeVar("Trial")

POLL = 0.1  # seconds between two looks at whether to stop


class Work(Protocol[Trial]):
    """Trials to be made: those of a search in this process, or those of an experiment, under a lease."""

    @property
    def over(self) -> bool:
        """Whether there is nothing more to do once all that was handed out is told."""

    def next(self, most: int) -> Sequence[Trial]:
        """Up to ``most`` trials to start now; there may be none for the moment."""

    def arguments(self, trial: Trial) -> tuple[str | int, ...]:
        """What ``pull`` is called with: the arm, with segments the segment, and with items the item."""

    def tell(self, results: Sequence[tuple[Trial, Any]]) -> None:
        """Report what ``pull`` returned; a result that is told again is not counted again."""

    def fail(self, trial: Trial, error: BaseException) -> None:
        """A trial raised an error: report it, or raise it, which ends all."""

    def keep(self, trials: Sequence[Trial]) -> None:
        """Keep trials that are under way from being handed to others."""

    def give_back(self, trials: Sequence[Trial]) -> None:
        """These will not be made after all."""


def never() -> bool:
    """No request to stop."""
    return False


def nothing() -> None:
    """Nothing to do."""


def drive(
    work: Work[Trial],
    pull: Pull,
    executor: Executor,
    jobs: int,
    *,
    stopped: Callable[[], bool] = never,
    halt: Callable[[], None] = nothing,
    after: Sequence[Callable[[], None]] = (),
) -> None:
    """Keep ``jobs`` trials under way until there are no more, one fails for good, or it is to stop.

    Parameters
    ----------
    work
        Says what to do next and takes the results.
    pull
        Makes one trial of an arm (in a segment, on an item), in the executor.
    executor, jobs
        Where trials run, and how many at once.
    stopped
        Asked again and again; once it is true no further trial is started.
    halt
        Called at the end, before trials that are under way are waited for: ends them early.
    after
        Functions that are called whenever results may have been told, for progress and checkpoints.

    Examples
    --------
    >>> from bestmix import Problem, Uniform
    >>> from bestmix.strategies.search_work import SearchWork
    >>> search = Uniform().start(Problem(["a", "b"]), budget=4)
    >>> drive(SearchWork(search), {"a": 1.0, "b": 2.0}.get, Inline(), jobs=1)
    >>> search.recommend().mixture
    {'b': 1.0}
    """
    running: dict[Future[Any], Trial] = {}
    try:
        while not stopped():
            _start(work, pull, executor, running, jobs - len(running))
            if not running and work.over:
                break
            _settle(work, running)
            for call in after:
                call()
            work.keep(list(running.values()))
    except BaseException as error:
        try:
            _end(work, running, halt)
        except Exception as another:  # the first one says more, so it is the one that is raised
            error.add_note(f"While the trials under way were ended: {type(another).__name__}: {another}")
        raise
    _end(work, running, halt)


def _start(work: Work[Trial], pull: Pull, executor: Executor, running: dict[Future[Any], Trial], most: int) -> None:
    """Submit what is to be done next; what the executor does not take is given back."""
    trials = list(work.next(most))
    try:
        while trials:
            running[executor.submit(pull, *work.arguments(trials[0]))] = trials[0]
            del trials[0]
    finally:
        if trials:
            work.give_back(trials)


def _settle(work: Work[Trial], running: dict[Future[Any], Trial]) -> None:
    """Tell what has come in, the good results first."""
    if not running:
        time.sleep(POLL)
        return
    done = {future for future in running if future.done()} or wait(running, POLL, FIRST_COMPLETED).done
    _tell(work, running, done)
    for future in done & running.keys():
        work.fail(running.pop(future), _failure(future))


def _tell(work: Work[Trial], running: dict[Future[Any], Trial], done: Iterable[Future[Any]]) -> None:
    """Tell results; those that are told are no longer under way."""
    good = [future for future in done if not future.cancelled() and future.exception() is None]
    if good:
        work.tell([(running[future], future.result()) for future in good])
    for future in good:
        del running[future]


def _failure(future: "Future[Any]") -> BaseException:
    """Why there is no result."""
    error = None if future.cancelled() else future.exception()
    return error or RuntimeError("a trial was cancelled by its executor; make it again")


def _end(work: Work[Trial], running: dict[Future[Any], Trial], halt: Callable[[], None]) -> None:
    """Wait for what is under way; tell what finished after all, and give back the rest."""
    halt()
    for future in running:
        future.cancel()
    wait(running)
    try:
        _tell(work, running, list(running))
    finally:
        if running:
            work.give_back(list(running.values()))


@dataclass(frozen=True)
class Retrying:
    """Makes a trial again that raised an error, after a pause that doubles each time.

    >>> attempts = iter([1 / 3, ValueError("busy"), 0.5])
    >>> def pull(arm):
    ...     found = next(attempts)
    ...     if isinstance(found, Exception):
    ...         raise found
    ...     return found
    >>> again = Retrying(pull, retries=1, pause=0.0)
    >>> again("a"), again("a")
    (0.3333333333333333, 0.5)
    """

    pull: Pull
    retries: int
    pause: float  # seconds before the first further attempt

    def __call__(self, *cell: str | int) -> Any:
        """The trial of an arm."""
        for attempt in range(self.retries):
            try:
                return self.pull(*cell)
            except Exception:
                time.sleep(self.pause * 2**attempt)
        return self.pull(*cell)


class Inline(Executor):
    """Runs a trial where it is submitted, before ``submit`` returns.

    >>> Inline().submit(str.upper, "a").result()
    'A'
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        """The finished trial."""
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future
