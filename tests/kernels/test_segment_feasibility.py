import numpy as np
import pytest
from scipy.optimize import linprog
from tests.kernels.segment_states import plain_case, random_case
from tests.kernels.states import decided, random_instance, told

from bestmix import Instance
from bestmix.kernels import feasibility, segment_feasibility

pytestmark = pytest.mark.parametrize("speed", ["plain"], indirect=True)  # machine code: `bench segments`


def test_one_segment_is_in_doubt_where_the_plain_problem_is():
    doubts = 0
    for seed in range(60):
        size = [(6, 6, 1), (7, 4, 1), (6, 5, 2)][seed % 3]
        instance = random_instance(*size, seed)
        if seed % 2:
            nearly = np.random.default_rng(seed).uniform(0.97, 1.5, size[0])
            instance = Instance(instance.reward, [nearly] * size[2], np.ones(size[2]), known=size[0] - size[1])
        evidence = told(instance, [40] * size[1], seed)
        state, plain = plain_case(evidence, instance.bound).tried().state, decided(evidence)
        term, safest, part = np.empty(size[0]), np.empty(1 + size[2], dtype=np.int64), np.empty(1 + size[2])
        expected = feasibility.in_doubt(plain, safest, part)
        assert segment_feasibility.in_doubt(state, term) == expected
        if expected:
            doubts += 1
            known = safest < size[1]
            np.testing.assert_allclose(term[safest[known]], part[known], rtol=1e-6, atol=1e-12)
    assert doubts > 5


@pytest.mark.parametrize("seed", range(6))
def test_the_widest_margin_is_that_of_highs(seed):
    state = random_case(np.random.default_rng(seed), ("all segments", "one segment", "share")).tried().state
    program, noisy = state.program, ~state.noise.known
    n, limits = program.rows.shape
    every = np.ones(n, dtype=bool)
    mix, price = np.empty(n), np.empty(limits)
    margin = segment_feasibility.widest_margin(state, every, noisy, mix, price)
    totals = np.repeat(np.eye(3), np.diff(program.start), axis=1)
    found = linprog(
        np.r_[np.zeros(n), -1.0],
        A_ub=np.column_stack([program.rows.T, noisy]),
        b_ub=program.right,
        A_eq=np.column_stack([totals, np.zeros(3)]),
        b_eq=program.weight,
        bounds=[(0, None)] * n + [(None, None)],
    )
    assert margin == pytest.approx(-found.fun, abs=1e-9)
    assert (program.right - mix @ program.rows >= np.where(noisy, margin, 0.0) - 1e-9).all()
    assert price[noisy].sum() == pytest.approx(1.0)


def test_no_doubt_where_every_segment_has_a_column_that_is_surely_safe():
    case = random_case(np.random.default_rng(0), trials=(400, 500), shift=-5.0)
    state = case.tried().state
    assert segment_feasibility.safe_alone(state)
    assert not segment_feasibility.in_doubt(state, np.empty(11))
    tight = random_case(np.random.default_rng(0), trials=(4, 9), shift=0.4).tried().state
    assert not segment_feasibility.safe_alone(tight)
