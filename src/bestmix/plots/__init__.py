"""Figures: functions that take Matplotlib axes, draw on them and return them.

Every figure uses the colours and the style of ``theme.py``, so that the same thing looks the same
everywhere. Matplotlib is imported when a figure is made, not before.
"""

from bestmix.plots.calibration import calibration_figure, plot_cells, plot_reliability, reliability_figure
from bestmix.plots.curves import comparison_figure, plot_errors, plot_measure, sweep_figure
from bestmix.plots.gains import gains_figure, plot_gains
from bestmix.plots.geometry import Frontier, Segment, best_segments, frontier
from bestmix.plots.instances import plot_costs, plot_instance
from bestmix.plots.limit import limit_figure, plot_limit
from bestmix.plots.recommendation import plot_recommendation, recommendation_figure
from bestmix.plots.rivals import plot_marks, rivals_figure
from bestmix.plots.rounds import rounds_figure
from bestmix.plots.scores import frontier_figure, name_frontier, plot_frontier, plot_scores, scores_figure
from bestmix.plots.segments import plot_best_shares, plot_segments, segments_figure
from bestmix.plots.theme import (
    COLOURS,
    MARKERS,
    STRATEGIES,
    STYLE,
    SUFFIXES,
    available,
    check_path,
    save,
    strategy_style,
    style,
)
from bestmix.plots.theory import (
    bounds_figure,
    explanation_figure,
    plan_figure,
    plot_alternative,
    plot_bounds,
    plot_margins,
    plot_plan,
)
from bestmix.plots.tradeoff import plot_tradeoff, tradeoff_figure

__all__ = [
    "COLOURS",
    "MARKERS",
    "STRATEGIES",
    "STYLE",
    "SUFFIXES",
    "Frontier",
    "Segment",
    "available",
    "best_segments",
    "bounds_figure",
    "calibration_figure",
    "check_path",
    "comparison_figure",
    "explanation_figure",
    "frontier",
    "frontier_figure",
    "gains_figure",
    "limit_figure",
    "name_frontier",
    "plan_figure",
    "plot_alternative",
    "plot_best_shares",
    "plot_bounds",
    "plot_cells",
    "plot_costs",
    "plot_errors",
    "plot_frontier",
    "plot_gains",
    "plot_instance",
    "plot_limit",
    "plot_margins",
    "plot_marks",
    "plot_measure",
    "plot_plan",
    "plot_recommendation",
    "plot_reliability",
    "plot_scores",
    "plot_segments",
    "plot_tradeoff",
    "recommendation_figure",
    "reliability_figure",
    "rivals_figure",
    "rounds_figure",
    "save",
    "scores_figure",
    "segments_figure",
    "strategy_style",
    "style",
    "sweep_figure",
    "tradeoff_figure",
]
