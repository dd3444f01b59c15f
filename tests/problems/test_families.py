import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestmix import SFSR, Instance, catalog, solve, sweep
from bestmix.problems.families import d_family, priced_instance, random_instance
from bestmix.problems.uniqueness import is_settled

SEEDS = st.integers(0, 2**40)
SHAPES = st.tuples(st.integers(1, 20), st.integers(0, 5))


def steps_of(instance, support):
    """W of the recipe, in steps of 0.02."""
    base = {1: 1.0, 2: instance.cost[0], 3: instance.cost[0] + instance.cost[1]}[support]
    noise = base - instance.reward + 0.02 * (solve(instance).mixture > 0)
    steps = np.round(noise / 0.02).astype(int)
    np.testing.assert_allclose(noise, 0.02 * steps, atol=1e-9)
    return steps


def reduced_costs(instance, solution):
    """Of every column, slacks last."""
    cost = instance.cost - instance.bound[:, None]
    return np.r_[instance.reward - solution.value - solution.dual @ cost, -solution.dual]


@pytest.mark.parametrize("support", [1, 2, 3])
@pytest.mark.parametrize("kind", ["P", "I"])
def test_d_family_follows_the_recipe(kind, support):
    like = catalog.load("D1P")
    for seed in range(30):
        instance = d_family(kind, support, seed)
        steps = steps_of(instance, support)
        assert (sorted(steps) == list(range(24))) if kind == "P" else set(steps) <= set(range(15))
        assert (solve(instance).mixture > 0).sum() == support
        assert is_settled(instance)
        np.testing.assert_array_equal(instance.cost, like.cost)
        np.testing.assert_array_equal(instance.covariance, like.covariance)


def test_every_level_of_w_occurs_in_kind_i():
    steps = np.concatenate([steps_of(d_family("I", 1, seed), 1) for seed in range(60)])
    assert set(steps) == set(range(15))


@pytest.mark.parametrize("name", ["D1P", "D2P", "D3P", "D1I", "D2I", "D3I"])
def test_the_papers_own_instances_are_settled(name):
    assert is_settled(catalog.load(name))


def test_seed_kind_and_support_fix_a_d_instance():
    made = {(k, j, s): d_family(k, j, s).reward.tobytes() for k in "PI" for j in (1, 2, 3) for s in range(5)}
    assert len(set(made.values())) == len(made)
    assert all(d_family(*key).reward.tobytes() == value for key, value in made.items())


@given(SHAPES, SEEDS, st.floats(0.01, 1.0))
def test_random_instances_keep_their_promises(shape, seed, difficulty):
    arms, costs = shape
    instance = random_instance(arms, costs, seed, difficulty)
    solution, shrink = solve(instance), 10.0**-difficulty
    basic = np.isin(np.arange(arms + costs), solution.basis)
    support = solution.mixture > 0
    assert (instance.means.shape, instance.bound.tolist()) == ((arms, 1 + costs), [1.0] * costs)
    assert 1 <= support.sum() <= min(costs + 1, arms)
    assert basic.sum() == costs + 1
    near = 1e-9
    assert solution.mixture[support].min() >= 0.5 / support.sum() - near
    slack = solution.slack[basic[arms:]] / shrink
    assert ((slack >= 0.25 - near) & (slack <= 0.75 + near)).all()
    gap = -reduced_costs(instance, solution)[:arms][~support] / shrink
    assert ((gap >= 0.5 - near) & (gap <= 1.5 + near)).all()
    prices = solution.dual[~basic[arms:]]
    assert ((prices >= 0.5 - near) & (prices <= 1.5 + near)).all()


@given(SHAPES, SEEDS, st.floats(0.1, 1.0), st.floats(0.1, 1.0))
def test_uniform_sampling_is_never_wrong_less_often_when_harder(shape, seed, one, other):
    arms, costs = shape
    easy, hard = (random_instance(arms, costs, seed, d) for d in sorted((one, other)))
    assert solve(easy).basis == solve(hard).basis
    noise = np.random.default_rng(seed).normal(size=(10, arms, 1 + costs)) * [0.15, *[0.07] * costs]
    for shift in noise:
        seen = [(i.means + shift).T for i in (easy, hard)]
        found = [solve(Instance(rows[0], rows[1:], easy.bound)) for rows in seen]
        right = [f.feasible and f.basis == solve(easy).basis for f in found]
        assert right[0] or not right[1]


