"""Allocation of a round's trials, against plain NumPy."""

import numpy as np
import pytest
from tests.kernels.states import decided, told

from bestmix import Instance
from bestmix.kernels import allocation
from bestmix.kernels.chunks import CHUNKS, TRIALS, chunk_size, narrow
from bestmix.kernels.conditions import RESERVE, Reserve, Settings

pytestmark = pytest.mark.parametrize("speed", ["plain", "machine"], indirect=True)

NEARLY = Instance([1.0, 2.0, 3.0, 1.5], [[0.97, 1.3, 1.5, 1.02]], [1.0], sigma_cost=0.5)


def test_the_reserve_goes_to_an_arm_of_the_answer_that_has_too_few_trials():
    instance = Instance([1.7, 2.6, 0.5, 2.1], [[0.0, 1.8, 0.8, 1.3]], [1.0], sigma_reward=0.5, sigma_cost=0.5)
    state = decided(told(instance, [100, 40, 400, 400], 3))
    assert sorted(state.basis.column) == [0, 1]
    arm, reason = np.empty((2, CHUNKS), dtype=np.int64)
    owed = np.empty(4, dtype=np.int64)

    def last(floor):
        assert allocation.allocate(state, 100, Reserve(floor=floor), arm, reason, owed) == 10
        assert owed.sum() == 100
        assert (arm[:8] == 3).all()
        return arm[8:].tolist()

    state.own[:], state.coefficient[:] = 0.0, 0.0
    state.own[2:4], state.gap[2:4] = (0.1, 1.0), (0.05, 0.1)  # 3 is most in doubt, and 2 a little
    assert last(0.0) == last(0.038) == [2, 2]  # a share that both have
    assert last(45 / 1020) == [1, 2]  # one chunk is enough for that
    assert last(0.2) == [1, 1]
    state.counts[0] = 45
    assert last(0.2) == [1, 0]
    state.counts[:] = 400
    assert last(0.2) == [2, 2]


def test_where_feasibility_was_in_doubt_arms_have_no_floor():
    instance = Instance([1.7, 2.6, 0.5, 2.1], [[0.0, 1.8, 0.8, 1.3]], [1.0], sigma_reward=0.5, sigma_cost=0.5)
    state, arm = decided(told(instance, [100, 5, 400, 400], 3)), np.empty(CHUNKS, dtype=np.int64)
    assert sorted(state.basis.column) == [0, 1]
    state.own[:], state.coefficient[:] = 0.0, 0.0
    state.own[2:4], state.gap[2:4] = (0.1, 1.0), (0.05, 0.1)

    def last(start):
        state.space[TRIALS, :4] = state.counts
        narrow(state, 100, Reserve(floor=0.1), start, arm, None)
        return arm[8:].tolist()

    assert last(0) == [1, 1]
    assert last(2) == [2, 2]


def test_the_reserve_looks_past_the_condition_most_in_doubt_only_where_another_is_in_doubt():
    instance = Instance([1.7, 2.6, 0.5, 2.1], [[0.0, 1.8, 0.8, 1.3]], [1.0], sigma_reward=0.5, sigma_cost=0.5)
    state = decided(told(instance, [400] * 4, 3))
    arm, reason = np.empty((2, CHUNKS), dtype=np.int64)
    owed = np.empty(4, dtype=np.int64)
    state.own[:], state.coefficient[:] = 0.0, 0.0
    state.own[2:4], state.gap[3] = 1.0, 0.01

    def last(z, doubt):
        state.gap[2] = z / 20
        allocation.allocate(state, 100, Reserve(doubt=doubt), arm, reason, owed)
        assert (arm[:8] == 3).all()
        return arm[8:].tolist()

    assert last(2.4, np.inf) == last(2.4, 2.5) == [2, 2]
    assert last(4.0, np.inf) == [2, 2]
    assert last(2.6, 2.5) == last(4.0, 2.5) == [3, 3]
    state.own[2] = 0.0  # nothing else can be in doubt
    assert last(4.0, 2.5) == [3, 3]
    assert 3 not in last(4.0, np.inf)  # even shares, as before


def test_first_rounds_and_sizes_never_pass_the_budget():
    for settings in map(Settings, (0.1, 0.5, 0.1, 0.1), (30, 3, 30, 30), (0.0, 0.0, 0.05, 0.0), (0.0, 0.0, 0.0, 0.05)):
        for unknown in (1, 3, 24):
            for budget in (unknown, unknown + 1, 4 * unknown, 1000, 10_001):
                spent = unknown * allocation.first_pulls(budget, unknown, settings)
                assert unknown <= spent <= budget
                while size := allocation.round_size(budget, unknown, spent, settings):
                    spent += size
                assert spent == budget
    assert allocation.first_pulls(100, 0, Settings(0.1, 30, 0.0, 0.0)) == 0
    assert allocation.round_size(100, 0, 0, Settings(0.1, 30, 0.0, 0.0)) == 0


@pytest.mark.parametrize("size", [1, 4, 5, 8, 11, 16, 23, 31, 32, 81, 100, 1000])
def test_a_fifth_of_a_round_is_kept_from_the_doubt_about_feasibility(size):
    arm, reason = np.empty((2, CHUNKS), dtype=np.int64)
    state, owed = decided(told(NEARLY, [40] * 4, 3)), np.empty(4, dtype=np.int64)
    chunks = allocation.allocate(state, size, Reserve(share=0.0), arm, reason, owed)
    step = chunk_size(size, 4)
    spent = sum(min(step, size - k * step) for k in range(chunks) if reason[k] == 5)
    assert size - int(0.2 * size) <= spent < size - int(0.2 * size) + step
    assert spent < size or size < 5


def test_billions_of_trials_are_counted_right():
    state = decided(told(NEARLY, [40] * 4, 3))
    cheapest = int(np.argmin(state.program.u[:4, 0]))
    state.counts[:] = 10**6
    state.counts[cheapest] = 4 * 10**9
    state.scatter[:] *= state.counts[:, None, None] * 1e12
    arm, reason = np.empty((2, CHUNKS), dtype=np.int64)
    allocation.allocate(state, 10**9, RESERVE, arm, reason, np.empty(4, dtype=np.int64))
    np.testing.assert_array_equal(arm[:8], cheapest)


def test_while_feasibility_is_in_doubt_the_trials_tell_whether_any_mix_is_feasible():
    state = decided(told(NEARLY, [40] * 4, 3))
    assert 5 not in state.basis.column  # feasible by the estimates
    arm, reason = np.empty((2, CHUNKS), dtype=np.int64)
    owed = np.empty(4, dtype=np.int64)
    allocation.allocate(state, 100, RESERVE, arm, reason, owed)
    cheapest = int(np.argmin(state.program.u[:4, 0]))
    np.testing.assert_array_equal(arm[:8], cheapest)
    np.testing.assert_array_equal(reason[:8], 5)
    assert not (reason[8:] == 5).any()  # the last fifth goes to the other conditions
    assert owed.sum() == 100
