import pytest
from matplotlib import pyplot

from bestmix import SFSR, Known, Problem, from_log, plots

ONE = {"dollars": 1.0}
TWO = {"dollars": 1.0, "seconds": 0.6}


def log(arms=3, costs=("dollars", "seconds")):
    data = {"arm": [], "reward": []} | {cost: [] for cost in costs}
    for a in range(arms):
        for step in (-0.02, 0.0, 0.03):
            data["arm"].append(f"arm{a}")
            data["reward"].append(1.0 + 0.9 * a + step)
            for place, cost in enumerate(costs):
                data[cost].append(0.2 + a * (0.9 - 0.5 * place) - 2 * step)
    return data


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_axes_are_returned_and_labelled():
    rec = from_log(log(), bounds=ONE, safety=None)
    ax = plots.plot_recommendation(rec)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mean dollars", "mean reward")
    assert sorted(texts(ax)) == ["arm0", "arm1", "arm2"]
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["in the mix", "not in the mix", "the mix", "bound", "95% interval"]


def test_the_mix_is_drawn_with_its_intervals():
    rec = from_log(log(), bounds=ONE)
    ax = plots.plot_recommendation(rec)
    (star,) = (drawn for drawn in ax.containers if drawn.lines[0].get_label() == "the mix")
    across, upwards = (bars.get_segments()[0] for bars in star.lines[2])
    assert across[:, 0] == pytest.approx(rec.limits["dollars"].interval)
    assert upwards[:, 1] == pytest.approx(rec.value_interval)


def test_an_event_that_was_not_seen_has_no_interval_below_zero():
    told = {"arm": ["a", "b"] * 50, "reward": [0.5, 0.6, 0.7, 0.9] * 25, "refusal": [0, 0, 0, 1] * 25}
    rec = from_log(told, bounds={"refusal": 0.4})
    drawn = plots.plot_recommendation(rec).containers
    bars = [bar[:, 0] for arms in drawn for bar in arms.lines[2][0].get_segments()]
    never = rec.estimates["a"].cost_intervals["refusal"]
    assert never[0] == 0 < never[1]
    assert any(bar == pytest.approx(never) for bar in bars)
    assert min(bar.min() for bar in bars) >= 0


def test_own_axes_are_drawn_on():
    _, axes = pyplot.subplots(1, 2)
    rec = from_log(log(), bounds=TWO)
    assert plots.plot_recommendation(rec, "seconds", ax=axes[1]) is axes[1]
    assert axes[1].get_xlabel() == "mean seconds"
    assert not axes[0].lines


def test_a_wrong_cost_is_refused():
    with pytest.raises(ValueError, match="expected one of dollars, got 'euros'"):
        plots.plot_recommendation(from_log(log(), bounds=ONE), "euros")


@pytest.mark.parametrize(("bounds", "panels"), [({}, 2), (ONE, 2), (TWO, 3), ({f"c{i}": 5.0 for i in range(4)}, 5)])
def test_one_panel_a_cost_and_the_shares(bounds, panels):
    data = log(costs=tuple(bounds))
    rec = from_log(data, bounds=bounds)
    assert len(plots.recommendation_figure(rec).axes) == panels
    assert len(plots.recommendation_figure(rec, shares=False).axes) == panels - 1


def test_known_arms_look_different():
    rec = from_log(log(), bounds=ONE, known={"off": Known(0.1, {"dollars": 0.0})})
    ax = plots.plot_recommendation(rec)
    assert "known, not in the mix" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert "off" in texts(ax)
    mixed = from_log(log(), bounds=ONE, known={"best": Known(9.0, {"dollars": 1.0})})
    legend = plots.plot_recommendation(mixed).get_legend()
    assert "known, in the mix" in [text.get_text() for text in legend.get_texts()]


