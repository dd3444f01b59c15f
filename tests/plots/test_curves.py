import numpy as np
import pytest
from tests.plots.figures import FIVE, assert_names_do_not_overlap, assert_nothing_is_clipped, cell, table

from bestmix import Instance, catalog, plots
from bestmix.simulation.results import SweepResult


def labels(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


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
    wrong = SweepResult((cell("one", "SFSR", 100, runs, runs), cell("one", "SFSR", 200, runs, runs)))
    plots.plot_errors(wrong).figure.draw_without_rendering()


def test_budgets_far_apart_get_a_logarithmic_axis():
    assert plots.plot_errors(table(5, 4, 3)).get_xscale() == "linear"
    doubled = table(5, 4, 3, 2, budgets=(100, 200, 400, 800))
    assert plots.plot_errors(doubled).get_xscale() == "log"
    ax = plots.plot_errors(table(5, 4, 3, budgets=(1000, 8000, 128000)))
    assert (ax.get_xscale(), ax.get_xlabel()) == ("log", "budget (thousands)")


def test_a_wrong_instance_is_refused():
    with pytest.raises(ValueError, match="expected one of one, got 'two'"):
        plots.plot_errors(table(5, 4, 3), "two")


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


@pytest.mark.parametrize("kind", ["sweep", "comparison"])
def test_no_text_is_clipped_and_no_names_overlap(kind):
    if kind == "sweep":
        figure = plots.sweep_figure(table(500, 9, 0, names=["A1", "A2"]), dict.fromkeys(("A1", "A2"), FIVE))
    else:
        figure = plots.comparison_figure(table(500, 9, 0), catalog.load("D3P"))
    assert_nothing_is_clipped(figure)
    assert_names_do_not_overlap(figure)


def test_legends_of_many_strategies_are_not_clipped():
    many = table(5, 4, 3, strategies=[f"strategy {k}" for k in range(11)])
    figure = plots.comparison_figure(many, catalog.load("D2P"))
    assert_nothing_is_clipped(figure)
    assert {f"strategy {k}" for k in range(11)} <= set(labels(figure))


@pytest.mark.parametrize("by", ["error", "loss", "kept"])
def test_with_one_budget_every_strategy_has_a_row_and_no_legend(by):
    figure = plots.comparison_figure(table(500, strategies=["SFSR", "USLP", "mine"], budgets=[4000]), FIVE, by)
    assert_nothing_is_clipped(figure)
    assert {text.get_text() for text in figure.axes[-1].get_yticklabels()} == {"SFSR", "USLP", "mine"}
    assert not {"SFSR", "USLP", "mine"} & set(labels(figure))
