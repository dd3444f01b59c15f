"""Experiments behind a server: the same methods as local ones, over HTTP.

``transport.py`` sends requests and repeats them until they are answered, ``experiment.py`` is what users
hold. Neither loads the compiled arithmetic: a client reads what the server computed.
"""

from bestmix.client.experiment import RemoteExperiment, Server, connect

__all__ = ["RemoteExperiment", "Server", "connect"]
