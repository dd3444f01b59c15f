"""The limit: the fewest trials on average with which any algorithm can be right often enough."""

from bestmix.theory.limit.bound import LowerBound, TolerantBound
from bestmix.theory.limit.measure import limit

__all__ = ["LowerBound", "TolerantBound", "limit"]
