"""Experiments that lose nothing: ask and tell kept in a database, for any number of workers.

``storage.py`` opens and creates them, ``experiment.py`` is what users hold, ``store.py`` says in prose
what the calls mean, ``calls.py`` and ``control.py`` are those calls, ``memory.py`` and ``sql/`` keep them.

What only names values and errors, as the HTTP client does, loads no arithmetic: the rest comes when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

from bestmix.experiments.errors import Closed, Conflict, StorageError, UnknownTrial
from bestmix.experiments.model import Event, Handout, Outcome, State, Status, Trial, TrialState

if TYPE_CHECKING:
    from bestmix.experiments.experiment import Experiment
    from bestmix.experiments.storage import Storage, open_experiment, open_storage

_HOME = {"Experiment": "experiment", "Storage": "storage", "open_experiment": "storage", "open_storage": "storage"}

__all__ = [
    "Closed",
    "Conflict",
    "Event",
    "Experiment",
    "Handout",
    "Outcome",
    "State",
    "Status",
    "Storage",
    "StorageError",
    "Trial",
    "TrialState",
    "UnknownTrial",
    "open_experiment",
    "open_storage",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
