from tests.plots.figures import assert_nothing_is_clipped

from bestmix import plots
from bestmix.plots.rivals import Mark, looks_of

MARKS = {
    "D1P": {"Challenger": Mark(300.0), "LATS": Mark(900.0, False), "LAGEX": Mark(0.0)},
    "uniform 16 x 1, 31000": {"Challenger": Mark(20.0)},
}


def test_every_strategy_is_a_mark_that_is_hollow_where_it_breaks_its_word():
    ax = plots.plot_marks(MARKS, "trials")
    marks = [line for line in ax.lines if line.get_marker() not in ("None", "", None)]
    assert [line.get_xdata()[0] for line in marks][:2] == [300.0, 900.0]
    assert 0 < marks[2].get_xdata()[0] < 20
    assert marks[1].get_markerfacecolor() != marks[1].get_color()
    assert marks[0].get_markerfacecolor() == marks[0].get_color()


def test_strategies_look_different():
    looks = looks_of(MARKS)
    assert len({(look["color"], look["marker"]) for look in looks.values()}) == 3


def test_no_text_is_clipped():
    assert_nothing_is_clipped(plots.rivals_figure({"trials until 95% sure": MARKS, "wrong answers in %": MARKS}))
