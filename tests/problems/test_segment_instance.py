import numpy as np
import pytest
from scipy.optimize import linprog

import bestmix as bm
from bestmix import Instance, Known, Problem
from bestmix.checks import InvalidInput
from bestmix.problems.noise import Bernoulli, Empirical, Gaussian
from bestmix.problems.segment_families import random_segments
from bestmix.problems.segment_instance import SegmentInstance

EVERYTHING = Problem(
    ["small", "medium", "large"],
    goal="minimise dollars",
    limits=[
        "quality >= 0.8",
        "p(seconds > 2) <= 20%",
        "complaints / visits <= 5%",
        "share(large) <= 60%",
        "seconds <= 3 * seconds(small)",
        "dollars <= 1.5 in free",
    ],
    segments={"free": 0.7, "paid": 0.3},
    known={
        "small": Known(costs={"dollars": 0.2}),
        "off": Known(
            costs={
                "dollars": 0.0,
                **dict.fromkeys(["quality", "p(seconds > 2)", "complaints", "seconds"], 0.0),
                "visits": 1.0,
            }
        ),
    },
)
NAMES = "dollars", "quality", "p(seconds > 2)", "complaints", "visits", "seconds"
MEANS = {
    "free": {
        "small": dict(zip(NAMES, (0.2, 0.72, 0.1, 0.01, 1.0, 1.0), strict=True)),
        "medium": dict(zip(NAMES, (0.5, 0.83, 0.15, 0.02, 1.0, 1.5), strict=True)),
        "large": dict(zip(NAMES, (2.0, 0.95, 0.3, 0.01, 1.0, 2.5), strict=True)),
    },
    "paid": {
        "small": dict(zip(NAMES, (0.2, 0.6, 0.1, 0.03, 1.0, 1.0), strict=True)),
        "medium": dict(zip(NAMES, (0.6, 0.78, 0.15, 0.02, 1.0, 1.5), strict=True)),
        "large": dict(zip(NAMES, (2.5, 0.97, 0.3, 0.01, 1.0, 2.5), strict=True)),
    },
}


def everything():
    return Instance.from_problem(EVERYTHING, MEANS, sigma=0.3, events=["quality", "complaints"])


def test_the_truth_is_the_optimum():
    for seed in range(3):
        instance = random_segments(3, arms=4, costs=2, seed=seed)
        mu, rows = instance.entries
        totals = (instance.segment == np.arange(3)[:, None]).astype(float)
        best = linprog(-mu, A_ub=rows.T, b_ub=np.zeros(2), A_eq=totals, b_eq=instance.weight)
        assert instance.truth.value == pytest.approx(-best.fun)
        np.testing.assert_allclose(instance.truth.weights, best.x, atol=1e-9)
        assert (instance.truth.basic[:12] == (best.x > 1e-9)).all()


def test_limits_of_every_kind_are_those_of_their_texts():
    """The program written out by hand, for HiGHS."""
    found, share = everything(), np.repeat([0.7, 0.3], 4)
    table = {
        n: [MEANS[s][a][n] for s in MEANS for a in ("small", "medium", "large", "off") if a in MEANS[s]] for n in NAMES
    }
    columns = {n: np.insert(np.array(v), [3, 6], 1.0 if n == "visits" else 0.0) for n, v in table.items()}
    large = np.tile([0.0, 0.0, 1.0, 0.0], 2)
    free = np.repeat([1.0, 0.0], 4)
    rows = [
        0.8 - columns["quality"],
        columns["p(seconds > 2)"] - 0.2,
        columns["complaints"] - 0.05 * columns["visits"],
        large - 0.6,
        columns["seconds"] - 3.0,
        free * (columns["dollars"] - 1.5),
    ]
    totals = np.kron(np.eye(2), np.ones(4))
    best = linprog(columns["dollars"], A_ub=rows, b_ub=np.zeros(6), A_eq=totals, b_eq=[0.7, 0.3])
    solution = bm.solve(found)
    assert solution.value == pytest.approx(best.fun)
    assert sum(found.mixture.values()) == pytest.approx(1.0)
    mixed = {found.problem.cell(name): p for name, p in found.mixture.items()}
    assert {cell.segment for cell in mixed} == {"free", "paid"}
    np.testing.assert_allclose(best.x.reshape(2, 4).sum(axis=1), np.unique(share)[::-1])
    assert found.known_columns.tolist() == [False, False, False, True] * 2


