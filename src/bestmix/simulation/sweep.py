"""``simulate`` one cell or ``sweep`` a grid of them, through any ``concurrent.futures`` executor."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import replace
from typing import Any

from bestmix import checks
from bestmix.problems import catalog
from bestmix.problems.instance import Instance
from bestmix.problems.segment_instance import SegmentInstance
from bestmix.problems.spend import Spend, number_of_trials
from bestmix.progress import bar
from bestmix.simulation.cells import BLOCK, Cell, Outcomes
from bestmix.simulation.executors import Chunk, run_chunks
from bestmix.simulation.results import CellResult, SweepResult
from bestmix.simulation.segment_cells import SegmentCell
from bestmix.simulation.store import ChunkFolder
from bestmix.strategies import Challenger, Strategy
from bestmix.strategies.paid import Paid
from bestmix.strategies.protocol import MOST_TRIALS, check_arrivals

Instances = Mapping[str, Instance] | Iterable[str | Instance]
Budgets = Iterable[int | Spend] | Mapping[str, Iterable[int | Spend]]

PARTS = 64  # of a cell, about, that are run and kept one by one
FEWEST_PARTS = 4  # the same where there are many cells
SENT = 128  # parts of all compiled cells, about, that go to an executor: Dask spends milliseconds on each


def simulate(
    instance: Instance | str,
    strategy: Strategy,
    budget: int | Spend,
    runs: int = 5000,
    seed: int = 0,
    *,
    executor: Executor | None = None,
    threads: int | None = None,
    progress: bool = False,
    arriving: bool = False,
) -> CellResult:
    """Repeat a strategy on an instance, and count how often it is wrong; the parameters are those of ``sweep``.

    The budget is a number of trials, or an amount of money, with known prices or in one of the instance's costs; with
    money runs are made by ask and tell, which takes longer.

    >>> from bestmix import SFSR
    >>> from bestmix import catalog
    >>> result = simulate(catalog.load("D1P"), SFSR(), budget=8000, runs=500, seed=1)
    >>> result.runs, result.errors, round(result.error_rate, 3)
    (500, ..., ...)
    """
    options: dict[str, Any] = {"threads": threads, "progress": progress, "arriving": arriving}
    return sweep([instance], [strategy], [budget], runs, seed, executor, **options).cells[0]


def sweep(
    instances: Instances,
    strategies: Sequence[Strategy],
    budgets: Budgets,
    runs: int = 5000,
    seed: int = 0,
    executor: Executor | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    threads: int | None = None,
    progress: bool = False,
    arriving: bool = False,
) -> SweepResult:
    """Every strategy on every instance with every budget, many times.

    Parameters
    ----------
    instances
        By name, or a list of instances or of names from the catalog. An instance may have segments and limits of every
        kind (``Instance.from_problem``): these Challenger, Uniform and ``SFSR(score="lagrangian")`` serve.
    strategies
        The strategies; each needs a name of its own.
    budgets
        For every instance alike, or by instance name.
    runs, seed
        Runs of each cell. A run's result depends on the seed and on its cell, and on nothing else.
    executor
        Any ``concurrent.futures`` executor: a process pool, loky, ``dask.distributed.Client.get_executor()``.
        By default compiled strategies run in threads, others in worker processes.
    output
        A folder for finished work. The same call goes on from there; more runs, budgets or strategies
        compute only what is new.
    threads
        How many threads or processes without an executor; all cores by default.
    progress
        Show a progress bar with the time left.
    arriving
        Users arrive, each in a segment by chance, and only their arm is chosen; a budget is then a number of users.
        Without it, trials of any arm in any segment are chosen, unless the shares of the segments are to be learnt.

    Examples
    --------
    >>> from bestmix import SFSR, Uniform
    >>> from bestmix import catalog
    >>> table = sweep(["D1P"], [SFSR(), Uniform()], [2000, 4000], runs=250)
    >>> [(c.strategy, c.budget) for c in table]
    [('SFSR', 2000), ('SFSR', 4000), ('USLP', 2000), ('USLP', 4000)]
    """
    runs = checks.whole("runs", runs, 1, "give the number of runs of each cell")
    seed = checks.whole("seed", seed, 0, "give any whole number")
    grid = _grid(_named(instances), list(strategies), budgets, seed, arriving)
    store = ChunkFolder(output) if output is not None else None
    done = [store.load(cell) if store else {} for _, cell in grid]
    cells = [replace(cell, beside=len(grid)) for _, cell in grid]
    parts = [_parts(cell, executor) for cell in cells]
    chunks = [Chunk(i, first, last) for i in range(len(grid)) for first, last in _missing(done[i], runs, parts[i])]
    finished = run_chunks(cells, chunks, runs, executor, threads)
    with (
        bar("runs", sum(chunk.size(runs) for chunk in chunks), shown=progress and bool(chunks)) as shown,
        closing(finished),
    ):
        for chunk, outcomes in finished:
            if store:
                store.save(grid[chunk.place][1], chunk.first, outcomes)
            for k in range(0, len(outcomes), BLOCK):
                done[chunk.place][chunk.first + k // BLOCK] = outcomes[k : k + BLOCK]
            shown.advance(len(outcomes))
    return SweepResult(
        tuple(
            CellResult(name, cell.strategy.name, cell.amount, seed, _first(blocks, runs))
            for (name, cell), blocks in zip(grid, done, strict=True)
        )
    )


def try_out(instance: Instance, strategy: Strategy, budget: Any, runs: int, arriving: bool = False) -> None:
    """One run, as machine code where so many runs will be: what has to be compiled then is compiled now."""
    ((_, cell),) = _grid(_named([instance]), [strategy], [budget], 0, arriving)
    replace(cell, beside=runs).run(0, 1, 1)


def _named(instances: Instances) -> dict[str, Instance]:
    if isinstance(instances, (str, Instance)):
        instances = [instances]
    if isinstance(instances, Mapping):
        named = dict(instances)
    else:
        named = {}
        for i, item in enumerate(instances):
            name = item if isinstance(item, str) else f"instance {i}"
            named[name] = catalog.load(item) if isinstance(item, str) else item
    for name, instance in named.items():
        if not isinstance(instance, Instance):
            raise checks.InvalidInput(
                "instances", expected=f"an Instance for {name!r}", got=checks.shown(instance), remedy="build one"
            )
    if not named:
        raise checks.InvalidInput("instances", expected="at least one", got="none", remedy="name one from the catalog")
    return named


def new_cell(instance: Instance, strategy: Strategy, budget: int, seed: int, arriving: bool = False) -> Cell:
    """The cell of an instance of any kind.

    >>> from bestmix import Uniform
    >>> type(new_cell(catalog.load("S3L1"), Uniform(), 500, seed=0)).__name__
    'SegmentCell'
    """
    if not isinstance(instance, SegmentInstance):
        return Cell(instance, strategy, budget, seed)
    plain, recipe = instance.as_plain(), strategy.strategy if isinstance(strategy, Paid) else strategy
    if plain is not None and isinstance(recipe, Challenger) and (recipe.ranges or recipe.sigma):
        plain = plain if plain.problem.metrics == instance.problem.metrics else None  # they are by name
    return (
        SegmentCell(instance, strategy, budget, seed, arriving)
        if plain is None
        else Cell(plain, strategy, budget, seed)
    )


def _grid(
    instances: dict[str, Instance], strategies: list[Strategy], budgets: Budgets, seed: int, arriving: bool
) -> list[tuple[str, Cell]]:
    """All cells, each tried out before any work starts."""
    names = checks.names("strategies", [s.name for s in strategies], "strategy")
    if not names:
        raise checks.InvalidInput("strategies", expected="at least one", got="none", remedy="try [SFSR(), Uniform()]")
    if isinstance(budgets, Mapping):
        checks.same_names("budgets", budgets, list(instances), "instance")
    grid = []
    for name, instance in instances.items():
        if arriving and not instance.problem.segments:
            raise checks.InvalidInput(
                "arriving", f"users arrive in segments, and {name!r} has none", "leave it out: any trial can be chosen"
            )
        if arriving:
            check_arrivals(instance.problem)
        listed = list(budgets[name] if isinstance(budgets, Mapping) else budgets)
        if not listed or len(set(listed)) != len(listed):
            raise checks.InvalidInput(
                "budgets", expected=f"distinct budgets for {name!r}", got=checks.shown(listed), remedy="list some"
            )
        for strategy in strategies:
            for budget in listed:
                recipe, trials = _recipe(strategy, budget)
                try:
                    recipe.begin(instance.problem, trials)
                except ValueError as error:
                    raise ValueError(f"{strategy.name} on {name!r} with budget {budget}: {error}") from None
                grid.append((name, new_cell(instance, recipe, trials, seed, arriving)))
    return grid


def _recipe(strategy: Strategy, budget: int | Spend) -> tuple[Strategy, int]:
    """The strategy with its number of trials, which is beyond reach where money is what is limited."""
    if isinstance(budget, Spend):
        return Paid(strategy, budget), MOST_TRIALS
    return strategy, number_of_trials(budget, "give numbers of trials", name="budgets")


def _parts(cell: Cell, executor: Executor | None) -> int:
    """In how many parts a cell is run, about."""
    sent = executor is not None and cell.compiled
    return min(max(SENT // cell.beside, FEWEST_PARTS), PARTS) if sent else PARTS


def _missing(done: Mapping[int, Outcomes], runs: int, parts: int) -> Iterator[tuple[int, int]]:
    """Ranges of blocks still to be run, in chunks that are worth sending somewhere."""
    blocks = math.ceil(runs / BLOCK)
    most = min(max(blocks // parts, 4), 400)
    first = 0
    while first < blocks:
        if len(done.get(first, ())) >= min(BLOCK, runs - first * BLOCK):
            first += 1
            continue
        last = first + 1
        while last < min(blocks, first + most) and len(done.get(last, ())) < min(BLOCK, runs - last * BLOCK):
            last += 1
        yield first, last
        first = last


def _first(blocks: Mapping[int, Outcomes], runs: int) -> Outcomes:
    """Exactly the first ``runs`` runs."""
    joined = Outcomes.join([blocks[k] for k in range(math.ceil(runs / BLOCK))])
    return joined[:runs]
