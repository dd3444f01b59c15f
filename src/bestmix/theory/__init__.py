"""Hardness of an instance, bounds on errors, and how many trials to plan for."""

from bestmix.problems.uniqueness import broken_condition
from bestmix.theory.bounds import ErrorBounds, error_bounds
from bestmix.theory.explain import Explanation, explain
from bestmix.theory.explain_segments import SegmentExplanation
from bestmix.theory.gaps.measure import Alternative, Gaps, gaps
from bestmix.theory.limit.bound import LowerBound, TolerantBound
from bestmix.theory.limit.measure import limit
from bestmix.theory.planning.bisection import Budget
from bestmix.theory.planning.plan import Plan, built_in, plan
from bestmix.theory.planning.sensitivity import Sensitivity

__all__ = [
    "Alternative",
    "Budget",
    "ErrorBounds",
    "Explanation",
    "Gaps",
    "LowerBound",
    "Plan",
    "SegmentExplanation",
    "Sensitivity",
    "TolerantBound",
    "broken_condition",
    "built_in",
    "error_bounds",
    "explain",
    "gaps",
    "limit",
    "plan",
]
