import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestmix import Instance, Problem
from bestmix.problems.changes import Wish, amended, wish_for
from bestmix.problems.features import design, read_features

VARIANTS = {
    "small": {"model": "s", "heat": 0.5},
    "large": {"model": "l", "heat": 0.0},
    "warm": {"model": "l", "heat": 1.0},
    "hot": {"model": "s", "heat": 2.0},
}


def projection(rows):
    """Onto the span of the columns."""
    return rows @ np.linalg.pinv(rows)


def test_named_features_have_a_constant_and_a_column_for_each_text():
    raw = np.array([[1, 1, 0, 0.5], [1, 0, 1, 0.0], [1, 0, 1, 1.0], [1, 1, 0, 2.0]])
    assert design(VARIANTS).shape == (4, 3)
    np.testing.assert_allclose(projection(design(VARIANTS)), projection(raw), atol=1e-12)


def test_numbers_are_taken_as_they_are():
    table = [[1.0, 2.0], [0.0, 3.0], [1.0, 1.0]]
    np.testing.assert_allclose(projection(design(read_features(["a", "b", "c"], table))), projection(np.array(table)))
    assert design(read_features(["a", "b"], {"b": [2.0], "a": (1,)})).shape == (2, 1)
    assert read_features(["a"], {"a": {"new": True}}) == {"a": {"new": 1.0}}
    assert read_features(["a"], None) == read_features(["a"], {}) == {}


@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=4, max_size=4).filter(np.any),
    st.integers(-200, 140),
    st.randoms(use_true_random=False),
)
def test_units_and_the_order_of_features_do_not_matter(rows, power, random):
    table, order = np.array(rows, dtype=float), random.sample(range(3), 3)
    moved = table[:, order] * [10.0**power, 1.0, -1.0]
    one, other = (design(read_features(list("abcd"), part)) for part in (table, moved))
    assert one.shape == other.shape
    np.testing.assert_allclose(projection(one), projection(other), atol=1e-9)


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({"a": {"x": 1}}, "features: expected one value for each arm that can be tried: 'a', 'b'; got 1 missing"),
        ({"a": {"x": 1}, "b": {"x": 2}, "c": {"x": 3}}, "1 unknown"),
        ({"a": {"x": 1}, "b": {"y": 2}}, r"features\['b'\]: expected one value for each feature: 'x'"),
        (
            {"a": {"x": 1}, "b": {"x": "much"}},
            r"features\['b'\]: expected x as a number, as other arms have it, got 'm",
        ),
        ({"a": {"x": float("nan")}, "b": {"x": 1}}, r"features\['a'\]\['x'\]: expected"),
        ({"a": {"x": [1]}, "b": {"x": 1}}, r"features\['a'\]\['x'\]: expected a number"),
        ({"a": {}, "b": {}}, r"features\['a'\]: expected for each arm its features by name"),
        ({"a": {"x": ""}, "b": {"x": "y"}}, r"features\['a'\]\['x'\]: expected non-empty strings"),
        ({"a": [1, 2], "b": [1]}, r"features\['b'\]: expected shape \(2\)"),
        ({"a": 1.0, "b": 2.0}, r"features\['a'\]: expected for each arm its features by name"),
        ({"a": "s", "b": "l"}, r"features\['a'\]: expected for each arm its features by name"),
        ([[0.0], [0.0]], "features: expected some that are not zero, got zeros alone; leave features out"),
        ([[1.0]], "features: expected shape"),
        ("text", "features: expected numbers in the shape"),
        ([[1.0], [float("inf")]], "features: expected finite numbers"),
    ],
)
def test_what_is_no_feature_is_refused_with_a_sentence(features, message):
    with pytest.raises(ValueError, match=message):
        Problem(["a", "b"], features=features)


@pytest.mark.parametrize(
    "beside", [{"segments": {"x": 0.5, "y": 0.5}}, {"limits": ["c = 1"]}, {"limits": ["c <= 1.1 * c(a)"]}]
)
def test_one_fit_of_all_arms_cannot_serve_everything(beside):
    with pytest.raises(ValueError, match="features: expected one segment, and limits of at most or at least a number"):
        Problem(["a", "b"], features=[[1.0], [2.0]], **beside)


