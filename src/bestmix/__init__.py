"""bestmix: the best mix of options under average-cost limits, within a fixed number of trials.

Importing this module is light: a name's module is loaded when the name is first used.
"""

import importlib
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "Challenger": "strategies",
    "Experiment": "experiments",
    "Instance": "instance",
    "Known": "problem",
    "Policy": "policy",
    "Problem": "problem",
    "Recommendation": "recommendation",
    "SFSR": "strategies",
    "Search": "strategies",
    "SingleArm": "strategies",
    "Solution": "solution",
    "Strategy": "strategies",
    "SweepResult": "simulation",
    "Uniform": "strategies",
    "CellResult": "simulation",
    "ErrorBounds": "theory",
    "Explanation": "theory",
    "Gaps": "theory",
    "Plan": "theory",
    "connect": "client",
    "error_bounds": "theory",
    "explain": "theory",
    "gaps": "theory",
    "plan": "theory",
    "from_log": "logs",
    "identify": "identify",
    "open_experiment": "experiments",
    "open_storage": "experiments",
    "simulate": "simulation",
    "solve": "solution",
    "sweep": "simulation",
}
_MODULES = (
    "catalog",
    "client",
    "experiment_report",
    "experiments",
    "explanation",
    "families",
    "noise",
    "plots",
    "report",
    "reproduction",
)

__all__ = ["__version__", *sorted(_HOME), *_MODULES]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"bestmix.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'bestmix' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"bestmix.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
