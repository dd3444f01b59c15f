import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.theory.gaps.brute import all_bases, brute_gap, overtaken, random_instance, weights_and_value

from bestmix import Instance, Problem, catalog, gaps, limit, solve
from bestmix.problems.noise import Bernoulli, Gaussian

FIVE = Instance([1.7, 2.6, 0.5, 2.1, 1.2], [[0.0, 1.8, 0.8, 1.3, 2.0]], [1.0], sigma_reward=1.0, sigma_cost=0.5)


def length(instance, means):
    """Of the moves, in standard deviations."""
    move, unknown = means - instance.means, len(instance.problem.arms)
    return math.sqrt(sum(m @ np.linalg.solve(instance.covariance[a], m) for a, m in enumerate(move[:unknown])))


def random_noise(rng, kind, arms, costs):
    if kind == "correlated":
        factor = rng.normal(size=(costs + 1, costs + 1))
        return Gaussian(covariance=factor @ factor.T + 0.2 * np.eye(costs + 1))
    if kind == "different":
        return Gaussian(rng.uniform(0.3, 2, arms), rng.uniform(0.2, 1, (costs, arms)))
    return None


def test_the_worked_example():
    found = gaps(FIVE)
    assert found.basis == (0, 1)
    assert solve(FIVE).value == pytest.approx(2.2)
    assert found.bases[0, 3] ** 2 == pytest.approx(0.03711, abs=5e-6)
    # The support breaks when arm 1, 0.8 above the bound and the nearer of the two, comes down to it.
    assert found.delta0 == pytest.approx(0.8 / 0.5)
    assert found.proven.all()
    assert found.support.proven


def test_without_costs_the_gap_is_that_of_two_means():
    instance = Instance([1.0, 0.7, 0.1], sigma_reward=2.0)
    found = gaps(instance)
    assert found.arm == pytest.approx([0.0, 0.3 / (2 * math.sqrt(2)), 0.9 / (2 * math.sqrt(2))])
    assert found.delta0 == math.inf
    assert found.proven.all()


@pytest.mark.parametrize(("costs", "arms", "known", "tried"), [(1, 4, 0, 9), (1, 4, 1, 4), (2, 4, 0, 5), (3, 3, 0, 3)])
def test_gaps_against_brute_force(costs, arms, known, tried):
    rng = np.random.default_rng([costs, arms, known])
    instance = random_instance(rng, arms, costs, known)
    found = gaps(instance)
    rivals = [basis for basis in all_bases(instance) if basis != found.basis]
    near = []
    for basis in [rivals[i] for i in rng.permutation(len(rivals))[:tried]]:
        brute, ours = brute_gap(instance, found.basis, basis, rng, starts=3), found.alternative(basis)
        assert ours.gap <= brute * (1 + 1e-4) or ours.gap == brute
        if ours.proven:
            assert brute >= ours.gap * (1 - 1e-3)
        near.append(brute <= ours.gap * 1.01 or brute == ours.gap)
    assert np.mean(near) >= 0.6  # brute force itself finds most of them


@pytest.mark.parametrize(
    ("costs", "arms", "known", "kind"),
    [
        (1, 6, 0, "plain"),
        (1, 5, 2, "correlated"),
        (1, 5, 2, "different"),
        (2, 5, 0, "plain"),
        (2, 5, 0, "correlated"),
        (2, 4, 1, "plain"),
        (3, 4, 0, "different"),
        (3, 4, 0, "correlated"),
    ],
)
def test_every_alternative_flips_and_a_step_short_does_not(costs, arms, known, kind):
    rng = np.random.default_rng([costs, arms, known, len(kind)])
    instance = random_instance(rng, arms, costs, known, random_noise(rng, kind, arms, costs))
    found = gaps(instance)
    for basis, gap in found.bases.items():
        assert (gap > 0) == (basis != found.basis)
        if basis != found.basis and math.isfinite(gap):
            there = found.alternative(basis)
            assert length(instance, there.means) == pytest.approx(gap, rel=1e-4)
            assert overtaken(instance, there.means, found.basis, basis, 1e-5)
            assert (there.means[arms - known :] == instance.means[arms - known :]).all()
            if there.proven:
                short = instance.means + 0.99 * (there.means - instance.means)
                assert not overtaken(instance, short, found.basis, basis, 0.0)


@pytest.mark.parametrize("seed", range(6))
def test_the_closest_alternative_flips_the_solution(seed):
    rng = np.random.default_rng([seed, 17])
    costs = seed % 3
    instance = random_instance(rng, 6, costs)
    found = gaps(instance, bases=False)
    move = found.closest.means - instance.means
    answers = []
    for share in (0.999, 1.001):
        means = instance.means + share * move
        answers.append(solve(Instance(means[:, 0], means[:, 1:].T, instance.bound)))
    assert answers[0].basis == found.basis
    assert answers[1].basis != found.basis or not answers[1].feasible


