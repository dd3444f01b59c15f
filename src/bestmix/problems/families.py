"""Seeded families of instances: the paper's recipe for its D instances, and random ones of any shape.

``random_segments``, with segments, is that of ``segment_families``; ``random_markov``, with states, that of
``markov_families``; ``random_features``, of arms with features, that of ``feature_families``.
"""

import numpy as np

from bestmix import checks
from bestmix.arrays import Flags, Floats
from bestmix.problems.catalog import COST_1, COST_2
from bestmix.problems.feature_families import random_features as random_features
from bestmix.problems.instance import Instance
from bestmix.problems.markov_families import random_markov as random_markov
from bestmix.problems.noise import Gaussian
from bestmix.problems.segment_families import random_segments as random_segments
from bestmix.problems.solution import solve
from bestmix.problems.uniqueness import is_settled

MOST_DRAWS = 100_000  # of an instance that may not fit
STEP = 0.02  # grid of the D rewards, and what each arm of the support gains
I_LEVELS = 15  # W of kind I is one of 0, 0.02, ..., 0.28

# Of random_instance, at difficulty 0; a rival's gap lies in [GAP, 3 GAP], a slack in [SLACK, 3 SLACK].
GAP, SLACK = 0.5, 0.25
PRICE = (0.5, 1.5)
SPREAD = (0.4, 0.8)


def d_family(kind: str, support: int, seed: int = 0) -> Instance:
    """A fresh instance by the recipe of the paper's D instances: 24 arms, two costs, both bounds 1.

    The costs are all pairs of ``COST_1`` and ``COST_2``. Rewards are 1, cost 1, or cost 1 + cost 2
    (for a support of 1, 2 or 3 arms) minus W. W is drawn again until the best mixture has exactly
    ``support`` arms; each of them then gains 0.02. Should the instance still have a second best
    mixture or a degenerate one (a bound met exactly although its slack is in the basis), the draw
    is repeated too, so that the optimal basis is always unique.

    Parameters
    ----------
    kind
        ``"P"``: W is a permutation of 0, 0.02, ..., 0.46. ``"I"``: each W_i is drawn from
        0, 0.02, ..., 0.28 alone.
    support
        Arms in the best mixture: 1, 2 or 3.
    seed
        Any whole number; with kind and support it fixes the instance.

    Examples
    --------
    >>> instance = d_family("P", support=2, seed=1)
    >>> instance.means.shape, int((solve(instance).mixture > 0).sum())
    ((24, 3), 2)
    """
    kind = checks.choice("kind", kind, ["P", "I"])
    support = checks.whole("support", support, 1, "the recipe knows supports of 1, 2 and 3 arms", most=3)
    rng = np.random.default_rng([_seed(seed), support, ord(kind)])
    cost = np.array(np.meshgrid(COST_1, COST_2, indexing="ij")).reshape(2, -1)
    base = np.vstack([np.zeros(cost.shape[1]), cost]).cumsum(axis=0)[support - 1] + (support == 1)
    while True:
        steps = rng.permutation(base.size) if kind == "P" else rng.integers(I_LEVELS, size=base.size)
        reward = base - STEP * steps
        chosen = solve(_instance(reward, cost)).mixture > 0
        instance = _instance(np.round(reward + STEP * chosen, 2), cost)
        if chosen.sum() == support and is_settled(instance):
            return instance


def uniform_instance(arms: int, costs: int, seed: int = 0, margin: float = 0.05) -> Instance:
    """Mean rewards and costs uniform on [0, 2], bounds 1, noise deviations 1 (reward) and 0.5 (costs).

    Drawn anew until ``is_settled`` with the margin, so that the trials needed have a limit.

    >>> uniform_instance(arms=16, costs=1, seed=3).means.shape
    (16, 2)
    """
    arms = checks.whole("arms", arms, 1, "give the number of arms")
    costs = checks.whole("costs", costs, 0, "give the number of costs; 0 leaves the rewards alone")
    if not 0 <= checks.number("margin", margin) <= 0.2:
        raise checks.InvalidInput(
            "margin", expected="a number from 0 to 0.2", got=f"{margin:g}", remedy="a larger one is hardly ever met"
        )
    rng = np.random.default_rng([_seed(seed), arms, costs, 1])
    for _ in range(MOST_DRAWS):
        means = rng.uniform(0.0, 2.0, (arms, 1 + costs))
        instance = Instance(means[:, 0], means[:, 1:].T, np.ones(costs), sigma_reward=1.0, sigma_cost=0.5)
        if is_settled(instance, margin):
            return instance
    raise checks.InvalidInput(
        "margin", f"no instance with {arms} arms and {costs} costs keeps {margin:g}", "choose a smaller one"
    )


