"""bestmix: the best mix of options under average-cost limits, within a fixed number of trials.

Importing this module is light: a name's module is loaded when the name is first used.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

__version__ = "0.2.0"

_HOME = {
    "Challenger": "strategies",
    "Experiment": "experiments",
    "Instance": "problems.instance",
    "Goal": "problems.goals",
    "Items": "problems.items",
    "Known": "problems.known",
    "Limit": "problems.limits",
    "LowerBound": "theory",
    "MarkovProblem": "problems.markov",
    "Policy": "answers.policy",
    "Problem": "problems.problem",
    "Recommendation": "answers.recommendation",
    "SFSR": "strategies",
    "Search": "strategies",
    "SegmentInstance": "problems.segment_instance",
    "SingleArm": "strategies",
    "Solution": "problems.solution",
    "Spend": "problems.spend",
    "Strategy": "strategies",
    "SweepResult": "simulation",
    "TolerantBound": "theory",
    "TradeOff": "answers.tradeoff_curve",
    "Traffic": "strategies.traffic",
    "Uniform": "strategies",
    "CellResult": "simulation",
    "Edge": "client.edge",
    "ErrorBounds": "theory",
    "Explanation": "theory",
    "Gaps": "theory",
    "Plan": "theory",
    "connect": "client",
    "error_bounds": "theory",
    "explain": "theory",
    "gaps": "theory",
    "limit": "theory",
    "plan": "theory",
    "from_log": "answers.logs.from_log",
    "from_sums": "answers.logs.from_sums",
    "identify": "strategies.identify",
    "open_experiment": "experiments",
    "open_storage": "experiments",
    "simulate": "simulation",
    "solve": "problems.solution",
    "sums_query": "answers.logs.sums_query",
    "sweep": "simulation",
    "tradeoff": "answers.tradeoff",
}
_MODULES = {
    "catalog": "problems.catalog",
    "client": "client",
    "experiment_report": "pages.experiment",
    "experiments": "experiments",
    "explanation": "pages.explanation",
    "families": "problems.families",
    "noise": "problems.noise",
    "plots": "plots",
    "report": "pages.report",
    "reproduction": "reproduction",
    "scores": "strategies.scores",
}

__all__ = ["__version__", *sorted(_HOME), *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"bestmix.{_MODULES[name]}")
    if name not in _HOME:
        raise AttributeError(f"module 'bestmix' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"bestmix.{_HOME[name]}"), name)
    globals()[name] = value
    return value


class _Modules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """``import bestmix.catalog`` and the like find a public module in the room where it lives."""

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        home = _MODULES.get(fullname.removeprefix("bestmix."))
        return None if home is None or fullname == f"bestmix.{home}" else importlib.machinery.ModuleSpec(fullname, self)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(f"bestmix.{_MODULES[spec.name.removeprefix('bestmix.')]}")
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = module.__spec__ and module.__spec__.loader_state


sys.meta_path.append(_Modules())


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
