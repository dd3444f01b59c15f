"""How many trials to plan for, by simulation."""

from bestmix.theory.planning.plan import Plan, built_in, plan

__all__ = ["Plan", "built_in", "plan"]
