import numpy as np
import pytest
from tests import naive
from tests.kernels.segment_states import plain_case, random_case
from tests.kernels.states import random_instance, told

from bestmix.kernels import segment_rejects, simplex


def reject(case, left):
    score = np.empty(len(left))
    return segment_rejects.loser(case.rows, case.weight, case.counts, case.means, left, score), score


@pytest.mark.parametrize("size", [(6, 6, 0), (6, 6, 1), (7, 4, 1), (6, 5, 2), (8, 8, 3)])
def test_one_segment_has_the_lagrangian_scores_of_the_plain_problem(size):
    compared = 0
    for seed in range(6):
        instance = random_instance(*size, seed)
        evidence = told(instance, [20] * size[1], seed)
        case, left = plain_case(evidence, instance.bound), np.ones(size[0] + size[2], dtype=bool)
        case = case._replace(counts=case.program().data.counts)
        expected = np.array(naive.lagrangian_scores_float(evidence.means, instance.bound))
        if np.isfinite(expected).all():
            compared += 1
            out, score = reject(case, left)
            assert out == int(np.argmin(expected))
            spread = np.ptp(evidence.means[:, 0]) / 2
            basic = np.isinf(score)
            np.testing.assert_allclose(score[~basic] * spread, expected[~basic], rtol=1e-6, atol=1e-9)
            np.testing.assert_allclose(expected[basic], 0.0, atol=1e-9)
    assert compared >= 2


@pytest.mark.parametrize("seed", range(6))
def test_rejecting_never_makes_the_rest_infeasible(seed):
    case = random_case(np.random.default_rng(seed), ("all segments", "share"))
    n, limits = case.rows.constant.shape
    left = np.ones(n + limits, dtype=bool)
    first = segment_rejects.solve_left(case.rows, case.weight, case.means, left)
    rounds = 0
    while (out := reject(case, left)[0]) >= 0:
        left[out] = False
        rounds += 1
        program, _, status = segment_rejects.solve_left(case.rows, case.weight, case.means, left)
        assert status == first[2]
        if status == simplex.OPTIMAL:
            assert program.weight.sum() == pytest.approx(1.0)
    if first[2] == simplex.OPTIMAL:
        assert rounds == n - len(case.weight)  # S + R columns are left: a basis
    assert (np.add.reduceat(left[:n], [0, 4, 7]) >= 1).all()


def test_columns_without_trials_are_not_judged():
    case = random_case(np.random.default_rng(1))
    whole = reject(case, np.ones(12, dtype=bool))[0]
    case.counts[whole] = 0.0
    out, score = reject(case, np.ones(12, dtype=bool))
    assert out not in (-1, whole)
    assert np.isinf(score[whole])
    case.counts[:] = 0.0
    assert reject(case, np.ones(12, dtype=bool))[0] == -1
