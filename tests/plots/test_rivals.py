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


def test_zero_has_its_own_place_and_name():
    ax = plots.plot_marks(MARKS, "trials")
    labels = [text.get_text() for text in ax.get_xticklabels()]
    places = dict(zip(labels, ax.get_xticks(), strict=True))
    zero = next(line for line in ax.lines if line.get_marker() == looks_of(MARKS)["LAGEX"]["marker"]).get_xdata()[0]
    assert places["0"] == zero
    parted = [
        line.get_xdata()[0] for line in ax.lines if len(set(line.get_xdata())) == 1 and len(line.get_xdata()) == 2
    ]
    assert len(parted) == 1
    assert zero < parted[0] < 20.0
    without = plots.plot_marks({"D1P": {"Challenger": Mark(300.0)}}, "trials")
    assert "0" not in [text.get_text() for text in without.get_xticklabels()]


def test_the_rivals_differ_in_colour_and_in_glyph():
    names = ("Challenger", "top-two", "LAGEX", "LATS", "CTnS", "CGE", "SFSR", "SFSR-L", "USLP", "paced Thompson")
    looks = looks_of({"D1P": dict.fromkeys(names, Mark(1.0))}).values()
    assert len({look["color"] for look in looks}) == len(names)
    assert len({look["marker"] for look in looks}) == len(names)


def test_panels_have_the_same_rows():
    figure = plots.rivals_figure({"trials": MARKS, "wrong answers in %": {"A1": MARKS["D1P"]}})
    first, second = figure.axes
    assert first.get_ylim() == second.get_ylim() == (2.5, -0.5)
    assert [text.get_text() for text in first.get_yticklabels()] == [*MARKS, "A1"]
    marks = [line for line in second.lines if line.get_marker() not in ("None", "", None)]
    assert all(1.5 < line.get_ydata()[0] < 2.5 for line in marks)