def priced_instance(arms: int, seed: int = 0, fold: float = 500.0, margin: float = 0.02) -> Instance:
    """Models whose prices differ ``fold``-fold: one cost, whose noise is half of each model's own mean.

    Prices are log-uniform from 1 / fold to 1, both ends among them. Rewards rise with the logarithm of the price,
    from about 0.3 to about 0.8, and have a deviation of 0.4; the bound is between twice the cheapest and a tenth of
    the dearest. Drawn anew until the best mix has two arms and ``is_settled`` with the margin.

    >>> instance = priced_instance(arms=5, seed=3)
    >>> round(instance.cost.max() / instance.cost.min()), int((solve(instance).mixture > 0).sum())
    (500, 2)
    """
    arms = checks.whole("arms", arms, 2, "give the number of arms")
    if not 21 <= checks.number("fold", fold) <= 1e6:
        raise checks.InvalidInput("fold", expected="a number from 21 to a million", got=f"{fold:g}", remedy="try 500")
    rng = np.random.default_rng([_seed(seed), arms, 5])
    for _ in range(MOST_DRAWS):
        place = np.r_[0.0, rng.uniform(0.0, 1.0, arms - 2), 1.0]
        price, reward = fold ** (place - 1.0), 0.3 + 0.5 * place + rng.normal(0.0, 0.06, arms)
        noise = Gaussian(covariance=np.array([np.diag([0.16, (0.5 * p) ** 2]) for p in price]))
        bound = np.exp(rng.uniform(np.log(2.0 / fold), np.log(0.1), 1))
        instance = Instance(reward, price[None], bound, noise=noise)
        if (solve(instance).mixture > 0).sum() == 2 and is_settled(instance, margin):
            return instance
    raise checks.InvalidInput("margin", f"no instance with {arms} arms keeps {margin:g}", "choose a smaller one")


def random_instance(arms: int, costs: int, seed: int = 0, difficulty: float = 0.5, known: int = 0) -> Instance:
    """A random instance whose best mixture, and the distance of everything else from it, is by design.

    The number of arms in the support is uniform on 1..min(costs + 1, arms); every cost beyond that has
    slack. Bounds are 1, noise deviations 1 (reward) and 0.5 (costs).

    ``difficulty`` scales two kinds of gaps, and nothing else, by ``10**-difficulty``: the reduced costs
    of the arms outside the support, at least 0.5 and at most 1.5 before scaling, and the slacks, at
    least 0.25 and at most 0.75. A seed draws the same numbers at every difficulty, so that a harder
    instance is the easier one with its rivals moved up and its slacks moved in. With the same noise,
    uniform sampling is then wrong wherever it was wrong before: its error never falls with the
    difficulty. From 0 to 1 the trials needed grow some 50- to 100-fold.

    The optimum is unique and not degenerate: weights of the support are at least
    1 / (2 * arms in the support), shadow prices of the costs without slack at least 0.5, and slacks and
    reduced costs as above.

    Parameters
    ----------
    arms, costs
        Their numbers: at least one arm, any number of costs.
    seed
        Any whole number; with arms and costs it fixes all random draws.
    difficulty
        In (0, 1].
    known
        How many arms, counted from the last, have known means; the support may hold some of them.

    Examples
    --------
    >>> instance = random_instance(arms=16, costs=2, seed=3, difficulty=0.7)
    >>> instance.means.shape, is_settled(instance, margin=0.25 * 10**-0.7)
    ((16, 3), True)
    """
    arms = checks.whole("arms", arms, 1, "give the number of arms")
    costs = checks.whole("costs", costs, 0, "give the number of costs; 0 leaves the rewards alone")
    known = checks.whole("known", known, 0, "it counts known arms, at most all", most=arms)
    shrink = 10.0 ** -_difficulty(difficulty)
    rng = np.random.default_rng([_seed(seed), arms, costs])
    size = int(rng.integers(1, min(costs + 1, arms) + 1))
    binding = rng.permutation(costs) < size - 1
    price = np.where(binding, rng.uniform(*PRICE, costs), 0.0)
    slack = np.where(binding, 0.0, shrink * rng.uniform(SLACK, 3 * SLACK, costs))
    excess = rng.uniform(-SPREAD[1], SPREAD[1], (arms, costs))  # of the mean costs over the bounds
    excess[:size] = _balanced(rng, size, binding) - slack
    gap = shrink * rng.uniform(GAP, 3 * GAP, arms)
    gap[:size] = 0.0
    reward = 1.0 + excess @ price - gap
    order = rng.permutation(arms)
    return _instance(reward[order], 1.0 + excess[order].T, known)


def _balanced(rng: np.random.Generator, size: int, binding: Flags) -> Floats:
    """Costs of the support around zero: on the binding ones a turned simplex, on the others scatter.

    Weights of at least 1 / (2 size) balance both; the simplex has edges of a length in SPREAD.
    """
    weight = 0.5 / size + 0.5 * rng.dirichlet(np.ones(size))
    corner = np.linalg.svd(np.eye(size) - 1.0 / size)[0][:, : size - 1] / np.sqrt(2.0)  # edges of length 1
    turn = np.linalg.qr(rng.standard_normal((size - 1, size - 1)))[0]
    point = rng.uniform(-SPREAD[1] / 2, SPREAD[1] / 2, (size, binding.size))
    point[:, binding] = rng.uniform(*SPREAD) * corner @ turn
    return np.asarray(point - weight @ point)


def _instance(reward: Floats, cost: Floats, known: int = 0) -> Instance:
    return Instance(reward, cost, np.ones(len(cost)), sigma_reward=1.0, sigma_cost=0.5, known=known)


def _seed(seed: int) -> int:
    return checks.whole("seed", seed, 0, "give any whole number")


def _difficulty(value: float) -> float:
    result = checks.number("difficulty", value, "give a number in (0, 1]")
    if not 0 < result <= 1:
        raise checks.InvalidInput(
            "difficulty", expected="a number in (0, 1]", got=f"{result:g}", remedy="harder is larger, 1 the hardest"
        )
    return result
