import numpy as np
import pytest

from bestmix import Instance, Known, catalog
from bestmix.theory.planning.guesses import read_guess

LOG = {"arm": ["a", "a", "b", "b", "b"], "reward": [1.0, 2.0, 3.0, 5.0, 4.0], "x": [0.0, 1.0, 2.0, 2.0, 2.0]}


def read(source, bounds=None, known=None, pilot=100, goal="maximise reward", limits=(), segment=None):
    asked = {"bounds": bounds, "known": known, "goal": goal, "limits": limits}
    return read_guess(source, asked, "arm", "reward", False, pilot, segment)


def test_a_log_becomes_an_instance_with_its_own_means_and_counts():
    instance, counts = read(LOG, {"x": 1.0}, {"off": Known(0.5, {"x": 0.0})})
    assert instance.arms == ("a", "b", "off")
    np.testing.assert_allclose(instance.means, [[1.5, 0.5], [4.0, 2.0], [0.5, 0.0]])
    assert counts.tolist() == [2.0, 3.0]


def test_a_goal_to_minimise_and_a_limit_at_least_are_signs_of_an_instance():
    instance, _ = read(LOG, goal="minimise x", limits=["reward >= 2"])
    np.testing.assert_allclose(instance.means, [[-0.5, -1.5], [-2.0, -4.0]])
    assert (instance.costs, instance.bound.tolist()) == (("reward >= 2",), [-2.0])


def test_one_segment_of_a_log_is_a_log_of_its_own():
    log = LOG | {"tier": ["free", "free", "paid", "free", "free"]}
    whole, _ = read({name: [values[i] for i in (0, 1, 3, 4)] for name, values in LOG.items()}, {"x": 1.0})
    found, counts = read(log, {"x": 1.0}, segment=("tier", "free"))
    np.testing.assert_array_equal(found.means, whole.means)
    assert counts.tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match=r"segment: expected one of \['free', 'paid'\], got 'x'"):
        read(log, {"x": 1.0}, segment=("tier", "x"))


@pytest.mark.parametrize("suffix", ["json", "toml"])
def test_an_instance_comes_by_value_by_name_and_from_a_file(tmp_path, suffix):
    instance = catalog.load("D1P")
    instance.save(tmp_path / f"guess.{suffix}")
    for source in (instance, "D1P", tmp_path / f"guess.{suffix}"):
        found, counts = read(source, pilot=7)
        np.testing.assert_array_equal(found.means, instance.means)
        assert set(counts) == {7.0}


@pytest.mark.parametrize(
    ("source", "options", "part"),
    [
        (Instance([1.0, 2.0]), {"bounds": {"x": 1.0}}, "an instance has its own bounds"),
        (Instance([1.0, 2.0]), {"limits": ["x >= 1"]}, "an instance has its own bounds"),
        (Instance([1.0, 2.0]), {"pilot": 0}, "pilot: expected a positive number"),
        ({"arm": ["a", "b"], "reward": [1.0, 2.0]}, {}, "expected an arm with at least two trials"),
    ],
)
def test_mistakes(source, options, part):
    with pytest.raises(ValueError, match=part):
        read(source, **options)


def test_a_log_with_segments_becomes_an_instance_of_them():
    log = {name: [*values, *values] for name, values in LOG.items()} | {"tier": ["free"] * 5 + ["paid"] * 5}
    found, counts = read(log, {"x": 1.5}, {"off": Known(0.5, {"x": 0.0})}, segment="tier")
    assert found.arms == ("a in free", "b in free", "a in paid", "b in paid", "off in free", "off in paid")
    assert found.problem.segments == {"free": 0.5, "paid": 0.5}
    np.testing.assert_allclose(found.means[:4], [[1.5, 0.5], [4.0, 2.0]] * 2)
    assert counts.tolist() == [2.0, 3.0, 2.0, 3.0]
    assert not found.covariance[4:].any()
    assert (found.covariance[:4, 0, 0] > 0).all()


def test_limits_on_shares_need_no_segments():
    found, _ = read(LOG, limits=["share(b) <= 40%"])
    assert found.mixture == pytest.approx({"a": 0.6, "b": 0.4})


def test_every_arm_has_to_be_tried_in_every_segment():
    with pytest.raises(ValueError, match="there is no trial of 'a in paid'"):
        read(LOG | {"tier": ["free", "free", "free", "paid", "paid"]}, segment="tier")
