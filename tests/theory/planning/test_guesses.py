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
        (LOG, {"limits": ["share(a) <= 40%"]}, "one segment and limits on means"),
        (Instance([1.0, 2.0]), {"pilot": 0}, "pilot: expected a positive number"),
        ({"arm": ["a", "b"], "reward": [1.0, 2.0]}, {}, "expected an arm with at least two trials"),
    ],
)
def test_mistakes(source, options, part):
    with pytest.raises(ValueError, match=part):
        read(source, **options)
