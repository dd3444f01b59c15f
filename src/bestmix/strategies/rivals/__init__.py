"""Published algorithms for the same questions, each written from what was at hand of its paper."""

from bestmix.strategies.rivals.cge import CGE
from bestmix.strategies.rivals.constrained_sr import ConstrainedSR
from bestmix.strategies.rivals.ctns import CTnS
from bestmix.strategies.rivals.lagex import LAGEX
from bestmix.strategies.rivals.lats import LATS
from bestmix.strategies.rivals.ocba import OCBA
from bestmix.strategies.rivals.paced_thompson import PacedThompson
from bestmix.strategies.rivals.top_two import TopTwo

__all__ = ["CGE", "LAGEX", "LATS", "OCBA", "CTnS", "ConstrainedSR", "PacedThompson", "TopTwo"]
