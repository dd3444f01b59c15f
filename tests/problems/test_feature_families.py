import numpy as np
import pytest

from bestmix.problems.families import random_features
from bestmix.problems.features import design
from bestmix.problems.solution import solve_means


@pytest.mark.parametrize(("levels", "costs", "events"), [((3, 2), 1, False), ((2, 3, 2), 2, True), ((4,), 0, False)])
def test_means_add_up_and_limits_bind(levels, costs, events):
    for seed in range(5):
        instance = random_features(levels, costs, seed=seed, events=events)
        assert len(instance.arms) == np.prod(levels)
        rows = design(instance.problem.features)
        assert rows.shape[1] == 1 + sum(size - 1 for size in levels)
        np.testing.assert_allclose(rows @ (rows.T @ instance.means), instance.means, atol=1e-12)
        bound = np.array([limit.bound for limit in instance.problem.limits])
        best = solve_means(instance.means, bound)
        assert instance.truth.value == pytest.approx(best.value, abs=1e-9)
        assert len(instance.mixture) == 1 + costs
        mix = np.array([instance.mixture.get(name, 0.0) for name in instance.arms])
        np.testing.assert_allclose(mix @ instance.means[:, 1:], bound, atol=1e-9)


def test_seeds_differ_and_repeat():
    first, again, other = (random_features([3, 3], 1, seed=seed) for seed in (1, 1, 2))
    assert (first.means == again.means).all()
    assert (first.means != other.means).any()
    with pytest.raises(ValueError, match="levels"):
        random_features([3, 0], 1)
