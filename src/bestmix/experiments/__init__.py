"""Experiments that lose nothing: ask and tell kept in a database, for any number of workers.

``storage.py`` opens and creates them, ``experiment.py`` is what users hold, ``store.py`` says in prose
what the calls mean, ``calls.py`` and ``control.py`` are those calls, ``memory.py`` and ``sql/`` keep them, ``audit.py``
checks what was kept.
"""

from bestmix.experiments.experiment import Experiment
from bestmix.experiments.model import (
    Closed,
    Conflict,
    Event,
    Handout,
    Outcome,
    State,
    Status,
    StorageError,
    Trial,
    TrialState,
    UnknownTrial,
)
from bestmix.experiments.storage import Storage, open_experiment, open_storage

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