def test_names_do_not_overlap():
    rec = from_log(log(arms=6), bounds=ONE)
    ax = plots.plot_recommendation(rec)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.texts]
    assert not any(a.overlaps(b) for i, a in enumerate(boxes) for b in boxes[:i])


def test_of_many_arms_only_the_support_is_named():
    rec = from_log(log(arms=40), bounds={"dollars": 9.3}, safety=None)
    assert sorted(texts(plots.plot_recommendation(rec))) == sorted(rec.support)


@pytest.mark.parametrize("bound", [1.0, -5.0], ids=["feasible", "infeasible"])
@pytest.mark.parametrize("suffix", plots.SUFFIXES)
def test_saved(tmp_path, suffix, bound):
    figure = plots.recommendation_figure(from_log(log(), bounds={"dollars": bound}))
    path = plots.save(figure, tmp_path / "deep" / f"f{suffix}")
    assert path.stat().st_size > 1000


def test_the_same_figure_gives_the_same_file(tmp_path):
    rec = from_log(log(), bounds=TWO)
    for name in ("a.svg", "b.svg"):
        plots.save(plots.recommendation_figure(rec), tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_other_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="expected a figure's name to end in"):
        plots.save(plots.recommendation_figure(from_log(log(), bounds=ONE)), tmp_path / "f.bmp")


def test_names_are_shown_as_they_are(tmp_path):
    data = log(arms=2)
    data["arm"] = [name.replace("arm", "$_{") for name in data["arm"]]
    rec = from_log(data | {"$x_$": data["dollars"]}, bounds={"$x_$": 0.5})
    figure = plots.recommendation_figure(rec)
    plots.save(figure, tmp_path / "f.svg")
    assert "$_{0" in (tmp_path / "f.svg").read_text()


def test_single_trials_and_no_trials_can_be_drawn():
    once = from_log({"arm": ["a", "b"], "reward": [1.0, 2.0], "dollars": [0.0, 2.0]}, bounds=ONE)
    plots.recommendation_figure(once).draw_without_rendering()
    untried = SFSR().start(Problem(["a", "b"], ONE), budget=20).recommend()
    plots.recommendation_figure(untried).draw_without_rendering()


def test_what_is_not_allowed_is_shaded_and_axes_are_named_after_goal_and_limit():
    log = {"arm": ["s", "s", "l", "l"], "dollars": [1.0, 1.2, 2.0, 2.2], "quality": [0.0, 0.2, 1.8, 2.2]}
    ax = plots.plot_recommendation(from_log(log, goal="minimise dollars", limits=["quality >= 1"]))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mean quality", "mean dollars")
    (shade,) = ax.patches
    assert (shade.get_x(), shade.get_x() + shade.get_width()) == pytest.approx((ax.get_xlim()[0], 1.0))


def test_ticks_of_small_costs_do_not_run_into_each_other():
    rows = {"arm": ["a", "b"] * 20, "reward": [1.0, 2.0] * 20}
    costs = {name: [0.0, 0.012, 0.001, 0.016] * 10 for name in ("x", "y", "z")}
    figure = plots.recommendation_figure(from_log(rows | costs, bounds=dict.fromkeys(costs, 0.01)))
    figure.draw_without_rendering()
    for ax in figure.axes[-3:]:
        boxes = [label.get_window_extent().padded(4) for label in ax.get_xticklabels() if label.get_text()]
        assert len(boxes) > 2
        assert not any(a.overlaps(b) for a, b in zip(boxes, boxes[1:], strict=False))


def test_a_long_interval_of_one_arm_does_not_flatten_all_others():
    data = log(12)
    data["arm"] += ["rare", "rare"]
    data["reward"] += [-400.0, 400.0]
    for cost in ("dollars", "seconds"):
        data[cost] += [0.1, 0.2]
    ax = plots.plot_recommendation(from_log(data, bounds=ONE))
    low, high = ax.get_ylim()
    assert -20 < low < 0
    assert 10.9 < high < 30
