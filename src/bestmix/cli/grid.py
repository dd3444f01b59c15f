"""What to simulate: instances, strategies and budgets as users write them, checked before any work."""

import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bestmix import checks
from bestmix.cli import common

if TYPE_CHECKING:
    from bestmix.problems.instance import Instance
    from bestmix.strategies import Strategy

KEYS = ("instances", "strategies", "budgets", "runs", "seed", "arriving")
DOUBLINGS = 9  # default budgets for an instance that is not in the catalog


@dataclass(frozen=True, eq=False)
class Grid:
    """A sweep that can start: everything is loaded and every cell has been tried for its budget."""

    instances: "dict[str, Instance]"
    strategies: "dict[str, Strategy]"
    budgets: dict[str, list[int]]
    runs: int
    seed: int
    arriving: bool = False

    def __post_init__(self) -> None:
        """Refuse two strategies of one name, and cells that cannot be."""
        checks.names("strategies", [s.name for s in self.strategies.values()], "strategy")
        for name, instance in self.instances.items():
            for written, strategy in self.strategies.items():
                for budget in self.budgets[name]:
                    try:
                        strategy.begin(instance.problem, budget)
                    except ValueError as error:
                        raise ValueError(f"{written} on {name} with budget {budget}: {error}") from None

    @property
    def cells(self) -> int:
        """How many there are."""
        return len(self.strategies) * sum(map(len, self.budgets.values()))

    @property
    def own(self) -> list[str]:
        """Strategies that are not of this package."""
        return [written for written in self.strategies if ":" in written]


def read_grid(path: Path, runs: int | None = None, seed: int | None = None, arriving: bool = False) -> Grid:
    """The grid in a file; ``runs``, ``seed`` and ``arriving`` replace the file's.

    Instances and modules are looked for in the file's folder.
    """
    from bestmix import files

    data = files.read(path)
    try:
        return _grid(data, path.resolve().parent, runs, seed, arriving)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def _grid(data: Mapping[str, Any], folder: Path, runs: int | None, seed: int | None, arriving: bool) -> Grid:
    if unknown := [key for key in data if key not in KEYS]:
        raise ValueError(f"{unknown[0]}: expected the entries {', '.join(KEYS)}, got this one too; remove it")
    chosen_runs = checks.whole(
        "runs", data.get("runs", common.RUNS) if runs is None else runs, 1, "give runs of each cell"
    )
    chosen_seed = checks.whole("seed", data.get("seed", 0) if seed is None else seed, 0, "give a whole number")
    written = checks.names("instances", _listed(data, "instances", "D2P"), "instance")
    instances = {text: find_instance(text, folder, f"instances: {text}") for text in written}
    names = checks.names("instances", [Path(text).stem for text in written], "instance")
    texts = checks.names("strategies", _listed(data, "strategies", "sfsr"), "strategy")
    strategies = {text: find_strategy(text, folder, f"strategies: {text}") for text in texts}
    budgets = find_budgets(data.get("budgets"), instances)
    by_name = dict(zip(names, instances.values(), strict=True))
    listed = dict(zip(names, budgets.values(), strict=True))
    return Grid(by_name, strategies, listed, chosen_runs, chosen_seed, arriving or _flag(data, "arriving"))


def _flag(data: Mapping[str, Any], key: str) -> bool:
    value = data.get(key, False)
    if not isinstance(value, bool):
        raise ValueError(f"{key}: expected true or false, got {checks.shown(value)}; write {key} = true")
    return value


def _listed(data: Mapping[str, Any], key: str, example: str) -> list[Any]:
    value = data.get(key)
    if not isinstance(value, list) or not value:
        got = "none" if value in (None, []) else checks.shown(value)
        raise ValueError(f'{key}: expected a list with at least one, got {got}; write {key} = ["{example}"]')
    return value


def find_instance(text: str, folder: Path, where: str) -> "Instance":
    """The instance of that name in the catalog, or in that file."""
    from bestmix.problems import catalog
    from bestmix.problems.instance import Instance

    if catalog.has(text):
        return catalog.load(text)
    if Path(text).suffix.lower() not in (".toml", ".json"):
        known = ", ".join([*catalog.names(), *catalog.segment_names()])
        raise ValueError(f"{where}: expected a .toml or .json file or one of {known}; check the spelling")
    try:
        return Instance.load(folder / text)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def find_strategy(text: str, folder: Path, where: str, stop: Mapping[str, Any] | None = None) -> "Strategy":
    """The strategy of that name, or the object of that module: a strategy, its class or a score function.

    ``stop`` says when Challenger stops.
    """
    names = [name.value for name in common.StrategyName]
    if text in names:
        kind = common.StrategyName(text)
        return common.make_strategy(kind, stop if kind is common.StrategyName.challenger else None)
    module, colon, name = text.partition(":")
    if not (module and colon and name):
        raise ValueError(f"{where}: expected one of {', '.join(names)}, or module:object; check the spelling")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
        found = found() if isinstance(found, type) else found
    except Exception as error:  # whatever the user's module does wrong is told in one line
        raise ValueError(f"{where}: cannot be imported: {type(error).__name__}: {error}; correct the module") from None
    return _as_strategy(found, where)


def _as_strategy(found: Any, where: str) -> "Strategy":
    from bestmix.strategies import SFSR, Strategy

    if isinstance(found, Strategy):
        return found
    if callable(found):
        return SFSR(score=found)
    raise ValueError(
        f"{where}: expected a strategy or a score function, got {checks.shown(found)}; name another object"
    )


def find_budgets(written: Any, instances: "Mapping[str, Instance]") -> dict[str, list[int]]:
    """Budgets by instance: one list for all, a table by instance, or by default what fits each."""
    if written is None:
        return {name: default_budgets(name, instance) for name, instance in instances.items()}
    if isinstance(written, Mapping):
        checks.same_names("budgets", written, list(instances), "instance")
        return {name: _budgets(written[name], f"budgets: {name}") for name in instances}
    return {name: _budgets(written, "budgets") for name in instances}


def _budgets(values: Any, where: str) -> list[int]:
    from bestmix.strategies.protocol import MOST_TRIALS

    if not isinstance(values, list) or not values:
        raise ValueError(f"{where}: expected a list of budgets, got {checks.shown(values)}; write [2000, 4000]")
    budgets = [checks.whole(where, value, 1, "give numbers of trials", MOST_TRIALS) for value in values]
    for place, budget in enumerate(budgets):
        if budget in budgets[:place]:
            raise ValueError(f"{where}: {budget} is listed twice; list every budget once")
    return budgets


def default_budgets(name: str, instance: "Instance") -> list[int]:
    """The catalog's own budgets; for any other instance 10 trials an arm, doubled again and again."""
    from bestmix.problems import catalog

    if catalog.has(name):
        return list(catalog.budgets(name))
    arms = max(len(instance.problem.cells), 2)
    return [10 * arms * 2**k for k in range(DOUBLINGS)]
