"""The limit: the fewest trials on average with which any algorithm can be right often enough."""

from bestmix.theory.limit.measure import Limit, limit

__all__ = ["Limit", "limit"]
