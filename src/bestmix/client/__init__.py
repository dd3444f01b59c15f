"""Experiments behind a server: the same methods as local ones, over HTTP; and edges, which serve live traffic.

``transport.py`` sends requests and repeats them until they are answered, ``experiment.py`` is what users
hold. Neither loads the compiled arithmetic: a client reads what the server computed. ``edge.py`` needs the standard
library alone, so that a name's module is loaded when the name is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bestmix.client.edge import Edge
    from bestmix.client.experiment import RemoteExperiment, Server, connect

_HOME = {"Edge": "edge", "RemoteExperiment": "experiment", "Server": "experiment", "connect": "experiment"}

__all__ = ["Edge", "RemoteExperiment", "Server", "connect"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value
