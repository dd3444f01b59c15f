import numpy as np

from bestmix import Instance, from_log, plots

NAMES = ("flash", "mini", "large", "pro")


def answer(costs, bound):
    rows = [
        (n, k + e, c * (1 + e)) for k, (n, c) in enumerate(zip(NAMES, costs, strict=True)) for e in (-0.1, 0.0, 0.1)
    ]
    log = dict(zip(("arm", "reward", "dollars"), zip(*rows, strict=True), strict=True))
    return from_log(log, bounds={"dollars": bound})


def tick_boxes(ax):
    ax.figure.draw_without_rendering()
    low, high = ax.get_xlim()
    ticks = [t for t, x in zip(ax.get_xticklabels(), ax.get_xticks(), strict=True) if low <= x <= high]
    return [t.get_window_extent() for t in ticks if t.get_text()]


def test_tick_labels_do_not_touch_at_small_prices():
    for costs, bound in (
        ((1e-4, 2e-4, 4e-4, 5.5e-4), 2.5e-4),
        ((2e-4, 3e-3, 2e-2, 0.1), 5e-3),
        ((0.001, 3e-3, 2e-2, 0.15), 5e-3),
    ):
        boxes = tick_boxes(plots.plot_recommendation(answer(costs, bound)))
        assert len(boxes) > 1
        assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])
        assert max(box.width for box in boxes) < 50


def test_costs_that_differ_a_hundredfold_get_a_logarithmic_axis():
    far, near = (2e-4, 3e-3, 2e-2, 0.1), (1.0, 2.0, 3.0, 4.0)
    assert plots.plot_recommendation(answer(far, 5e-3)).get_xscale() == "log"
    assert plots.plot_recommendation(answer(near, 2.5)).get_xscale() == "linear"
    assert plots.plot_instance(Instance(range(4), [far], [5e-3])).get_xscale() == "log"
    assert plots.plot_instance(Instance(range(4), [(0.0, *far[1:])], [5e-3])).get_xscale() == "linear"


def test_costs_that_differ_fiftyfold_are_not_pressed_together_and_have_numbers_in_full():
    ax = plots.plot_recommendation(answer((0.001, 0.002, 0.012, 0.05), 0.01))
    ax.figure.draw_without_rendering()
    assert ax.get_xscale() == "log"
    assert {"0.001", "0.003", "0.01", "0.03"} <= {label.get_text() for label in ax.get_xticklabels()}


def test_names_stay_on_their_side_of_the_bound():
    rec = answer((2e-4, 4e-3, 6e-3, 0.1), 5e-3)
    ax = plots.plot_recommendation(rec)
    ax.figure.draw_without_rendering()
    wall = ax.transData.transform((5e-3, 0.0))[0]
    for text in ax.texts:
        box, cost = text.get_window_extent(), rec.estimates[text.get_text()].costs["dollars"]
        assert (box.x1 < wall + 3) if cost < 5e-3 else (box.x0 > wall - 3)
        assert np.isfinite(box.x0)
