from matplotlib import pyplot
from tests.plots.figures import assert_nothing_is_clipped

from bestmix import Instance, plots, tradeoff

THREE = Instance([1.0, 1.75, 2.0], [[0.0, 1.0, 2.0]], [1.0], costs=["dollars"])


def log():
    rows = [(f"a{a}", a + e, 2 * a + e) for a in range(3) for e in (-0.1, 0.0, 0.12, 0.05, -0.07)]
    return dict(zip(("arm", "reward", "dollars"), zip(*rows, strict=True), strict=True))


def test_labels_knots_and_the_bound():
    ax = plots.plot_tradeoff(tradeoff(THREE))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("limit on mean dollars", "mean reward")
    texts = [text.get_text() for text in ax.texts]
    assert texts == ["now 1: 1.75", "arm0 + arm1", "arm1 + arm2", "arm2"]
    dots = next(line for line in ax.lines if line.get_marker() == "o")
    assert list(dots.get_xdata()) == [0.0, 1.0, 2.0]


def test_the_safe_mix_has_a_band():
    ax = plots.plot_tradeoff(tradeoff(log(), bounds={"dollars": 3.0}))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["best mix at the estimates", "limits kept with 95% certainty", "its 95% interval"]


def test_own_axes_are_drawn_on_and_panels_stand_side_by_side():
    _, axes = pyplot.subplots(1, 2)
    assert plots.plot_tradeoff(tradeoff(THREE), axes[1]) is axes[1]
    assert len(plots.tradeoff_figure(tradeoff(THREE), tradeoff(THREE)).axes) == 2


def test_costs_that_differ_a_hundredfold_get_a_logarithmic_axis():
    far = Instance([0.5, 0.6, 0.7], [[2e-4, 3e-3, 0.1]], [5e-3])
    assert plots.plot_tradeoff(tradeoff(far)).get_xscale() == "log"
    assert plots.plot_tradeoff(tradeoff(THREE)).get_xscale() == "linear"


def test_a_certainty_that_is_almost_one_is_not_told_as_one():
    ax = plots.plot_tradeoff(tradeoff(log(), bounds={"dollars": 3.0}, safety=0.999))
    assert "limits kept with 99.9% certainty" in [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_bound_far_beyond_is_left_out_and_pointed_to():
    far = tradeoff(Instance([1.0, 2.0], [[1.0, 2.0]], [1e9]))
    assert next(text.get_text() for text in plots.plot_tradeoff(far).texts) == "now 1e+09: 2 \N{RIGHTWARDS ARROW}"


def test_nothing_is_clipped_at_small_prices():
    near = Instance([0.5, 0.6, 0.7], [[2e-4, 3e-4, 5e-4]], [2.5e-4], costs=["dollars"])
    assert_nothing_is_clipped(plots.tradeoff_figure(tradeoff(near)))


def test_no_curve_is_a_sentence():
    ax = plots.plot_tradeoff(tradeoff(Instance([1.0], [[1.0], [5.0]], [9.0, 1.0])))
    assert [text.get_text() for text in ax.texts] == ["Whatever the limit on cost0, no mix keeps the others."]


def test_names_of_arms_stay_within_the_frame_and_off_the_bound():
    found = tradeoff(
        Instance([0.645, 0.884, 0.972], [[0.001, 0.004, 0.01]], [0.005], arms=["small", "medium", "large"])
    )
    ax = plots.plot_tradeoff(found)
    ax.figure.draw_without_rendering()
    frame, bound = ax.get_window_extent(), ax.transData.transform((0.005, 0.0))[0]
    names = [text.get_window_extent() for text in ax.texts if "+" in text.get_text()]
    assert len(names) == 2
    for box in names:
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert not box.x0 < bound < box.x1
