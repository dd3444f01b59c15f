import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestmix import SFSR, Instance, Uniform, catalog, simulate
from bestmix.theory.planning import error_rates
from bestmix.theory.planning.error_rates import ErrorRates, trials_for

EASY = Instance([1.7, 2.6, 0.5, 2.1], [[0.0, 1.8, 0.8, 1.2]], [1.0], sigma_reward=1.0, sigma_cost=0.5)
BUDGETS = [round(60 * 2 ** (k / 2)) for k in range(20)]


@given(at=st.floats(150, 20_000), power=st.floats(0.5, 6.0), target=st.sampled_from([0.1, 0.01]))
def test_errors_that_fall_by_a_power_of_the_budget_give_the_exact_trials(at, power, target):
    points = {n: min(target * (at / n) ** power, 1.0) for n in BUDGETS}
    above = max(points[n] for n in BUDGETS if n >= at)
    below = [n for n in BUDGETS if n < at]
    if points[below[-1]] < 1 and above > 0.5e-9:  # no rounding to the ends of [0, 1] in the bracket
        assert trials_for(target, points, runs=10**9) == pytest.approx(at)


def test_the_last_crossing_counts():
    points = {100: 0.2, 200: 0.05, 400: 0.2, 800: 0.05}
    assert 400 < trials_for(0.1, points, runs=1000) < 800


def test_errors_without_a_crossing():
    assert trials_for(0.1, {100: 0.05, 200: 0.0}, runs=1000) == 100
    assert trials_for(0.1, {100: 0.5, 200: 0.3}, runs=1000) == math.inf


@pytest.mark.parametrize("runs", [1, 20, 1000])
def test_no_error_seen_still_lies_between_the_budgets(runs):
    assert 100 < trials_for(0.01, {100: 1.0, 200: 0.0}, runs) <= 200


def test_rates_are_those_of_the_simulator_each_computed_once(monkeypatch):
    instance, asked = catalog.load("A1"), []

    def counted(*given, **options):
        asked.append(given[2:4])
        return simulate(*given, **options)

    monkeypatch.setattr(error_rates, "simulate", counted)
    rates = ErrorRates(instance, Uniform(), 4, threads=1)
    for _ in range(2):
        assert rates.rate(500, 300) == simulate(instance, Uniform(), 500, 300, seed=4).error_rate
        assert rates.rough_rate(100, 300) == rates.rate(100, 250) > error_rates.HOPELESS
    assert asked == [(500, 300), (100, 250)]


def test_budgets_grow_by_the_root_of_two():
    rates = ErrorRates(catalog.load("A1"), SFSR(), 0, threads=1)
    assert [rates.growing(k) for k in range(5)] == [40, 57, 80, 113, 160]


def test_other_seeds_and_strategies_are_not_mixed_up():
    instance = catalog.load("A2")
    each = [(SFSR(), 1), (SFSR(), 2), (Uniform(), 1)]
    assert len({ErrorRates(instance, strategy, seed, None).key for strategy, seed in each}) == 3


def test_a_strategy_that_needs_more_to_begin_with():
    class Choosy(Uniform):
        def begin(self, problem, budget):
            if budget < 100:
                raise ValueError("budget: too small")
            return super().begin(problem, budget)

    assert 100 <= ErrorRates(EASY, Choosy(), 0, None).smallest() <= 140
