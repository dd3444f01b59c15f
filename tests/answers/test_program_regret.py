"""The bound on the regret in programs of segments: against duality, and where the truth is known."""

import numpy as np
import pytest
from tests.kernels.segment_states import random_case

from bestmix.answers.noisy_program import noisy_program, solve
from bestmix.answers.program_regret import basis_regret_bound, regret_bound
from bestmix.kernels.layout import new_layout


def true_program(case):
    """The same program with nothing left to learn."""
    return case._replace(rows=case.rows._replace(given=case.truth)).program()


def test_without_noise_the_regret_is_what_duality_says():
    for seed in range(4):
        case = random_case(np.random.default_rng(seed), ("all segments", "share"))
        truth = true_program(case)
        best = solve(truth)
        assert best.feasible
        assert regret_bound(truth, best.weights, 0.05, best.prices) == pytest.approx(0.0, abs=1e-9)
        even = np.concatenate([np.full(k, w / k) for k, w in zip(case.rows.sizes, case.weight, strict=True)])
        less = best.value - even @ truth.entries()[0]
        assert regret_bound(truth, even, 0.05, best.prices) == pytest.approx(less)
        assert regret_bound(truth, even, 0.05, 0.0 * best.prices) == pytest.approx(less, rel=0.02)


def test_prices_of_equalities_may_have_either_sign():
    # Half of the users shall get the second arm, which is worse: its price is negative in the form "at most".
    rows = new_layout([2], np.array([[[1.0], [0.0]]]), np.array([[0.5], [-0.5]]), equality=[True], given=[[2.0], [1.0]])
    program = noisy_program(rows, np.ones(1), np.zeros((2, 1)), np.zeros((2, 1, 1)), np.zeros(2))
    best = solve(program)
    assert best.weights.tolist() == [0.5, 0.5]
    assert regret_bound(program, best.weights, 0.05, np.zeros(1)) == pytest.approx(0.0, abs=1e-9)


def naive_bound(program, mixture, prices, q):
    """The bound at given prices for two segments: the largest over all pairs of columns, with one root each."""
    mu, rows = program.entries()
    spread, first = program.data.covariances / program.data.counts[:, None, None], program.layout.sizes[0]
    w, turn = np.r_[1.0, -prices], program.layout.transform[0]
    best = -np.inf
    for i in range(first):
        for j in range(first, len(mu)):
            x = np.zeros(len(mu))
            x[i], x[j] = program.weight
            metrics = np.outer(x, w @ turn) - np.outer(mixture, turn[0])
            variance = sum(v @ s @ v for v, s in zip(metrics, spread, strict=True))
            best = max(best, x @ (mu - rows @ prices) - mixture @ mu + q * np.sqrt(variance))
    return best


def test_it_is_hardly_above_the_bound_over_all_choices_of_columns():
    from scipy.optimize import minimize
    from scipy.special import stdtrit

    compared = 0
    for seed in range(10):
        case = random_case(np.random.default_rng(seed), sizes=(4, 3), trials=(50, 51), shift=-0.3)
        program = case.program()
        best = solve(program)
        if best.feasible:
            found = regret_bound(program, best.weights, 0.05, best.prices)

            def bound(prices, program=program, best=best):
                return naive_bound(program, best.weights, np.maximum(prices, 0.0), -stdtrit(54.0, 0.05))

            start = min(np.linspace(0.0, 2.5, 11)[:, None] * np.maximum(best.prices, 0.1), key=bound)
            naive = minimize(bound, start, method="Nelder-Mead", options={"fatol": 1e-4, "xatol": 1e-3}).fun
            assert 0.98 * naive <= found <= 1.05 * naive + 1e-6
            compared += naive > 0.01
    assert compared >= 2


def test_noise_of_shares_adds_to_it():
    case = random_case(np.random.default_rng(1), sizes=(4, 3), trials=(50, 51), shift=-0.3)
    known, learnt = case.program(), case.program(arrivals=50.0)
    even = np.concatenate([np.full(k, w / k) for k, w in zip(case.rows.sizes, case.weight, strict=True)])
    prices = solve(known).prices
    assert regret_bound(learnt, even, 0.05, prices) > regret_bound(known, even, 0.05, prices)


def test_by_the_prices_of_the_basis_the_bound_holds_where_the_truth_is_known():
    """Even and best mixes at the truth, from trials of random programs with estimated shares; at most 5% may miss."""
    missed = total = 0
    for seed in range(150):
        case = random_case(np.random.default_rng(seed), ("all segments", "share"), trials=(40, 200))
        program, truth = case.program(), true_program(case)
        best, real = solve(program), solve(truth)
        if not best.feasible or not real.feasible:
            continue
        found = basis_regret_bound(program, best.weights, 0.05, best)
        if np.isfinite(found):
            missed += real.value - best.weights @ truth.entries()[0] > found
            total += 1
    assert total > 60
    assert missed <= 0.05 * total + 3 * np.sqrt(0.05 * 0.95 * total)


def test_by_the_prices_of_the_basis_shares_count_as_far_as_segments_differ():
    rows = new_layout([2, 2], np.array([[[1.0]], [[1.0]]]), np.zeros((4, 0)), given=[[2.0], [1.0], [1.0], [0.0]])
    program = noisy_program(rows, np.array([0.3, 0.7]), np.zeros((4, 1)), np.zeros((4, 1, 1)), np.zeros(4))
    program, best = program._replace(arrivals=100.0), solve(program)
    half, worse = np.array([0.15, 0.15, 0.35, 0.35]), np.array([0.0, 0.3, 0.7, 0.0])
    assert basis_regret_bound(program, best.weights, 0.02, best) == pytest.approx(0.0)
    assert basis_regret_bound(program, half, 0.02, best) == pytest.approx(0.5)  # in both segments, whatever the shares
    deviation = np.sqrt(0.3 * 0.7 / 100)  # of what the first segment loses
    assert basis_regret_bound(program, worse, 0.02, best) == pytest.approx(0.3 + 2.0537 * deviation, rel=1e-3)
