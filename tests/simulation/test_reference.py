"""Error rates on the paper's D instances: against a reference run, and in the order that the paper reports."""

import math

import pytest

import bestmix as bm

STRATEGIES = [bm.SFSR(), bm.SFSR("lagrangian"), bm.Uniform()]
BUDGETS = (8000, 64000)
RUNS = 1000

# Errors in 20,000 runs with seed 1, by instance: SFSR, SFSR-L and USLP at 8,000, then at 64,000 trials.
# Made with version 0.1.0; the intervals below do not depend on how its random numbers are drawn.
REFERENCE = {
    "D1P": (7709, 8623, 9317, 186, 204, 1605),
    "D2P": (11526, 11581, 11772, 1004, 990, 2291),
    "D3P": (11142, 9053, 13120, 883, 261, 2101),
    "D1I": (12156, 11776, 12123, 4137, 863, 3398),
    "D2I": (9209, 8088, 10631, 577, 341, 2179),
    "D3I": (16877, 14940, 17090, 3903, 1457, 5679),
}


@pytest.mark.parametrize("name", REFERENCE)
def test_error_rates_are_those_of_the_reference(name):
    table = bm.sweep([name], STRATEGIES, BUDGETS, RUNS, seed=2)
    cells = [(s.name, b) for b in BUDGETS for s in STRATEGIES]
    for (strategy, budget), errors in zip(cells, REFERENCE[name], strict=True):
        rate = (errors + 1) / 20_002
        error = math.sqrt(rate * (1 - rate) * (1 / RUNS + 1 / 20_000))
        # 36 cells, 4.7 standard errors: a false alarm in 1e-4 of all suites.
        assert abs(table.get(name, strategy, budget).error_rate - rate) < 4.7 * error + 1 / RUNS


@pytest.mark.parametrize("name", REFERENCE)
def test_the_order_at_a_large_budget_is_the_papers(name):
    """SFSR-L is as good as SFSR or better, and both beat USLP.

    Not so SFSR on D1I: three arms there stand exactly at a bound, where its scores tell little.
    """
    budget = 64_000
    table = bm.sweep([name], STRATEGIES, [budget], 2000, seed=3)
    sfsr, lagrangian, uslp = (table.get(name, s.name, budget) for s in STRATEGIES)
    assert lagrangian.interval[0] <= sfsr.interval[1]
    assert lagrangian.errors < uslp.errors
    if name != "D1I":
        assert sfsr.errors < uslp.errors