def test_the_loss_is_the_regret_and_what_breaking_a_limit_would_be_worth():
    instance = random_segments(2, arms=3, costs=1, seed=1)
    mu, rows = instance.entries
    best = instance.truth.weights
    dear = np.zeros(6)
    for s in range(2):
        inside = np.flatnonzero(instance.segment == s)
        dear[inside[np.argmax(mu[inside])]] = instance.weight[s]
    found = instance.judge(np.array([best, dear]))
    regret, over = instance.truth.value - dear @ mu, max(float(dear @ rows[:, 0]), 0.0)
    assert regret < 0 < over
    assert found.regret == pytest.approx([0.0, regret], abs=1e-12)
    assert found.violation == pytest.approx([0.0, over], abs=1e-12)
    assert found.loss == pytest.approx([0.0, regret + over * instance.truth.prices[0]], abs=1e-12)
    cheap = np.where(instance.truth.basic[:6], 0.0, instance.weight[instance.segment])
    assert instance.judge(cheap[None]).loss[0] > 0.05  # columns outside of the best mix lose, whatever they cost


def test_rounding_is_no_loss_below_zero():
    best = [random_segments(3, arms=4, costs=2, seed=seed) for seed in range(20)]
    assert min(instance.judge(instance.truth.weights[None]).loss[0] for instance in best) == 0.0


def test_an_answer_on_learnt_shares_is_deployed_on_the_true_ones():
    instance = random_segments(2, arms=3, costs=1, seed=1)
    other = instance.truth.weights / instance.weight[instance.segment] * np.array([0.5, 0.5])[instance.segment]
    assert instance.judge(other[None]).loss == pytest.approx([0.0], abs=1e-12)


def test_an_answer_with_other_columns_or_another_verdict_is_wrong():
    instance = random_segments(2, arms=3, costs=1, seed=1)
    right = instance.truth.basic
    other = right.copy()
    other[-1] = ~other[-1]
    found = instance.wrong(np.array([right, other, right]), np.array([True, True, False]))
    assert found.tolist() == [False, True, True]


def test_where_no_mix_keeps_the_limits_that_verdict_alone_is_right():
    problem = Problem(["a", "b"], limits=["share(a) >= 70%", "share(b) >= 50%"])
    instance = Instance.from_problem(problem, {"a": {"reward": 1.0}, "b": {"reward": 2.0}})
    flags = np.zeros((2, 4), dtype=bool)
    assert not bm.solve(instance).feasible
    assert instance.wrong(flags, np.array([True, False])).tolist() == [True, False]


@pytest.mark.parametrize("ending", [".toml", ".json"])
def test_files_keep_everything(tmp_path, ending):
    path = tmp_path / f"router{ending}"
    everything().save(path)
    again = Instance.load(path)
    assert isinstance(again, SegmentInstance)
    assert again.problem == EVERYTHING
    np.testing.assert_array_equal(again.means, everything().means)
    assert again.to_dict() == everything().to_dict()


def test_a_file_may_say_sigma_and_events():
    data = everything().to_dict()
    written = {**data, "sigma": 0.3, "events": ["quality", "complaints"]}
    del written["noise"]
    assert Instance.from_dict(written).to_dict() == data
    with pytest.raises(InvalidInput, match=r"expected problem, means and perhaps .* got .*'arms'"):
        Instance.from_dict({**data, "arms": []})


