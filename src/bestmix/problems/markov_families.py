"""A seeded family of random Markov decision processes under limits."""

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats
from bestmix.problems.limits import Limit
from bestmix.problems.markov import MarkovProblem
from bestmix.problems.quantities import Mean
from bestmix.problems.segment_instance import SegmentInstance

MOST_DRAWS = 10_000
CONCENTRATION = 0.5  # of the Dirichlet distribution of what comes next: a few states are likely, the others are not
SIGMA = 0.3
LOOSE = 1e9  # a bound that no mean reaches


def random_markov(
    states: int,
    actions: int,
    costs: int,
    discount: float = 0.9,
    seed: int = 0,
    events: bool = False,
    margin: float = 0.0,
) -> SegmentInstance:
    """States whose actions have random rewards, costs and transitions, under limits that all bind.

    Mean rewards and costs are uniform on [0, 1], with noise deviations of 0.3, or with ``events`` trials are 0 or 1. A
    limit lies half way between the least cost there is and that of the best policy without limits. Drawn anew until all
    limits bind, as many states have two actions, each of which has at least ``margin`` of its state, and every other
    action's reduced cost is at least ``margin``.

    >>> instance = random_markov(3, actions=2, costs=1, seed=1)
    >>> instance.arms[:3], int(instance.truth.basic.sum())
    (('action0 in state0', 'action1 in state0', 'action0 in state1'), 4)
    """
    states = checks.whole("states", states, 2, "give the number of states")
    actions = checks.whole("actions", actions, 2, "give the number of actions")
    costs = checks.whole("costs", costs, 0, "give the number of limited costs")
    rng = np.random.default_rng([checks.whole("seed", seed, 0, "give any whole number"), states, actions, costs])
    for _ in range(MOST_DRAWS):
        after = rng.dirichlet(np.full(states, CONCENTRATION), size=states * actions)
        means = np.column_stack([rng.uniform(0.0, 1.0, (states * actions, 1 + costs)), after])
        start = rng.dirichlet(np.ones(states))
        drawn = _instance(actions, discount, start, np.full(costs, LOOSE), means, events)
        free = means[:, 1 : 1 + costs].T @ drawn.truth.weights
        least = np.array([_least(drawn, place) for place in range(costs)])
        found = _instance(actions, discount, start, (least + free) / 2.0, means, events)
        if found.truth.feasible and _is_settled(found, states + costs, margin):
            return found
    fault = f"no instance has {costs} limits that all bind, and keeps {margin:g}"
    raise checks.InvalidInput("costs", fault, "ask for fewer, or for a smaller margin")


def _is_settled(instance: SegmentInstance, size: int, margin: float) -> bool:
    """Whether the policy has as many columns as a basis, and is unique by a margin."""
    truth, (mu, rows) = instance.truth, instance.entries
    used = truth.basic[: len(mu)]
    if used.sum() != size:
        return False
    groups = np.array([instance.groups[cell.segment] for cell in instance.problem.cells])
    gain = mu - rows @ truth.prices
    reduced = gain[used].max() - gain[~used]
    return bool((truth.weights / groups)[used].min() >= margin and reduced.min(initial=np.inf) >= margin)


def _least(instance: SegmentInstance, place: int) -> float:
    """The least mean of a cost that a policy has."""
    problem, cost = instance.problem, instance.problem.costs[place]
    assert isinstance(problem, MarkovProblem)
    asked = MarkovProblem(problem.states, problem.actions, problem.discount, problem.start, goal=f"minimise {cost}")
    visits = instance.means[:, -len(problem.states) :]
    return -SegmentInstance(asked, np.column_stack([instance.means[:, 1 + place], visits])).truth.value


def _instance(
    actions: int, discount: float, start: Floats, bound: Floats, means: Floats, events: bool
) -> SegmentInstance:
    states = [f"state{s}" for s in range(len(start))]
    problem = MarkovProblem(
        states,
        [f"action{a}" for a in range(actions)],
        discount,
        dict(zip(states, (start / start.sum()).tolist(), strict=True)),
        [Limit(Mean(f"cost{l}"), "<=", float(b)) for l, b in enumerate(bound)],
    )
    return SegmentInstance(problem, means, sigma=SIGMA, events=["reward", *problem.costs] if events else ())
