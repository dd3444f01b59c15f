import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestmix.simulation.results import wilson
from bestmix.theory.planning.bisection import PRECISION, Bisection


class Falling:
    """Error rates that fall by a power of the budget, and never by chance."""

    def __init__(self, at, power, wanted):
        self.at, self.power, self.wanted = at, power, wanted
        self.counts, self.losses, self.pulls, self.seed = {}, {}, {}, 0
        self.strategy = self.instance = self.problem = self
        self.name, self.cells = "falling", range(4)

    def errors(self, budget, runs):
        rate = min(self.wanted * (self.at / budget) ** self.power, 1.0)
        self.pulls[budget, runs] = budget
        return self.counts.setdefault((budget, runs), round(rate * runs))

    def rate(self, budget, runs):
        return self.errors(budget, runs) / runs

    def interval(self, budget, runs):
        return wilson(self.errors(budget, runs), runs)

    def loss(self, budget, runs):
        return math.nan, (math.nan, math.nan)

    def smallest(self):
        return 5


@given(at=st.integers(10, 100_000), power=st.floats(0.5, 3.0))
def test_the_budget_is_just_beyond_the_crossing(at, power):
    found = Bisection(Falling(at, power, 0.1), 0.1).budget(runs=1_000_000, most=10**7)
    assert found.error_interval[1] <= 0.1
    assert found.least <= at * 1.01 + 1
    # The upper end of the interval is 0.6% above a rate of 0.1 with a million runs.
    assert at * 0.99 <= found.trials <= max(at * 1.006 ** (1 / power) * PRECISION**2, at + 2)
    assert list(found.curve) == sorted(found.curve)


@pytest.mark.parametrize("start", [5, 100, 1000, 50_000])
def test_a_quick_estimate_does_not_depend_on_where_it_starts(start):
    found = Bisection(Falling(1000, 1.0, 0.1), 0.1).quick(start, runs=10_000, most=10**6)
    assert 1000 <= found <= 1150


def test_an_error_out_of_reach_is_given_up():
    found = Bisection(Falling(10**9, 0.5, 0.1), 0.1)
    assert found.quick(100, 500, most=10_000) is None
    budget = found.budget(runs=1000, most=10_000)
    assert (budget.trials, budget.least, budget.most) == (None, 10_000, 10_000)
    assert not math.isnan(budget.error_rate)
