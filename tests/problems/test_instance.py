import numpy as np
import pytest

from bestmix import Instance, noise, solve

BASE = {"reward": [1.0, 2.0, 3.0], "cost": [[0.0, 1.0, 2.0]], "bound": [1.0]}


def test_means_and_problem():
    instance = Instance(**BASE, known=1, arms=["a", "b", "c"], costs=["x"])
    np.testing.assert_array_equal(instance.means, [[1, 0], [2, 1], [3, 2]])
    assert instance.problem.arms == ("a", "b")
    assert instance.problem.known["c"].costs == {"x": 2.0}
    assert instance.problem.bounds == {"x": 1.0}
    assert instance.covariance[0].tolist() == [[1.0, 0.0], [0.0, 0.25]]


def test_costs_may_be_left_out_and_a_single_bound_is_a_number():
    assert Instance([1.0, 2.0]).cost.shape == (0, 2)
    assert Instance([1.0], [[1.0]], 2.0).bound.tolist() == [2.0]


def test_the_sampler_repeats_itself_and_refuses_known_arms():
    instance = Instance(**BASE, known=1)
    one, two = instance.sampler(seed=3), instance.sampler(seed=3)
    for arm in ("arm0", "arm1", "arm0"):
        (r, c), (s, d) = one(arm), two(arm)
        assert r == s
        np.testing.assert_array_equal(c, d)
    assert instance.sampler(seed=4)("arm0")[0] != instance.sampler(seed=3)("arm0")[0]
    with pytest.raises(ValueError, match=r"known arm"):
        one("arm2")


@pytest.mark.parametrize("name", ["i.toml", "i.json"])
@pytest.mark.parametrize(
    "model", [None, noise.Gaussian(covariance=np.eye(2)), noise.Gaussian([1.0, 2.0, 0.1], [0.5]), noise.Bounded(-5, 5)]
)
def test_files_hold_an_instance(tmp_path, name, model):
    instance = Instance(**BASE, noise=model, known=1, arms=["a", "b", "ü"], costs=["x"])
    instance.save(tmp_path / name)
    again = Instance.load(tmp_path / name)
    assert again.to_dict() == instance.to_dict()
    assert again.problem == instance.problem
    np.testing.assert_array_equal(again.covariance, instance.covariance)
    assert solve(again).value == solve(instance).value


def test_from_trials_has_the_means_of_the_trials():
    trials = {"a": [[1.0, 0.0], [2.0, 0.5]], "b": [[3.0, 2.0]]}
    instance = Instance.from_trials(trials, {"x": 1.0})
    np.testing.assert_array_equal(instance.means, [[1.5, 0.25], [3.0, 2.0]])
    assert instance.problem.arms == ("a", "b")
    again = Instance.from_dict(instance.to_dict())
    np.testing.assert_array_equal(again.means, instance.means)


BAD_INSTANCES = [
    (lambda: Instance([]), "reward: expected at least one arm"),
    (lambda: Instance([[1.0]]), r"reward: .*\(1, 1\)"),
    (lambda: Instance([1.0, float("nan")]), r"reward: .*nan at index \(1,\)"),
    (lambda: Instance(["a"]), "reward: .*'a'"),
    (lambda: Instance([1.0, 2.0], [[1.0]], [1.0]), r"cost: expected shape \(1, 2\), .* got shape \(1, 1\)"),
    (lambda: Instance([1.0, 2.0], [1.0, 2.0], [1.0]), r"cost: expected shape \(1, 2\), .* got shape \(2,\)"),
    (lambda: Instance([1.0, 2.0], [[1.0, 2.0]]), r"cost: expected shape \(0, 2\)"),
    (lambda: Instance([1.0, 2.0], None, [1.0]), r"cost: expected shape \(1, 2\)"),
    (lambda: Instance([1.0], [[1.0]], [float("inf")]), "bound: .*inf"),
    (lambda: Instance([1.0], [[1.0]], "x"), "bound: .*x"),
    (lambda: Instance(**BASE, sigma_reward=-1), "sigma_reward: .*-1"),
    (lambda: Instance(**BASE, sigma_reward=1, noise=noise.Bernoulli()), "noise: .*both"),
    (lambda: Instance(**BASE, noise=noise.Bernoulli()), "Bernoulli noise: .*3"),
    (lambda: Instance(**BASE, noise="gaussian"), "noise: .*gaussian"),
    (lambda: Instance(**BASE, known=4), "known: expected at most 3, .* got 4"),
    (lambda: Instance(**BASE, known=-1), "known: .*-1"),
    (lambda: Instance(**BASE, known=1.5), "known: .*1.5"),
    (lambda: Instance(**BASE, arms=["a"]), "arms: expected 3 names, got 1"),
    (lambda: Instance(**BASE, arms=["a", "b", "a"]), "arms: 'a' is listed twice"),
    (lambda: Instance(**BASE, costs=["x", "y"]), "costs: expected 1 names, got 2"),
    (lambda: Instance.from_trials({}, {}), "trials: "),
    (lambda: Instance.from_trials([1], {}), "trials: expected a mapping"),
    (lambda: Instance.from_trials({"a": [[1.0, 2.0]]}, {}), "cost: "),
    (lambda: Instance.from_trials({"a": [[1.0, 2.0]]}, [1.0]), "bounds: "),
    (lambda: Instance.from_dict({}), "instance: expected the entries arms, bounds and noise"),
    (lambda: Instance.from_dict({"arms": [{"name": "a"}]}), r"arms\[0\]: expected name, reward"),
    (lambda: Instance.from_dict({"arms": [3]}), r"arms\[0\]: expected a mapping"),
    (lambda: Instance.from_dict({"arms": [{"name": "a", "reward": 1.0}], "bounds": {"x": 1.0}}), r"arms\[0\].costs"),
    (lambda: Instance.from_dict({"arms": [{"name": "a", "reward": 1.0, "known": 1}]}), r"arms\[0\].known: .*1"),
    (lambda: Instance.from_dict({"arms": [{"name": "a", "reward": "x"}]}), "(arms|reward).*x"),
]


@pytest.mark.parametrize(("make", "message"), BAD_INSTANCES, ids=lambda x: x if isinstance(x, str) else "")
def test_a_bad_instance_is_refused_by_name(make, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


def test_known_arms_stand_behind_the_others_in_files():
    arms = [{"name": "a", "reward": 1.0, "known": True}, {"name": "b", "reward": 1.0}]
    with pytest.raises(ValueError, match=r"arms: expected the known arms behind the others"):
        Instance.from_dict({"arms": arms})


def test_an_instance_cannot_be_changed():
    instance = Instance(**BASE)
    for array in (instance.reward, instance.cost, instance.bound, instance.means):
        with pytest.raises(ValueError, match=r"read-only"):
            array[...] = 0.0
