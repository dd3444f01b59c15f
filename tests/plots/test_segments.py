import numpy as np
import pytest
from tests.answers.segmented import evidence, problem

from bestmix import Instance, Problem, catalog, from_log, plots
from bestmix.answers.recommend import recommend
from bestmix.plots.segments import MOST_SEGMENTS


@pytest.fixture(scope="module")
def rec():
    told = evidence(problem())
    return recommend(told, told.tried, strategy="log")


def test_every_share_stands_in_its_place(rec):
    ax = plots.plot_segments(rec)
    assert [t.get_text() for t in ax.get_yticklabels()] == ["free, 70% of users", "paid, 30% of users"]
    arms = [t.get_text() for t in ax.get_xticklabels()]
    shares = ax.collections[0].get_array().reshape(2, len(arms))
    for row, segment in enumerate(["free", "paid"]):
        assert dict(zip(arms, shares[row], strict=True)) == pytest.approx(
            dict.fromkeys(arms, 0.0) | dict(rec.by_segment[segment])
        )
    assert len(ax.texts) == sum(map(len, rec.by_segment.values()))


def test_the_figure_of_a_recommendation_shows_the_shares_by_segment(rec):
    *planes, shares = plots.recommendation_figure(rec).axes[::-1]
    assert [ax.get_xlabel() for ax in planes] == ["mean quality"]
    assert shares.get_yticklabels()[0].get_text() == "free, 70% of users"


def test_of_many_segments_those_with_the_most_users_are_drawn():
    rows = {"arm": [], "reward": [], "who": []}
    for s in range(MOST_SEGMENTS + 5):
        for arm in "ab":
            for value in [0.0, 1.0] * (2 if s == 64 else 1):
                rows["arm"].append(arm)
                rows["reward"].append(value + (arm == "b"))
                rows["who"].append(f"s{s}")
    ax = plots.plot_segments(from_log(rows, segment="who", safety=None))
    labels = [t.get_text() for t in ax.get_yticklabels()]
    assert len(labels) == MOST_SEGMENTS
    assert labels[0].startswith("s64, ")


def test_one_mix_for_all_has_another_figure():
    answer = from_log({"arm": ["a", "a", "b", "b"], "reward": [1.0, 1.1, 2.0, 2.1]})
    with pytest.raises(ValueError, match="rec: expected a recommendation by segment, got one mix for all"):
        plots.plot_segments(answer)


def test_the_best_shares_of_an_instance_are_those_of_its_mix():
    instance = catalog.load("S3L1")
    ax = plots.plot_best_shares(instance)
    shown = ax.collections[0].get_array().reshape(3, 6)
    np.testing.assert_allclose(shown.sum(axis=1), 1.0)
    assert len(ax.texts) == len(instance.mixture)
    alone = Instance.from_problem(Problem(["a", "b"], limits=["share(b) <= 40%"]), [[1.0], [2.0]])
    assert [t.get_text() for t in plots.plot_best_shares(alone).get_yticklabels()] == ["everyone, 100% of users"]


def test_long_names_stand_aslant_and_do_not_overlap():
    def columns(names):
        rows = [(a, s, float(i + k)) for a in names for s in ("x", "y") for i, k in ((0, 1), (1, 0), (2, 1))]
        log = {key: [row[i] for row in rows] for i, key in enumerate(("arm", "who", "reward"))}
        figure = plots.recommendation_figure(from_log(log, segment="who"))
        figure.canvas.draw()
        return next(ax for ax in figure.axes if ax.collections and ax.get_xticklabels()[0].get_text()).get_xticklabels()

    assert {label.get_rotation() for label in columns(["small", "large"])} == {0.0}
    assert {label.get_rotation() for label in columns([f"a vendor's long name {i}" for i in range(3)])} == {30.0}
