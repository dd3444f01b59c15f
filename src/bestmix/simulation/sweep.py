"""``simulate`` one cell or ``sweep`` a grid of them, through any ``concurrent.futures`` executor."""

import math
import os
import pickle
import signal
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from contextlib import closing

from bestmix import checks
from bestmix.problems import catalog
from bestmix.problems.instance import Instance
from bestmix.progress import bar
from bestmix.simulation.cells import BLOCK, Cell, Outcomes, run_chunk
from bestmix.simulation.results import CellResult, SweepResult
from bestmix.simulation.store import Store
from bestmix.strategies import Strategy

Instances = Mapping[str, Instance] | Iterable[str | Instance]
Budgets = Iterable[int] | Mapping[str, Iterable[int]]


def simulate(
    instance: Instance | str,
    strategy: Strategy,
    budget: int,
    runs: int = 5000,
    seed: int = 0,
    *,
    executor: Executor | None = None,
    threads: int | None = None,
    progress: bool = False,
) -> CellResult:
    """Repeat a strategy on an instance, and count how often it is wrong.

    >>> from bestmix import SFSR
    >>> from bestmix.problems import catalog
    >>> result = simulate(catalog.load("D1P"), SFSR(), budget=8000, runs=500, seed=1)
    >>> result.runs, result.errors, round(result.error_rate, 3)
    (500, ..., ...)
    """
    table = sweep([instance], [strategy], [budget], runs, seed, executor=executor, threads=threads, progress=progress)
    return table.cells[0]


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
) -> SweepResult:
    """Every strategy on every instance with every budget, many times.

    Parameters
    ----------
    instances
        By name, or a list of instances or of names from the catalog.
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

    Examples
    --------
    >>> from bestmix import SFSR, Uniform
    >>> from bestmix.problems import catalog
    >>> table = sweep(["D1P"], [SFSR(), Uniform()], [2000, 4000], runs=250)
    >>> [(c.strategy, c.budget) for c in table]
    [('SFSR', 2000), ('SFSR', 4000), ('USLP', 2000), ('USLP', 4000)]
    """
    runs = checks.whole("runs", runs, 1, "give the number of runs of each cell")
    seed = checks.whole("seed", seed, 0, "give any whole number")
    grid = _grid(_named(instances), list(strategies), budgets, seed)
    store = Store(output) if output is not None else None
    done = [store.load(cell) if store else {} for _, cell in grid]
    chunks = [(i, first, last) for i in range(len(grid)) for first, last in _missing(done[i], runs)]
    finished = _run(grid, chunks, runs, executor, threads)
    with bar("runs", sum(_size(c, runs) for c in chunks), shown=progress and bool(chunks)) as shown, closing(finished):
        for i, first, outcomes in finished:
            if store:
                store.save(grid[i][1], first, outcomes)
            for k in range(0, len(outcomes), BLOCK):
                done[i][first + k // BLOCK] = Outcomes(*(getattr(outcomes, n)[k : k + BLOCK] for n in vars(outcomes)))
            shown.advance(len(outcomes))
    return SweepResult(
        tuple(
            CellResult(name, cell.strategy.name, cell.budget, seed, _first(blocks, runs))
            for (name, cell), blocks in zip(grid, done, strict=True)
        )
    )


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
            raise ValueError(f"instances: expected an Instance for {name!r}, got {checks.shown(instance)}; build one")
    if not named:
        raise ValueError("instances: expected at least one, got none; name one from the catalog")
    return named


def _grid(
    instances: dict[str, Instance], strategies: list[Strategy], budgets: Budgets, seed: int
) -> list[tuple[str, Cell]]:
    """All cells, each tried out before any work starts."""
    names = checks.names("strategies", [s.name for s in strategies], "strategy")
    if not names:
        raise ValueError("strategies: expected at least one, got none; try [SFSR(), Uniform()]")
    if isinstance(budgets, Mapping):
        checks.same_names("budgets", budgets, list(instances), "instance")
    grid = []
    for name, instance in instances.items():
        listed = list(budgets[name] if isinstance(budgets, Mapping) else budgets)
        if not listed or len(set(listed)) != len(listed):
            raise ValueError(f"budgets: expected distinct budgets for {name!r}, got {checks.shown(listed)}; list some")
        for strategy in strategies:
            for budget in listed:
                budget = checks.whole("budgets", budget, 0, "give numbers of trials")
                try:
                    strategy.begin(instance.problem, budget)
                except ValueError as error:
                    raise ValueError(f"{strategy.name} on {name!r} with budget {budget}: {error}") from None
                grid.append((name, Cell(instance, strategy, budget, seed)))
    return grid


def _missing(done: Mapping[int, Outcomes], runs: int) -> Iterator[tuple[int, int]]:
    """Ranges of blocks still to be run, in chunks that are worth sending somewhere."""
    blocks = math.ceil(runs / BLOCK)
    most = min(max(blocks // 64, 4), 400)
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


def _size(chunk: tuple[int, int, int], runs: int) -> int:
    _, first, last = chunk
    return min(last * BLOCK, runs) - first * BLOCK


def _first(blocks: Mapping[int, Outcomes], runs: int) -> Outcomes:
    """Exactly the first ``runs`` runs."""
    joined = Outcomes.join([blocks[k] for k in range(math.ceil(runs / BLOCK))])
    return Outcomes(*(getattr(joined, name)[:runs] for name in vars(joined)))


def _run(
    grid: list[tuple[str, Cell]],
    chunks: list[tuple[int, int, int]],
    runs: int,
    executor: Executor | None,
    threads: int | None,
) -> Generator[tuple[int, int, Outcomes], None, None]:
    """Outcomes of the chunks as they finish."""
    if executor is not None:
        yield from _through(executor, grid, chunks, runs)
        return
    workers = threads or _cores()
    compiled = [c for c in chunks if grid[c[0]][1].compiled]
    other = [c for c in chunks if not grid[c[0]][1].compiled]
    if compiled:
        with ThreadPoolExecutor(workers) as pool:
            yield from _through(pool, grid, compiled, runs)
    if other and workers > 1 and _can_be_sent([grid[c[0]][1] for c in other]):
        with ProcessPoolExecutor(workers, initializer=_leave_interrupts_to_the_parent) as processes:
            yield from _through(processes, grid, other, runs)
    else:
        for i, first, last in other:
            yield i, first, run_chunk(grid[i][1], first, last, runs)


def _through(
    executor: Executor, grid: list[tuple[str, Cell]], chunks: list[tuple[int, int, int]], runs: int
) -> Iterator[tuple[int, int, Outcomes]]:
    futures: dict[Future[Outcomes], tuple[int, int]] = {}
    try:
        for i, first, last in chunks:
            futures[executor.submit(run_chunk, _bare(grid[i][1]), first, last, runs)] = (i, first)
        for future in as_completed(futures):
            yield *futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _leave_interrupts_to_the_parent() -> None:
    """Ctrl-C reaches every process of the terminal; only the parent answers it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _bare(cell: Cell) -> Cell:
    """The cell without what it has computed, which need not travel."""
    return Cell(cell.instance, cell.strategy, cell.budget, cell.seed)


def _can_be_sent(cells: list[Cell]) -> bool:
    """Whether worker processes can be given these cells; a function from a notebook cannot."""
    try:
        pickle.dumps([_bare(cell) for cell in cells])
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True
