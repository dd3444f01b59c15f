"""The figure of a search's rounds."""

import math

import pytest

from bestmix import plots
from bestmix.answers.recommendation import Round
from bestmix.plots.rounds import MOST_LINES, spread


def names(ax):
    return [text.get_text() for text in ax.texts]


def test_the_arms_of_the_last_mixture_stand_out():
    rounds = [Round(1, {"a": 2, "b": 2}, {"a": 1.0, "b": 0.5}), Round(2, {"a": 2}, {"a": 1.2}, rejected="b")]
    above, below = plots.rounds_figure(rounds, [(1, {"a": 0.4, "b": 0.6}), (2, {"a": 1.0})]).axes
    assert sorted(names(above)) == sorted(names(below)) == ["a", "b"]
    colours = {text.get_text(): text.get_color() for text in above.texts}
    assert colours == {"a": plots.COLOURS["support"], "b": plots.COLOURS["muted"]}
    assert below.get_ylabel() == "score"


def test_rounds_without_a_mixture_and_infinite_scores_are_left_out():
    rounds = [
        Round(1, {"a": 2}, {"a": -math.inf, "b": math.nan}, reasons={"a": {"b": 2}}),
        Round(2, {"a": 2}, {"a": 3.0}),
    ]
    above, below = plots.rounds_figure(rounds, [(1, None), (2, {"a": 1.0})]).axes
    assert names(above) == names(below) == ["a"]
    assert below.get_ylabel().startswith("standard errors")


def test_of_many_columns_those_that_matter_are_drawn():
    rounds = [Round(n, {"arm0": 1}, {f"arm{k}": k + n for k in range(40)}) for n in (1, 2)]
    _, below = plots.rounds_figure(rounds, [(1, {"arm0": 1.0}), (2, {"arm0": 1.0})]).axes
    assert names(below) == [f"arm{k}" for k in range(MOST_LINES)]


@pytest.mark.parametrize("heights", [[0.5, 0.5, 0.5], [0.0, 0.05, 0.9, 0.95, 1.0], [3.0], []])
def test_names_are_moved_apart_and_stay_in_order(heights):
    places = spread(heights, 0.1)
    assert [b - a >= 0.1 - 1e-12 for a, b in zip(places, places[1:], strict=False)] == [True] * max(len(places) - 1, 0)
    assert sum(places) == pytest.approx(sum(heights))
