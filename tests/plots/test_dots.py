import numpy as np
import pytest
from tests.plots.figures import cell

from bestmix import plots
from bestmix.plots.dots import plot_dots
from bestmix.simulation.cells import Outcomes
from bestmix.simulation.results import CellResult, SweepResult

CELLS = [cell("one", "USLP", 4000, 800), cell("one", "$mine", 4000, 0), cell("one", "SFSR", 4000, 300)]


def names(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def test_a_row_for_each_strategy_the_best_on_top_with_its_interval():
    ax = plot_dots(CELLS, "error")
    assert names(ax) == ["$mine", "SFSR", "USLP"]
    assert [text.get_text() for text in ax.texts] == ["0%", "30%", "80%"]
    dots = [tuple(container[0].get_xydata()[0]) for container in ax.containers]
    assert dots == [(0.0, 0), (0.3, 1), (0.8, 2)]
    bars = [container[2][0].get_segments()[0][:, 0] for container in ax.containers]
    np.testing.assert_allclose(bars, [CELLS[k].interval for k in (1, 2, 0)], atol=1e-12)
    assert ax.get_xlabel() == "error rate with a budget of 4,000"
    assert ax.yaxis_inverted()


def test_of_kept_limits_the_most_are_the_best():
    kept = [made("one", 0.2), made("all", 1.0), made("none", 0.0)]
    assert names(plot_dots(kept, "kept")) == ["all", "one", "none"]


def test_a_loss_that_nobody_knows_is_a_dash_at_the_end():
    outcome = np.full(100, 2, np.uint8)  # all wrongly infeasible: no mix, no loss
    lost = CellResult("one", "lost", 4000, 0, Outcomes(outcome, np.zeros(100, np.int64), *np.full((3, 100), np.nan)))
    assert np.isnan(lost.loss)
    ax = plot_dots([lost, *CELLS], "loss")
    ax.figure.draw_without_rendering()
    assert names(ax)[-1] == "lost"
    assert ax.texts[-1].get_text() == "–"


def made(strategy, share):
    """A cell in which that share of mixes keeps the limits."""
    beyond, zeros = (np.arange(100) >= 100 * share).astype(float), np.zeros(100)
    outcomes = Outcomes(zeros.astype(np.uint8), zeros.astype(np.int64), zeros, beyond, zeros)
    return CellResult("one", strategy, 4000, 0, outcomes)


@pytest.mark.parametrize(("budgets", "axis"), [([4000], "error rate with a budget of 4,000"), ([1000, 4000], "budget")])
def test_a_comparison_has_dots_for_one_budget_and_curves_for_several(budgets, axis):
    cells = [cell("one", name, budget, 30) for name in ("SFSR", "USLP") for budget in budgets]
    assert plots.plot_measure(SweepResult(tuple(cells)), "error").get_xlabel() == axis
