"""Strategies: one algorithm a file; each is an immutable recipe that starts a Search."""

from bestmix.strategies.challenger import Challenger
from bestmix.strategies.protocol import Strategy
from bestmix.strategies.search import Search
from bestmix.strategies.sfsr import SFSR
from bestmix.strategies.single_arm import SingleArm
from bestmix.strategies.uniform import Uniform

__all__ = ["SFSR", "Challenger", "Search", "SingleArm", "Strategy", "Uniform"]
