"""Experiments behind a server: the same methods as local ones, over HTTP.

``transport.py`` sends requests and repeats them until they are answered, ``experiment.py`` is what users
hold, ``values.py`` turns answers into the values that local experiments return.
"""

from bestmix.client.experiment import RemoteExperiment, Server, connect

__all__ = ["RemoteExperiment", "Server", "connect"]
