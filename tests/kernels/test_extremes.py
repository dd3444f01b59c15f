"""Every finite float that a user may tell is survived: in kernels (plain Python, which checks indices) and searches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels import extremes, segment_extremes

from bestmix import SFSR, Challenger, Problem, SingleArm, Uniform

STRATEGIES = {
    "SFSR": SFSR(),
    "SFSR-L": SFSR("lagrangian"),
    "Challenger": Challenger(rounds=3),
    "confidence": Challenger(confidence=0.9),
    "heuristic": Challenger(heuristic_stop=0.1),
    "single arm": SingleArm(),
    "USLP": Uniform(),
}


@pytest.mark.parametrize(
    ("check", "strategies"),
    extremes.CHECKS + segment_extremes.CHECKS,
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_kernels_survive(check, strategies):
    settings(max_examples=80)(given(*strategies)(check))()


def whole_run(strategy, problem, trials, budget):
    """A search that is told what ``trials(n)`` gives, and its answer in every form."""
    search = strategy.start(problem, budget)
    while owed := search.ask():
        for arm, n in owed.items():
            values = trials(n)
            search.tell(arm, values[:, 0], values[:, 1:])
            search.recommend()  # in the middle of a round, with arms that were not tried
    answer = search.recommend()
    str(answer)
    answer.to_json()
    assert not answer.mixture or abs(sum(answer.mixture.values()) - 1) < 1e-9
    assert answer.support_probability is None or 0 <= answer.support_probability <= 1
    return answer


@pytest.mark.parametrize("strategy", STRATEGIES)
@settings(max_examples=12)
@given(
    arms=st.integers(1, 6),
    bounds=st.lists(st.sampled_from(extremes.SIZES), max_size=3),
    sizes=st.lists(st.sampled_from(extremes.SIZES), min_size=1, max_size=3),
    seed=st.integers(0, 2**32 - 1),
)
def test_searches_survive(strategy, arms, bounds, sizes, seed):
    problem = Problem([f"a{i}" for i in range(arms)], {f"c{l}": b for l, b in enumerate(bounds)})
    rng = np.random.default_rng(seed)

    def trials(n):
        return rng.choice(sizes, (n, 1 + len(bounds))) * rng.choice([-1.0, 1.0])

    whole_run(STRATEGIES[strategy], problem, trials, 12 * arms)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("size", [1e-320, 5e-324])
def test_costs_too_small_for_a_reciprocal_are_at_a_bound_of_zero(strategy, size):
    problem = Problem(["a", "b", "c"], {"d": 0.0, "e": 0.0})
    tiny, zero = (
        whole_run(STRATEGIES[strategy], problem, lambda n, cost=cost: np.tile([0.5, cost, cost], (n, 1)), 24)
        for cost in (size, 0.0)
    )
    assert tiny.to_dict()["mixture"] == zero.to_dict()["mixture"]
    assert (tiny.feasible, tiny.slack) == (zero.feasible, zero.slack)
