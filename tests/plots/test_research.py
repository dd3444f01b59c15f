"""Figures of instances, error curves and scores."""

import matplotlib
import numpy as np
import pytest

matplotlib.use("Agg")

from matplotlib import pyplot

from bestmix import SFSR, Instance, catalog, plots
from bestmix.simulation.cells import Outcomes
from bestmix.simulation.results import CellResult, SweepResult

FIVE = Instance([1.7, 2.6, 0.5, 2.1, 1.2], [[0.0, 1.8, 0.8, 1.3, 2.0]], [1.0])


@pytest.fixture(autouse=True)
def close():
    yield
    pyplot.close("all")


def cell(instance, strategy, budget, errors, runs=1000):
    outcome = np.zeros(runs, np.uint8)
    outcome[:errors] = 1
    return CellResult(instance, strategy, budget, 0, Outcomes(outcome, np.zeros(runs, np.int64), *np.zeros((2, runs))))


def table(*errors, names=("one",), strategies=("SFSR", "USLP"), budgets=(1000, 2000, 4000)):
    cells = [
        cell(name, strategy, budget, e)
        for name in names
        for strategy in strategies
        for budget, e in zip(budgets, errors, strict=True)
    ]
    return SweepResult(tuple(cells))


def labels(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_an_instance_shows_its_best_mix_and_bound():
    ax = plots.plot_instance(FIVE, named=["arm0", "arm1"])
    assert ax.get_legend_handles_labels()[1] == ["other arms", "arms of the best mix", "the best mix", "bound"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mean cost", "mean reward")
    assert sorted(text.get_text() for text in ax.texts) == ["arm0", "arm1"]
    triangles = next(line for line in ax.lines if line.get_label() == "arms of the best mix")
    assert triangles.get_marker() == "^"
    np.testing.assert_array_equal(triangles.get_xydata(), [[0.0, 1.7], [1.8, 2.6]])


def test_arms_with_the_same_means_are_counted():
    assert [text.get_text() for text in plots.plot_instance(catalog.load("H2")).texts] == ["14 arms"]
    assert not plots.plot_instance(catalog.load("D3P"), "cost1").texts


def test_an_instance_without_that_cost_is_refused():
    with pytest.raises(ValueError, match="expected one of cost0, got 'euros'"):
        plots.plot_instance(FIVE, "euros")
    with pytest.raises(ValueError, match="expected one of no costs"):
        plots.plot_instance(Instance([1.0, 2.0]))


def test_curves_have_the_rates_and_their_intervals():
    result = table(500, 100, 10, strategies=["SFSR"])
    container = plots.plot_errors(result).containers[0]
    np.testing.assert_array_equal(container[0].get_xydata(), [[1000, 0.5], [2000, 0.1], [4000, 0.01]])
    drawn = np.array([segment[:, 1] for segment in container[2][0].get_segments()])
    np.testing.assert_allclose(drawn, [c.interval for c in result])


def test_a_rate_of_zero_is_an_arrow_from_the_end_of_its_interval():
    result = table(500, 10, 0, strategies=["SFSR"])
    line, arrow = plots.plot_errors(result).containers
    assert line[0].get_xdata().tolist() == [1000, 2000]
    (point,) = arrow[0].get_xydata()
    assert point == pytest.approx((4000, result.cells[2].interval[1]))
    assert plots.curves.NO_ERROR in labels(plots.sweep_figure(result))
    assert plots.curves.NO_ERROR not in labels(plots.sweep_figure(table(5, 4, 3)))


def test_nothing_that_is_drawn_lies_outside_the_axes():
    for errors in ((1000, 990, 980), (1000, 10, 1), (3, 0, 0)):
        ax = plots.plot_errors(table(*errors))
        low, high = ax.get_ylim()
        ends = [
            end for c in table(*errors) for end in (c.interval[0] if c.errors else 0.5 * c.interval[1], c.error_rate)
        ]
        assert low < min(e for e in ends if e > 0)
        assert max(ends) < high


@pytest.mark.parametrize("runs", [1, 7, 250, 2000, 10_000])
def test_a_strategy_that_is_always_wrong_can_be_drawn(runs):
    plots.plot_errors(SweepResult((cell("one", "SFSR", 100, runs, runs), cell("one", "SFSR", 200, runs, runs))))


def test_budgets_far_apart_get_a_logarithmic_axis():
    assert plots.plot_errors(table(5, 4, 3)).get_xscale() == "linear"
    doubled = table(5, 4, 3, 2, budgets=(100, 200, 400, 800))
    assert plots.plot_errors(doubled).get_xscale() == "log"
    ax = plots.plot_errors(table(5, 4, 3, budgets=(1000, 8000, 128000)))
    assert (ax.get_xscale(), ax.get_xlabel()) == ("log", "budget (thousands)")


def test_a_wrong_instance_is_refused():
    with pytest.raises(ValueError, match="expected one of one, got 'two'"):
        plots.plot_errors(table(5, 4, 3), "two")


def test_strategies_never_share_a_look():
    names = ["SFSR", "ab", "ba", "c", "mine", "yours"]
    looks = plots.curves.styles(names)
    assert plots.strategy_style("ab") == plots.strategy_style("ba")
    assert len({(look["color"], look["marker"]) for look in looks.values()}) == len(names)


@pytest.mark.parametrize(("names", "panels"), [(("A1",), 2), (("A1", "A2"), 4), (("A1", "A2", "A3", "H1"), 8)])
def test_each_instance_has_its_arms_and_its_curves(names, panels):
    result = table(500, 100, 0, names=names)
    figure = plots.sweep_figure(result, {name: catalog.load(name) for name in names})
    assert len(figure.axes) == panels
    assert set(names) <= {ax.get_title(loc="left") for ax in figure.axes}
    assert {"SFSR", "USLP", "bound", "arms of the best mix"} <= set(labels(figure))
    assert len(plots.sweep_figure(result).axes) == panels / 2


@pytest.mark.parametrize("name", ["A1", "D2P"])
def test_comparison(name):
    instance = catalog.load(name)
    figure = plots.comparison_figure(table(500, 100, 0), instance)
    assert len(figure.axes) == len(instance.costs) + 1
    assert len(plots.comparison_figure(table(5, 4, 3), Instance([1.0, 2.0])).axes) == 1


@pytest.mark.parametrize("figure", ["sweep", "scores", "frontier", "comparison"])
def test_no_text_is_clipped_and_no_names_overlap(figure):
    made = {
        "sweep": lambda: plots.sweep_figure(table(500, 9, 0, names=["A1", "A2"]), dict.fromkeys(("A1", "A2"), FIVE)),
        "scores": lambda: plots.scores_figure(FIVE),
        "frontier": lambda: plots.frontier_figure(catalog.load("H2"), catalog.load("H2").means + 0.05, "arm0"),
        "comparison": lambda: plots.comparison_figure(table(500, 9, 0), catalog.load("D3P")),
    }[figure]()
    made.draw_without_rendering()
    drawn = made.get_tightbbox()
    width, height = made.get_size_inches()
    assert min(drawn.x0, drawn.y0) >= -0.01
    assert drawn.x1 <= width + 0.01
    assert drawn.y1 <= height + 0.01
    for ax in made.axes:
        names = [t.get_window_extent() for t in ax.texts]
        assert not any(a.overlaps(b) for i, a in enumerate(names) for b in names[:i])


def first_scores(strategy):
    """The scores after a first round in which every trial gave the true means."""
    search = strategy.start(FIVE.problem, budget=100)
    for arm, count in search.ask().items():
        reward, cost = FIVE.means[FIVE.arms.index(arm)]
        search.tell(arm, [reward] * count, [[cost]] * count)
    return search.history[0]


def test_scores_are_those_of_the_strategy():
    segments = plots.best_segments(FIVE.means, 1.0)
    told = first_scores(SFSR())
    np.testing.assert_allclose([s.score for s in segments], [told.scores[c] for c in FIVE.problem.columns])
    assert [(s.column, s.partner) for s in segments[:5]] == [(0, 1), (1, 0), (2, 3), (3, 0), (4, 0)]
    ticks = [text.get_text() for text in plots.plot_scores(FIVE).get_yticklabels()]
    assert ticks[0].startswith("score of arm2: 1.14")
    assert told.rejected == "arm2"
    assert ticks[1:] == ["score of arm4: 1.45", "score of arm3: 2.01", "score of arm0 and arm1: 2.20"]


def test_distances_to_the_frontier_are_lagrangian_scores():
    scores = first_scores(SFSR(score="lagrangian")).scores
    line = plots.frontier(FIVE.means, 1.0)
    np.testing.assert_allclose(FIVE.reward - line.height(FIVE.cost[0]), [scores[a] for a in FIVE.arms], atol=1e-12)
    with pytest.raises(ValueError, match="within the bound, got none"):
        plots.frontier(FIVE.means + np.array([0.0, 5.0]), 1.0)


def test_scores_need_one_cost():
    with pytest.raises(ValueError, match="expected one cost, got 2"):
        plots.plot_scores(catalog.load("D1P"))