def test_files_keep_them(tmp_path):
    for features in (VARIANTS, {arm: [1.0, float(k)] for k, arm in enumerate(VARIANTS)}):
        problem = Problem(list(VARIANTS), {"cents": 1.0}, limits=["share(hot) <= 40%"], features=features)
        for name in ("p.toml", "p.json"):
            problem.save(tmp_path / name)
            assert Problem.load(tmp_path / name) == problem
        assert eval(repr(problem)) == problem
        assert problem.with_limits(problem.limits[:1]).features == features
        assert problem.tracking(["seconds"]).untracked == problem
    assert problem != Problem(list(VARIANTS), {"cents": 1.0}, limits=["share(hot) <= 40%"])
    assert "features" not in Problem(["a"]).to_dict()


def test_arms_may_retire_and_come_with_features():
    problem = Problem(list(VARIANTS), {"cents": 1.0}, features=VARIANTS)
    fewer = amended(problem, Wish(arms=["hot", "small"]))
    assert fewer.features == {arm: VARIANTS[arm] for arm in ("hot", "small")}
    new = {"new": {"model": "l", "heat": 3.0}}
    more = amended(problem, Wish(arms=["hot", "new"], features=new))
    assert more.features == {"hot": VARIANTS["hot"]} | new
    assert wish_for(problem, more).features == new
    assert wish_for(problem, fewer) == Wish({"cents": 1.0}, [], ["hot", "small"])
    other = Problem(list(VARIANTS), {"cents": 1.0}, features=VARIANTS | {"hot": {"model": "l", "heat": 2.0}})
    plain = Problem(list(VARIANTS), {"cents": 1.0})
    assert wish_for(problem, other) is None
    assert wish_for(problem, plain) is wish_for(plain, problem) is None


@pytest.mark.parametrize(
    ("wish", "message"),
    [
        (Wish(arms=["hot", "new"]), r"arms: 'new' has no features as the others have; give them: features="),
        (Wish(features={"new": {"heat": 1}}), "features: expected arms that come new with them, got none"),
        (
            Wish(arms=["hot"], features={"hot": {"heat": 1}}),
            "expected those of arms that come new, got 'hot'",
        ),
        (
            Wish(arms=["hot"], features={"new": {"heat": 1}}),
            "features: expected those of arms that come new, got 'new'",
        ),
        (Wish(arms=["hot", "new"], features={"new": {"heat": 1}}), "expected one value for each feature"),
    ],
)
def test_what_comes_new_says_what_it_is_made_of(wish, message):
    with pytest.raises(ValueError, match=message):
        amended(Problem(list(VARIANTS), features=VARIANTS), wish)
    with pytest.raises(ValueError, match="features: expected none: the arms have none"):
        amended(Problem(["a"]), Wish(arms=["a", "b"], features={"b": [1.0]}))


def test_an_instance_of_it_says_what_serves_it():
    problem = Problem(["a", "b", "c"], {"cost": 1.0}, features=[[1, 0], [1, 1], [1, 2]])
    instance = Instance.from_problem(problem, [[1.0, 0.5], [2.0, 1.5], [3.0, 2.5]])
    assert instance.problem.features
    with pytest.raises(ValueError, match="got arms with features; use simulate, sweep, plan, explain or solve"):
        instance.bound  # noqa: B018
    assert Instance.from_dict(instance.to_dict()).problem == problem


def test_a_frame_has_the_arms_for_its_index():
    frame = pd.DataFrame({"size": [7.0, 1.0], "kind": ["new", "old"]}, index=["b", "a"])
    assert read_features(["a", "b"], frame) == {"a": {"size": 1.0, "kind": "old"}, "b": {"size": 7.0, "kind": "new"}}
    with pytest.raises(ValueError, match="features: expected one value for each arm that can be tried: 'a', 'b'"):
        read_features(["a", "b"], frame.reset_index())
    with pytest.raises(ValueError, match="masked"):
        read_features(["a", "b"], np.ma.masked_values([[1.0], [2.0]], 2.0))