@given(st.integers(0, 10**6), st.integers(0, 2), st.integers(0, 1))
@settings(max_examples=8)
def test_laws_of_the_gaps(seed, costs, known):
    rng = np.random.default_rng(seed)
    instance = random_instance(rng, 5, costs, known)
    found, quick = gaps(instance), gaps(instance, bases=False)
    outside = [j for j in range(5 + costs) if j not in found.basis]
    assert (found.arm > 0).tolist() == [j in outside for j in range(5 + costs)]
    for j in outside:
        smallest = min(gap for basis, gap in found.bases.items() if j in basis)
        assert found.arm[j] == smallest
        assert found.rivals[j].lower <= found.rivals[j].gap
    assert quick.arm == pytest.approx(found.arm, rel=1e-6)
    assert quick.bases is None
    # The smallest gap of all is attained by a change of one column, and is never above the support's.
    one = [g for basis, g in found.bases.items() if len(set(basis) - set(found.basis)) == 1]
    assert min(one) == pytest.approx(min(found.arm[outside]), rel=1e-6)
    assert min(found.arm[outside]) <= found.delta0 * (1 + 1e-9)


def test_units_do_not_matter():
    instance = catalog.load("A2")
    scaled = Instance(
        1e-4 * instance.reward + 7, 1e5 * instance.cost, 1e5 * instance.bound, sigma_reward=1e-4, sigma_cost=5e4
    )
    assert gaps(scaled).arm == pytest.approx(gaps(instance).arm, rel=1e-6)


def test_costs_without_noise_stay_where_they_are():
    instance = Instance([1.7, 2.6, 0.5, 2.1], [[0.0, 1.8, 0.8, 1.3]], [1.0], sigma_reward=1.0, sigma_cost=0.0)
    found = gaps(instance)
    # Only rewards move: arm 3 must rise to the line between arms 0 and 1, by shares 5/18, 13/18 and 1 of the move.
    wanted = (1.7 * 5 / 18 + 2.6 * 13 / 18 - 2.1) / math.sqrt((5 / 18) ** 2 + (13 / 18) ** 2 + 1)
    assert found.bases[0, 3] == pytest.approx(wanted, rel=1e-4)
    assert np.abs(found.alternative((0, 3)).means[:, 1] - instance.means[:, 1]).max() < 1e-5


def test_known_arms_alone_cannot_be_moved():
    instance = Instance([1.0, 0.5, 0.8], [[0.2, 0.4, 0.1]], [1.0], known=2)
    found = gaps(instance)
    # Arm 0 must fall to 0.8, what the known arm 2 is worth: nothing else can move.
    assert found.bases[2, 3] == pytest.approx(0.2)
    assert found.alternative((2, 3)).moved == (0,)
    everything = gaps(Instance([1.0, 0.5], [[0.2, 0.4]], [1.0], known=2))
    assert everything.closest is None
    assert np.isinf(everything.arm[1])


def test_bernoulli_noise_uses_each_arms_own_spread():
    instance = Instance([0.9, 0.5], noise=Bernoulli())
    assert gaps(instance).arm[1] == pytest.approx(0.4 / math.sqrt(0.9 * 0.1 + 0.25), rel=1e-6)


@pytest.mark.parametrize(
    ("instance", "part"),
    [
        (Instance([1.0, 1.0], [[0.0, 0.5]], [1.0]), "not unique: arm1 could take part"),
        (Instance([1.0, 0.5], [[1.0, 0.5]], [1.0]), "degenerate: slack of cost0 is in its basis with a weight of zero"),
        (Instance([1.0, 0.5], [[2.0, 1.5]], [1.0]), "no mix keeps all bounds; the nearest one misses cost0 by 0.5"),
        (Instance([0.0] * 2001, [[0.0] * 2001] * 2, [1.0, 1.0]), "bases, and the gaps of at most 300,000"),
        ("D2P", "expected an Instance, got 'D2P'"),
    ],
)
def test_no_gaps_without_a_stable_optimum(instance, part):
    with pytest.raises(ValueError, match=part):
        gaps(instance)


def test_plain_data_and_text():
    found = gaps(FIVE)
    data = found.to_dict()
    assert data["basis"] == ["arm0", "arm1"]
    assert data["arms"]["arm3"]["basis"] == ["arm0", "arm3"]
    assert data["arms"]["arm3"]["proven"] is True
    assert set(data["arms"]["arm3"]["means"]) == {"arm0", "arm1", "arm3"}
    assert "arm3" in str(found).splitlines()[2]
    assert found.order[:3] == [0, 1, 3]
    assert found.hardest(1) == [3]
    with pytest.raises(ValueError, match="it needs 2 columns"):
        found.alternative((0, 1, 2))
    with pytest.raises(ValueError, match="only arm gaps"):
        gaps(FIVE, bases=False).alternative((0, 3))


def test_weights_of_the_example():
    weight, value = weights_and_value(FIVE, FIVE.means, (0, 1))
    assert weight == pytest.approx([4 / 9, 5 / 9])
    assert value == pytest.approx(2.2)


def test_signs_and_derived_metrics_are_those_of_an_instance_of_arrays():
    problem = Problem(["a", "b", "c"], goal="minimise dollars", limits=["quality >= 0.8"])
    means = [[0.2, 0.7], [2.0, 0.9], [1.6, 0.8]]
    found = gaps(Instance.from_problem(problem, means, sigma=1.0), bases=False)
    other = gaps(Instance([-0.2, -2.0, -1.6], [[-0.7, -0.9, -0.8]], [-0.8], sigma_cost=1.0), bases=False)
    assert found.basis == other.basis
    assert found.arm == pytest.approx(other.arm)
    with pytest.raises(ValueError, match="use simulate, sweep, plan, explain or solve"):
        gaps(catalog.load("S3L1"))
    with pytest.raises(ValueError, match="use simulate, sweep, plan, explain or solve"):
        limit(catalog.load("S3L1"))
