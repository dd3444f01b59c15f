import numpy as np
import pytest
from tests.theory.limit.moves import nearest_alternative

from bestmix import Instance, limit, noise, solve
from bestmix.problems.uniqueness import broken_condition
from bestmix.theory.limit.conditions import conditions_of, points_of
from bestmix.theory.limit.strata import noisy_arms, strata


def parts(reward, covariance):
    """Parts of the condition of the first column, without costs."""
    instance = Instance(reward, noise=noise.Gaussian(covariance=np.array(covariance)[:, None, None]))
    solution = solve(instance)
    points = points_of(instance, solution, instance.covariance)
    condition = conditions_of(points, solution)[0]
    return condition, strata(condition, points, instance.covariance)


def test_an_arm_without_noise_rests_and_holds_the_hyperplane():
    _, (part,) = parts([1.0, 2.0], [1.0, 0.0])
    assert part.arms.tolist() == [0]
    assert part.free.shape == (2, 1)


def test_arms_with_noise_make_one_part():
    condition, (part,) = parts([1.0, 2.0], [1.0, 0.5])
    assert part is condition


def test_nothing_can_fail_where_nothing_has_noise():
    assert parts([1.0, 2.0], [0.0, 0.0])[1] == []


def test_noise_that_is_nothing_beside_others():
    assert noisy_arms(np.array([1.0, 1e-13, 0.0])[:, None, None]).tolist() == [1.0, 0.0, 0.0]


def exact_model(rng, arms, costs):
    """Covariances, some without noise in the reward, in a cost or in all, and some singular."""
    size = 1 + costs
    result = np.zeros((arms, size, size))
    for a in range(arms):
        kind = rng.integers(4)
        if kind < 2:
            result[a] = np.diag(rng.uniform(0.3, 1.5, size) ** 2 * (rng.random(size) < (0.6, 1.0)[kind]))
        elif kind == 2:
            factor = rng.normal(size=(size, rng.integers(1, size + 1)))
            result[a] = factor @ factor.T
    return result


def exact_instance(rng, arms, costs, known=0):
    while True:
        model = noise.Gaussian(covariance=exact_model(rng, arms, costs))
        reward, cost = rng.uniform(0, 2, arms), rng.uniform(0, 2, (costs, arms))
        instance = Instance(reward, cost, np.ones(costs), known=known, noise=model)
        if not solve(instance).feasible and costs > 1:
            continue
        if not solve(instance).feasible or broken_condition(instance) is None:
            return instance


@pytest.mark.parametrize("seed", range(12))
def test_no_moves_with_the_noise_that_there_is_are_shorter(seed):
    """Against moves of the means themselves, by SLSQP; 270 instances of this kind were compared once."""
    rng = np.random.default_rng(seed)
    instance = exact_instance(rng, int(rng.integers(2, 5)), seed % 3, known=seed // 3 % 2)
    found, movable = limit(instance), len(instance.arms) - instance.known
    share = found.share[:movable] if not found.note else np.full(movable, 1 / movable)
    near = nearest_alternative(instance, share, rng)
    if found.note:
        assert near == np.inf
        return
    assert found.time <= found.time_upper <= 1.001 * found.time
    assert near == pytest.approx(1 / found.time_upper, rel=2e-3)
    other = rng.dirichlet(np.ones(movable))
    assert nearest_alternative(instance, other, rng) <= 1 / found.time * (1 + 1e-4)
