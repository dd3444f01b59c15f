"""``identify``: a function per trial goes in, a recommendation comes out."""

import os
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from bestmix import checks
from bestmix.answers.logs.tables import has_column
from bestmix.answers.recommend import SAFETY
from bestmix.answers.recommendation import Recommendation
from bestmix.problems.items import Items, as_items
from bestmix.problems.problem import Problem
from bestmix.problems.spend import Spend
from bestmix.strategies import Challenger, Search, Strategy
from bestmix.strategies.drive import Inline, Retrying, drive
from bestmix.strategies.protocol import check_strategy
from bestmix.strategies.saved_search import check_path
from bestmix.strategies.search_bar import search_bar
from bestmix.strategies.search_work import Checkpoint, SearchWork, arm_by_arm
from bestmix.strategies.timing import timed

Pull = Callable[..., Any]

UNDER_WAY = 64  # trials at once in an executor whose width is not known


def identify(
    problem: Problem,
    pull: Pull,
    budget: int | Spend | None = None,
    strategy: Strategy | None = None,
    *,
    progress: bool = False,
    n_jobs: int = 1,
    executor: Executor | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    safety: float | None = SAFETY,
    start: Any = None,
    items: Any = None,
    shared: bool = True,
    retries: int = 0,
    retry_pause: float = 1.0,
    arm: str = "arm",
    reward: str = "reward",
    segment: str = "segment",
    item: str = "item",
    log_weight: float = 1.0,
) -> Recommendation:
    """Find the best mix by calling ``pull`` for each trial.

    Parameters
    ----------
    problem
        Arms, bounds and known arms.
    pull
        Takes an arm's name, with segments the segment's after it, and with items the item as the last: ``pull(arm)``,
        ``pull(arm, segment)``, ``pull(arm, item)``, ``pull(arm, segment, item)``. It makes one trial, and returns its
        metrics by name; or its reward and its costs, by name or in the problem's order. With no costs it may return the
        reward alone.
    budget
        The most trials to make; or what they may cost together, as in ``Spend(200.0, "dollars")``, where ``pull``
        returns what the trial cost under that name, or ``Spend(3.0, "hours")``, where its time is measured. It may be
        left out where the strategy stops by itself.
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
    safety
        The wanted certainty that the recommended mix keeps all limits; None for the optimum at the estimates.
    start
        Trials that were made already, such as a pilot's, in any form that ``from_log`` takes; or a search, such as the
        ``error.search`` of a run that failed; or a recommendation. They count in full, and the budget is for further
        trials. A recommendation from a file of 0.1 has no sums to go on from, and none has items.
    items
        What trials are made on, such as prompts: a list of texts; or how many there are, and an item is then a number
        from 0 on. The list is shuffled once, and the i-th trial of every arm (in every segment) is made on item i of
        it, so that arms meet on the same items and are compared with less noise; all errors know it. An arm that has
        had all items begins with the first again: its repeated trials on an item count for what differs in them.
        ``Items(prompts, seed=7)`` shuffles otherwise. Where a strategy stops when it is sure enough, it takes none.
    shared
        Whether arms meet on the same items. With False each arm goes through them in an order of its own, as trials of
        fresh items do: for when the level of a mix matters more than the comparison of arms.
    retries, retry_pause
        Further attempts at a trial whose ``pull`` raises an error, and the seconds before the first of them, which
        double each time.
    arm, reward, segment, item
        Names of the columns of ``start`` with the arm, the reward (a goal about another metric has its own column), the
        segment where there are segments, and where there are ``items`` the item that a trial was made on: no arm is
        given one of these again. Without a column ``item`` they count as trials that have no item.
    log_weight
        What each result of ``start`` counts, such as 0.5 for an old log.

    Raises
    ------
    Exception
        Whatever ``pull`` raises, after the results of trials that were under way are told. The search, with all
        results so far, is its attribute ``search``: ``error.search.recommend()`` or ``error.search.save(...)``.

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
        raise checks.InvalidInput(
            "pull", expected="a function of an arm's name", got=checks.shown(pull), remedy="define one"
        )
    safety = checks.safety(safety)
    retries = checks.whole("retries", retries, 0, "give the number of further attempts at a trial")
    pull = Retrying(pull, retries, checks.number("retry_pause", retry_pause)) if retries else pull
    chosen = check_strategy(strategy or Challenger())
    earlier = None if start is None else Start(start, arm, reward, segment, item, log_weight)
    search = resume(problem, chosen, budget, checkpoint, earlier, as_items(items, shared))
    saved = Checkpoint(search, checkpoint)
    with ExitStack() as stack:
        if executor is None:
            executor = stack.enter_context(ThreadPoolExecutor(jobs)) if jobs > 1 else Inline()
        else:
            jobs = UNDER_WAY
        update = stack.enter_context(search_bar(search, shown=progress))
        try:
            drive(
                SearchWork(search, arm_by_arm),
                timed(pull, search.problem, search.strategy),
                executor,
                jobs,
                after=(update, saved),
            )
        except BaseException as error:
            error.__dict__["search"] = search  # without a checkpoint it is all that is left of what was paid for
            raise
        finally:
            saved.save()
    return search.recommend(safety)


@dataclass(frozen=True)
class Start:
    """Trials that a run starts from: where they are, how their columns are called, and what each of them counts."""

    log: Any
    arm: str = "arm"
    reward: str = "reward"
    segment: str = "segment"
    item: str = "item"
    weight: float = 1.0

    def begin(self, search: Search) -> None:
        """Count them."""
        segment, item = self.segment if search.problem.segments else None, None
        if search.item_list is not None and not isinstance(self.log, (Search, Recommendation)):
            item = self.item if self.item != "item" or has_column(self.log, "item") else None
        search.start_from(self.log, self.arm, self.reward, segment, self.weight, item)


def resume(
    problem: Problem,
    strategy: Strategy,
    budget: int | Spend | None,
    checkpoint: str | os.PathLike[str] | None,
    start: "Start | None" = None,
    items: Items | None = None,
) -> Search:
    """The search in the checkpoint, if there is one and it is of the same work; else a new one."""
    fresh = strategy.start(problem, budget)
    fresh.try_on(items)
    if start is not None:
        start.begin(fresh)
    if checkpoint is None or not check_path(checkpoint).exists():
        return fresh
    search = Search.load(checkpoint, fresh.strategy)
    if (start is None) is search.has_log:
        raise checks.InvalidInput(
            "checkpoint",
            f"{checkpoint} holds a search that began {'from' if search.has_log else 'without'} earlier trials",
            f"{'give them as start' if search.has_log else 'leave start out'}, or remove the file",
        )
    if search.problem != fresh.problem or search.budget > fresh.budget:
        raise checks.InvalidInput(
            "checkpoint",
            f"{checkpoint} holds a search of another problem, or with a larger budget ({search.budget})",
            "remove the file, or choose another",
        )
    if search.item_list != fresh.item_list:
        raise checks.InvalidInput(
            "checkpoint",
            f"{checkpoint} holds a search on other items, or on none",
            "remove the file, or choose another",
        )
    if fault := search.log_fault(fresh.marks, fresh.log_weight if start is not None else search.log_weight):
        raise checks.InvalidInput(
            "checkpoint",
            f"{checkpoint} holds a search with another start, {fault}",
            "give the same, or remove the file",
        )
    search.extend(budget if isinstance(budget, Spend) else fresh.budget)
    return search
