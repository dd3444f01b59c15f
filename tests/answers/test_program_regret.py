"""The bound on the regret in programs of segments: against duality, and where the truth is known."""

import numpy as np
import pytest
from scipy.special import ndtr
from tests.kernels.segment_states import random_case

from bestmix.answers.noisy_program import noisy_program, solve
from bestmix.answers.program_regret import regret_bound, support_regret_bound
from bestmix.kernels.layout import new_layout


def true_program(case):
    """The same program with nothing left to learn."""
    return case._replace(rows=case.rows._replace(given=case.truth)).program()


def test_without_noise_the_regret_is_what_duality_says():
    for seed in range(4):
        case = random_case(np.random.default_rng(seed), ("all segments", "share"))
        truth = true_program(case)
        best = solve(truth)
        if best.feasible:
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


def test_the_bound_of_a_known_support_has_the_deviation_of_the_regret_as_a_function_of_the_estimates():
    """Means drawn around the estimates of very many trials, for limits of every kind: 600 regrets of one mix."""
    compared = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        program = random_case(rng, ("all segments", "relative", "share")).program()
        data = program.data._replace(counts=np.full(len(program.data.counts), 1e6))
        program, best = program._replace(data=data), solve(program)
        if not best.feasible:
            continue
        even = np.concatenate([np.full(k, w / k) for k, w in zip(program.layout.sizes, program.weight, strict=True)])
        noise = [rng.multivariate_normal(np.zeros(len(c)), c / 1e6, 600) for c in data.covariances]
        regrets = []
        for error in np.stack(noise, axis=1):
            other = program._replace(data=data._replace(means=data.means + error))
            regrets.append(solve(other).value - even @ other.entries()[0])
        found = support_regret_bound(program, even, ndtr(-1.0)) - (best.value - even @ program.entries()[0])
        assert found == pytest.approx(np.std(regrets), rel=0.12)  # four standard errors
        compared += 1
    assert compared >= 6


def test_the_bound_of_a_known_support_counts_the_noise_of_shares():
    rows = new_layout([1, 1], np.array([[[1.0]], [[1.0]]]), np.zeros((2, 0)), given=[[2.0], [1.0]])
    program = noisy_program(rows, np.array([0.3, 0.7]), np.zeros((2, 1)), np.zeros((2, 1, 1)), np.zeros(2))
    assert support_regret_bound(program._replace(arrivals=100.0), np.array([0.3, 0.7]), 0.02) == pytest.approx(0.0)
    wrong = np.array([0.7, 0.3])  # its regret is 0.4 less than none, and known as well as the shares are
    assert support_regret_bound(program._replace(arrivals=4.0), wrong, 0.02) > 0.0
