import numpy as np
import pytest

from bestmix import catalog, solve

# Costs of the arms whose rewards the paper's table prints in bold, with those rewards.
BOLD = {
    "D1P": {(0.6, 0.9): 1.02},
    "D2P": {(0.8, 1.1): 0.80, (1.4, 0.7): 1.42},
    "D3P": {(0.8, 1.1): 1.88, (1.0, 0.7): 1.72, (1.4, 0.9): 2.30},
    "D1I": {(0.4, 0.9): 1.02},
    "D2I": {(0.4, 0.7): 0.40, (1.4, 0.7): 1.42},
    "D3I": {(0.8, 0.9): 1.70, (0.8, 1.3): 2.06, (1.4, 0.9): 2.28},
}

# Corners and other entries of the table.
ENTRIES = [
    ("D1P", (0.4, 0.7), 0.88),
    ("D1P", (1.4, 1.3), 0.58),
    ("D2P", (0.4, 1.1), -0.02),
    ("D2P", (1.2, 1.1), 1.10),
    ("D3P", (0.4, 1.3), 1.26),
    ("D3P", (1.4, 0.7), 1.94),
    ("D1I", (1.0, 0.9), 0.98),
    ("D1I", (0.6, 1.3), 0.90),
    ("D2I", (1.2, 0.9), 1.18),
    ("D2I", (0.8, 1.3), 0.64),
    ("D3I", (1.4, 1.3), 2.58),
    ("D3I", (1.0, 0.7), 1.46),
]


def arm_at(instance, costs):
    return int(np.flatnonzero((np.array(costs) == instance.cost.T).all(axis=1))[0])


@pytest.mark.parametrize("name", BOLD)
def test_the_support_is_printed_in_bold(name):
    instance = catalog.load(name)
    solution = solve(instance)
    support = {
        tuple(map(float, instance.cost[:, a])): float(instance.reward[a]) for a in np.flatnonzero(solution.mixture)
    }
    assert support == BOLD[name]
    assert len(support) == int(name[1])
    assert (instance.known, instance.bound.tolist()) == (0, [1.0, 1.0])
    np.testing.assert_array_equal(instance.covariance, np.tile(np.diag([1.0, 0.25, 0.25]), (24, 1, 1)))


@pytest.mark.parametrize(("name", "costs", "reward"), ENTRIES)
def test_entries_of_the_table(name, costs, reward):
    instance = catalog.load(name)
    assert instance.reward[arm_at(instance, costs)] == reward


@pytest.mark.parametrize("name", BOLD)
def test_rewards_are_the_papers_recipe(name):
    # r = 1, c1 or c1 + c2, minus noise from a grid of 0.02, plus 0.02 on the support.
    instance = catalog.load(name)
    base = {"1": 1.0, "2": instance.cost[0], "3": instance.cost[0] + instance.cost[1]}[name[1]]
    noise = base - instance.reward
    for costs in BOLD[name]:
        noise[arm_at(instance, costs)] += 0.02
    steps = np.round(noise / 0.02).astype(int)
    np.testing.assert_allclose(noise, 0.02 * steps, atol=1e-12)
    if name.endswith("P"):
        assert sorted(steps) == list(range(24))
    else:
        assert steps.min() >= 0
        assert steps.max() <= 14


def test_names():
    assert catalog.names() == list(BOLD)
    with pytest.raises(ValueError, match=r"name: expected one of 'D1P', .*got 'D9'"):
        catalog.load("D9")
