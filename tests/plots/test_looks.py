from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from tests.plots.figures import assert_nothing_is_clipped

from bestmix import plots
from bestmix.plots.looks import legend_within, styles
from bestmix.plots.theme import STRATEGIES


def test_strategies_never_share_a_look():
    names = ["SFSR", "ab", "ba", "c", "mine", "yours", *(f"strategy {k}" for k in range(20))]
    looks = styles(names)
    assert plots.strategy_style("ab") == plots.strategy_style("ba")
    assert len({(look["color"], look["marker"]) for look in looks.values()}) == len(names)
    assert looks["SFSR"] == plots.strategy_style("SFSR")


def test_published_strategies_and_a_few_others_have_colours_of_their_own():
    looks = styles(["ab", "ba", *STRATEGIES])
    assert len({look["color"] for look in styles(list(STRATEGIES)).values()}) == len(STRATEGIES)
    assert {name: looks[name] for name in STRATEGIES} == STRATEGIES
    assert len({look["color"] for look in styles(["ab", "ba", "SFSR", "top-two"]).values()}) == 4


def test_more_strategies_than_looks_can_be_drawn():
    assert len(styles([f"strategy {k}" for k in range(100)])) == 100


def test_a_legend_takes_as_many_rows_as_it_needs():
    figure = Figure(figsize=(5.0, 3.0), layout="constrained")
    figure.add_subplot()
    legend_within(figure, {f"a strategy with the number {k}": Line2D([], []) for k in range(9)}, "outside lower left")
    assert_nothing_is_clipped(figure)
    assert len(figure.legends) == 1
