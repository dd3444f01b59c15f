"""Experiments that lose nothing: ask and tell kept in a database, for any number of workers.

``storage.py`` opens and creates them, ``experiment.py`` is what users hold, ``store.py`` says in prose
what the calls mean, ``ledger.py`` and ``control.py`` are those calls, ``memory.py`` and ``sql.py`` keep them.
"""

from bestmix.experiments.errors import Closed, Conflict, StorageError, UnknownTrial
from bestmix.experiments.experiment import Experiment
from bestmix.experiments.model import Event, Handout, Outcome, State, Status, Trial, TrialState
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
