"""Simulation: many seeded runs of strategies on instances, in threads, processes or a cluster."""

from bestmix.simulation.results import CellResult, SweepResult
from bestmix.simulation.sweep import simulate, sweep

__all__ = ["CellResult", "SweepResult", "simulate", "sweep"]
