import math
from fractions import Fraction

import pytest
from hypothesis import given
from tests import generators, naive

from bestmix.strategies import schedule


@given(generators.sizes(most=40, most_costs=6))
def test_round_lengths_are_those_of_the_paper_and_the_budget_holds_whatever_is_rejected(size):
    arms, unknown, costs, budget = size
    ends = schedule.rejects(arms, unknown, costs, budget)
    assert ends == naive.schedule(arms, unknown, costs, budget)
    assert all(type(n) is int and n >= 1 for n in ends)
    assert ends == sorted(ends)
    # Most pulls: slacks and known arms are rejected first, then unknown arms one a round.
    others = arms - unknown + costs
    left, pulls, previous = unknown, 0, 0
    for k, n in enumerate(ends, 1):
        pulls += left * (n - previous)
        previous = n
        left = unknown - max(k - others, 0)
    assert pulls <= budget


@pytest.mark.parametrize("segments", [1, 2, 5])
@pytest.mark.parametrize("limits", [0, 1, 3])
def test_with_segments_the_budget_holds_whatever_is_rejected(segments, limits):
    for columns in range(segments, 40):
        for known in (0, 2):
            unknown, budget = max(columns - known, 0), 17 * columns
            ends = schedule.rejects(columns, unknown, limits, budget, segments)
            assert len(ends) == columns - segments
            left, pulls, previous = unknown, 0, 0
            for k, n in enumerate(ends, 1):
                pulls, previous = pulls + left * (n - previous), n
                left = unknown - max(k - (columns - unknown) - limits, 0)
            assert pulls <= budget
            if segments == 1:
                assert ends == schedule.rejects(columns, unknown, limits, budget)


def test_a_float_ceiling_would_be_off_by_one():
    def in_floats(arms, unknown, costs, budget):
        psi = sum(1 / max(2, j - costs) for j in range(1, unknown + 1))
        return [math.ceil((budget - unknown) / (arms + 1 - k) / psi) for k in range(1, arms)]

    wrong = [
        (arms, budget)
        for arms in range(2, 25)
        for budget in range(arms + 1, 300)
        if in_floats(arms, arms, 1, budget) != schedule.rejects(arms, arms, 1, budget)
    ]
    assert wrong  # so the exact arithmetic is needed
    arms, budget = wrong[0]
    exact = schedule.rejects(arms, arms, 1, budget)
    assert exact == naive.schedule(arms, arms, 1, budget)


@pytest.mark.parametrize(
    ("unknown", "costs", "value"),
    [(1, 0, Fraction(1, 2)), (4, 0, Fraction(19, 12)), (4, 1, Fraction(11, 6)), (4, 2, 2), (0, 3, 0)],
)
def test_psi(unknown, costs, value):
    assert schedule.psi(unknown, costs) == value


def test_no_unknown_arms_no_pulls():
    assert schedule.rejects(arms=4, unknown=0, costs=2, budget=100) == [0, 0, 0]
