"""``identify``: a function per trial goes in, a recommendation comes out."""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from typing import Any

from bestmix import checks
from bestmix.answers.recommendation import Recommendation
from bestmix.problems.problem import Problem
from bestmix.strategies import Challenger, Search, Strategy
from bestmix.strategies.protocol import MOST_TRIALS, check_strategy
from bestmix.strategies.search import check_path

Pull = Callable[[str], tuple[float, Any]]

BATCH = 64  # trials under way between two savings of a checkpoint


def identify(
    problem: Problem,
    pull: Pull,
    budget: int | None = None,
    strategy: Strategy | None = None,
    *,
    progress: bool = False,
    n_jobs: int = 1,
    executor: Executor | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Recommendation:
    """Find the best mix by calling ``pull`` for each trial.

    Parameters
    ----------
    problem
        Arms, bounds and known arms.
    pull
        Takes an arm's name, makes one trial, and returns its reward and its costs, by name or in
        the problem's order. With no costs it may return the reward alone.
    budget
        The most trials to make. It may be left out where the strategy stops by itself.
    strategy
        The algorithm; Challenger by default.
    progress
        Show a progress bar with the time left.
    n_jobs
        Trials made at once, in threads.
    executor
        Or a pool to make them in; ``pull`` must then suit it (a process pool needs to pickle it).
    checkpoint
        A .json file to save the search to as it goes. If it exists the search goes on from it, with the budget
        given now if that is larger.

    Examples
    --------
    >>> from bestmix import Instance, identify
    >>> inst = Instance(reward=[1.7, 2.6, 0.5], cost=[[0.0, 1.8, 0.8]], bound=[1.0],
    ...                 sigma_reward=0.1, sigma_cost=0.1)
    >>> identify(inst.problem, inst.sampler(seed=1), budget=300).support
    ('arm0', 'arm1')
    """
    jobs = checks.whole("n_jobs", n_jobs, 1, "give the number of trials to make at once")
    if not callable(pull):
        raise ValueError(f"pull: expected a function of an arm's name, got {checks.shown(pull)}; define one")
    search = resume(problem, check_strategy(strategy or Challenger()), budget, checkpoint)
    with ExitStack() as stack:
        if executor is None and jobs > 1:
            executor = stack.enter_context(ThreadPoolExecutor(jobs))
        advance = stack.enter_context(_bar(search, progress))
        try:
            while owed := search.ask():
                queue = [arm for arm, n in owed.items() for _ in range(n)][:BATCH]
                for arm, result in run_all(pull, queue, executor):
                    tell(search, arm, result)
                    advance()
                save(search, checkpoint)
        finally:
            save(search, checkpoint)
    return search.recommend()


def resume(
    problem: Problem, strategy: Strategy, budget: int | None, checkpoint: str | os.PathLike[str] | None
) -> Search:
    """The search in the checkpoint, if there is one and it is of the same work; else a new one."""
    fresh = strategy.start(problem, budget)
    if checkpoint is None or not check_path(checkpoint).exists():
        return fresh
    search = Search.load(checkpoint, strategy)
    if search.problem != problem or search.budget > fresh.budget:
        raise ValueError(
            f"checkpoint: {checkpoint} holds a search of another problem, or with a larger budget ({search.budget}); "
            "remove the file, or choose another"
        )
    search.extend(fresh.budget)
    return search


def save(search: Search, checkpoint: str | os.PathLike[str] | None) -> None:
    """Write the checkpoint, if one is kept."""
    if checkpoint is not None:
        search.save(checkpoint)


def tell(search: Search, arm: str, result: Any) -> None:
    """Tell what ``pull`` returned, or say what it should have returned."""
    costs = len(search.problem.bounds)
    if costs == 0 and not isinstance(result, (tuple, list)):
        result = (result, None)
    if not isinstance(result, (tuple, list)) or len(result) != 2:
        raise ValueError(
            f"pull({arm!r}): expected a reward and {costs} costs, as in (0.7, {{'dollars': 0.1}}), got "
            f"{checks.shown(result)}; return both"
        )
    try:
        search.tell(arm, checks.number("reward", result[0]), result[1])
    except ValueError as error:
        raise ValueError(f"pull({arm!r}) returned {checks.shown(result)}: {error}") from None


def run_all(pull: Pull, queue: list[str], executor: Executor | None) -> Iterator[tuple[str, Any]]:
    """Results of one trial for each arm of the queue, as they come.

    When a trial raises, the others that are under way are waited for and given first.
    """
    if executor is None:
        for arm in queue:
            yield arm, pull(arm)
        return
    futures = {executor.submit(pull, arm): arm for arm in queue}
    failure: BaseException | None = None
    for future in as_completed(futures):
        if future.cancelled():
            continue
        failure = failure or future.exception()
        if future.exception() is None:
            yield futures[future], future.result()
        else:
            for waiting in futures:
                waiting.cancel()
    if failure is not None:
        raise failure


@contextmanager
def _bar(search: Search, shown: bool) -> Iterator[Callable[[], None]]:
    """A progress bar; the function that it gives moves it by one trial."""
    if not shown:
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    parts = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*parts, console=Console(stderr=True)) as bar:
        total = search.budget if search.budget < MOST_TRIALS else None
        task = bar.add_task(search.strategy.name, total=total, completed=search.trials)

        def advance() -> None:
            bar.update(task, completed=search.trials, description=_status(search))

        yield advance
        bar.update(task, total=max(search.trials, 1))


def _status(search: Search) -> str:
    rejected = [r.rejected for r in search.history if r.rejected]
    return f"{search.strategy.name}, round {len(search.history) + 1}" + (f", out: {rejected[-1]}" if rejected else "")
