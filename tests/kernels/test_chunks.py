"""The chunks of a round, against plain NumPy."""

import numpy as np
import pytest
from tests.kernels.states import SIZES, decided, random_instance, told

from bestmix.kernels import allocation, chunks
from bestmix.kernels.conditions import RESERVE

pytestmark = pytest.mark.parametrize("speed", ["plain", "machine"], indirect=True)

MANY = [(17, 17, 1), (26, 20, 2), (40, 40, 0)]  # conditions that fill several blocks of places


@pytest.mark.parametrize("size", SIZES + MANY)
def test_chunks_go_where_the_gradient_is_largest(size):
    _, unknown, _ = size
    state = decided(told(random_instance(*size, 2), [20] * unknown, 5))
    arm, reason = np.empty(chunks.CHUNKS, dtype=np.int64), np.empty(chunks.CHUNKS, dtype=np.int64)
    owed = np.empty(unknown, dtype=np.int64)
    trials = state.counts.astype(float)
    used = allocation.allocate(state, 95, RESERVE, arm, reason, owed)
    assert used == 10
    assert owed.sum() == 95
    coefficients = np.zeros((len(state.gap), unknown))  # of each condition, by arm
    for i, a in enumerate(state.basis.column):
        if a < unknown:
            coefficients[:, a] += state.coefficient[i]
    coefficients[np.arange(unknown), np.arange(unknown)] += state.own[:unknown]
    for k in range(used):
        spread = (coefficients / trials).sum(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(spread > 0, state.gap / np.sqrt(spread), np.inf)
            worth = np.where(spread > 0, np.exp(-(z**2 - z.min() ** 2) / 2) / ((1 + z) * spread), 0.0)
        if k >= 8:
            worth[np.argmin(z)] = 0.0
        gain = worth @ coefficients / trials**2
        assert gain[arm[k]] >= gain.max() * (1 - 1e-6)
        if gain.max() > 0:
            assert worth[reason[k]] * coefficients[reason[k], arm[k]] > 0
        trials[arm[k]] += 5 if k == 9 else 10
    np.testing.assert_array_equal(trials - state.counts, owed)


def test_conditions_without_weight_take_no_place():
    state = decided(told(random_instance(12, 12, 1, 2), [20] * 12, 5))
    state.space[chunks.TRIALS, :12] = state.counts
    everything = chunks.gather(state, chunks.set_variances(state), 5)
    far = int(np.flatnonzero((state.gap > 0) & (state.gap < np.inf))[-1])
    state.gap[far] = 1e6
    assert chunks.gather(state, chunks.set_variances(state), 5) == everything - 1
    places = state.space[chunks.WHICH, : everything - 1].astype(int)
    assert (np.diff(places) > 0).all()
    assert far not in places
    np.testing.assert_array_equal(state.space[chunks.GAP, : everything - 1], state.gap[places])
    np.testing.assert_array_equal(state.space[chunks.WEIGHT, everything - 1 : chunks.padded(everything - 1)], 0.0)


def test_shares_of_trials_are_a_chunk_ahead():
    space = np.zeros((chunks.NEXT + 1, 1))
    space[chunks.SHARE, 0], space[chunks.NEXT, 0] = 1 / 20, 1 / 27
    assert chunks.one_more_chunk(space, 0, False, 1 / 34) == 0.0
    assert space[chunks.SHARE, 0] == 1 / 20
    assert chunks.one_more_chunk(space, 0, True, 1 / 34) == 1 / 20 - 1 / 27
    assert space[chunks.SHARE, 0] == 1 / 27
    assert space[chunks.NEXT, 0] == 1 / 34