def test_shares_that_the_problem_does_not_know_are_true_ones_of_the_instance():
    problem = Problem(["a", "b"], segments=["x", "y"])
    table = np.arange(4.0).reshape(2, 2, 1)
    instance = Instance.from_problem(problem, table, shares={"x": 0.2, "y": 0.8})
    assert instance.mixture == {"b in x": 0.2, "b in y": 0.8}
    assert Instance.from_dict(instance.to_dict()).shares == (0.2, 0.8)
    assert instance.with_means(instance.means + 1).shares == (0.2, 0.8)


def test_a_problem_with_bounds_alone_is_an_instance_of_arrays():
    problem = Problem(["a", "b"], {"dollars": 1.0}, {"off": Known(0.0, {"dollars": 0.0})})
    means = {"a": {"reward": 1.0, "dollars": 0.5}, "b": {"reward": 2.0, "dollars": 1.5}}
    found = Instance.from_problem(problem, means, sigma={"dollars": 0.1})
    assert found.plain
    assert found.problem == problem
    assert found.covariance[0].tolist() == [[1.0, 0.0], [0.0, pytest.approx(0.01)]]
    assert found.mixture == {"a": 0.5, "b": 0.5}


def test_what_only_arrays_have_is_refused_with_a_sentence():
    for name in ("reward", "cost", "bound"):
        with pytest.raises(
            InvalidInput, match=r"needs one segment, a reward and bounds .* got 2 segments; use simulate"
        ):
            getattr(everything(), name)
    with pytest.raises(InvalidInput, match="use simulate"):
        bm.gaps(everything())


def test_limits_on_means_alone_are_seen_as_an_instance_of_arrays():
    problem = Problem(["a", "b"], goal="minimise dollars", limits=["quality >= 0.8"])
    means = {"a": {"dollars": 0.2, "quality": 0.7}, "b": {"dollars": 2.0, "quality": 0.9}}
    found = Instance.from_problem(problem, means, sigma={"dollars": 0.1, "quality": 0.2}).as_plain()
    assert found.means.tolist() == [[-0.2, -0.7], [-2.0, -0.9]]
    assert found.bound.tolist() == [-0.8]
    np.testing.assert_allclose(found.covariance[0], np.diag([0.01, 0.04]))
    tables = [np.array([[0.1, 1.0], [0.3, 0.4]]), np.array([[2.0, 1.0], [2.0, 0.8]])]
    drawn = Instance.from_problem(problem, means, noise=Empirical(tables)).as_plain()
    np.testing.assert_allclose(drawn.means, found.means)
    assert Instance.from_problem(problem, means, sigma=0.1, events=["quality"]).as_plain() is None


def test_noise_follows_its_columns_where_known_arms_stand_between():
    problem = Problem(["a"], known={"off": Known(0.0)}, segments={"x": 0.5, "y": 0.5})
    assert problem.names == ("a in x", "a in y", "off in x", "off in y")
    covariance = np.arange(4.0).reshape(4, 1, 1)
    instance = SegmentInstance(problem, [[1.0], [2.0]], noise=Gaussian(covariance=covariance))
    assert instance.columns.ravel().tolist() == [1.0, 0.0, 2.0, 0.0]
    np.testing.assert_allclose(instance.model()[1].ravel() ** 2, [0.0, 2.0, 1.0, 3.0])
    tables = [np.array([[1.0]]), np.array([[2.0], [2.0]]), np.array([[0.0]]), np.array([[0.0]])]
    _, _, table, offset, _ = SegmentInstance(problem, [[1.0], [2.0]], noise=Empirical(tables)).model()
    assert table.ravel().tolist() == [1.0, 0.0, 2.0, 2.0, 0.0]
    assert offset.tolist() == [0, 1, 2, 4, 5]


def test_a_sampler_plays_trials_for_identify():
    problem = Problem(["a", "b"], limits=["dollars <= 1"], segments={"x": 0.5, "y": 0.5})
    instance = Instance.from_problem(problem, np.full((4, 2), 0.5), noise=Bernoulli())
    assert set(instance.sampler(1)("a", "y")) == {"reward", "dollars"}
    with pytest.raises(InvalidInput, match="not the metric behind it"):
        everything().sampler()