@pytest.mark.parametrize("costs", [0, 1, 2, 3])
def test_sfsr_errs_more_often_on_average_when_harder(costs):
    # Mean errors over 20 seeds of 250 runs: steps of more than 0.1, standard errors below 0.01.
    levels = (0.2, 0.6, 1.0)
    drawn = {f"{d} {s}": random_instance(10, costs, s, d) for d in levels for s in range(20)}
    table = sweep(drawn, [SFSR()], [600], runs=250, seed=0)
    rates = [np.mean([table.get(f"{d} {s}", "SFSR", 600).error_rate for s in range(20)]) for d in levels]
    assert rates[0] + 0.05 < rates[1] < rates[2] - 0.05


def test_every_size_of_support_occurs():
    sizes = [int((solve(random_instance(12, 3, seed)).mixture > 0).sum()) for seed in range(60)]
    assert set(sizes) == {1, 2, 3, 4}


def test_known_arms_change_nothing_else():
    plain, known = random_instance(7, 2, 5), random_instance(7, 2, 5, known=3)
    np.testing.assert_array_equal(plain.means, known.means)
    assert (known.known, len(known.problem.arms), len(known.problem.known)) == (3, 4, 3)


def test_seed_and_shape_fix_a_random_instance():
    made = {(a, l, s): random_instance(a, l, s).means.tobytes() for a in (5, 6) for l in (0, 2) for s in range(5)}
    assert len(set(made.values())) == len(made)
    assert all(random_instance(*key).means.tobytes() == value for key, value in made.items())


@pytest.mark.parametrize("suffix", ["toml", "json"])
@pytest.mark.parametrize("made", [d_family("I", 3, 2), random_instance(6, 2, 1, known=2), random_instance(4, 0, 1)])
def test_a_saved_instance_comes_back(tmp_path, made, suffix):
    made.save(tmp_path / f"it.{suffix}")
    again = Instance.load(tmp_path / f"it.{suffix}")
    assert again.to_dict() == made.to_dict()
    np.testing.assert_array_equal(again.means, made.means)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: d_family("Q", 1), r"kind: expected one of 'P', 'I', got 'Q'"),
        (lambda: d_family("P", 0), r"support: expected a whole number of at least 1, got 0"),
        (lambda: d_family("P", 4), r"support: expected a whole number of at most 3, got 4"),
        (lambda: d_family("P", 1, -1), r"seed: expected a whole number of at least 0, got -1"),
        (lambda: random_instance(0, 1), r"arms: expected a whole number of at least 1, got 0"),
        (lambda: random_instance(2.5, 1), r"arms: expected a whole number"),
        (lambda: random_instance(3, -1), r"costs: expected a whole number of at least 0, got -1"),
        (lambda: random_instance(3, 1, "x"), r"seed: expected a whole number"),
        (lambda: random_instance(3, 1, difficulty=0), r"difficulty: expected a number in \(0, 1\], got 0"),
        (lambda: random_instance(3, 1, difficulty=1.5), r"difficulty: expected a number in \(0, 1\], got 1.5"),
        (lambda: random_instance(3, 1, difficulty="hard"), r"difficulty: expected a (finite )?number, got 'hard'"),
        (lambda: random_instance(3, 1, known=4), r"known: expected a whole number of at most 3, got 4"),
    ],
)
def test_clear_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_prices_are_apart_as_wanted_and_so_is_their_noise():
    instance = priced_instance(6, seed=1, fold=100.0)
    assert instance.cost.max() / instance.cost.min() == pytest.approx(100.0)
    np.testing.assert_allclose(np.sqrt(instance.covariance[:, 1, 1]), 0.5 * instance.cost[0])
    assert (solve(instance).mixture > 0).sum() == 2
    assert 2 * instance.cost.min() <= instance.bound[0] <= 0.1 * instance.cost.max()
    for wrong in ({"arms": 1}, {"arms": 5, "fold": 3.0}):
        with pytest.raises(ValueError, match="expected"):
            priced_instance(**wrong)
