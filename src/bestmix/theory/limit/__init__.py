"""The limit: the fewest trials on average with which any algorithm can be right often enough."""

from bestmix.theory.limit.measure import LowerBound, limit

__all__ = ["LowerBound", "limit"]
