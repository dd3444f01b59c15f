import numpy as np
import pytest
from tests.kernels.segment_states import plain_case, random_case
from tests.kernels.states import SIZES, decided, random_instance, told

from bestmix.kernels import conditions, segment_conditions, segment_state, simplex


@pytest.mark.parametrize("size", SIZES)
def test_one_segment_has_the_conditions_of_the_plain_program(size):
    _, unknown, _ = size
    compared = 0
    for seed in range(8):
        instance = random_instance(*size, seed)
        evidence = told(instance, np.random.default_rng(seed).integers(5, 60, unknown), seed)
        state, other = plain_case(evidence, instance.bound).tried().state, decided(evidence)
        if state.status == simplex.OPTIMAL:
            z = segment_conditions.z_scores(state.program, state.conditions, state.counts)
            plain = conditions.z_scores(other)[:-1]
            np.testing.assert_allclose(z[: len(plain)], plain, rtol=1e-9, atol=1e-9)
            compared += 1
    assert compared >= 2


def test_covariances_are_blended_but_for_known_columns():
    counts, scatter = np.array([1.0, 4.0, 9.0, np.inf]), np.arange(1.0, 5.0)[:, None, None] * np.ones((4, 1, 1))
    pooled = segment_state.pool(counts, np.full((4, 1), np.nan), np.zeros((4, 1)), scatter)
    assert pooled == pytest.approx((2.0 + 3.0) / 11)
    blended = segment_state.blend(counts, scatter, pooled, np.inf)[:, 0, 0]
    assert blended == pytest.approx([(1 + 25 / 11) / 5, (2 + 25 / 11) / 8, (3 + 25 / 11) / 13, 0.0])
    assert segment_state.blend(counts, scatter, pooled, 5.0)[:, 0, 0] == pytest.approx([*blended[:2], 3 / 8, 0.0])


def test_without_two_trials_of_any_column_the_means_say_how_wide_the_noise_is():
    unknown = np.full((2, 1), np.nan)
    assert segment_state.pool(np.ones(2), unknown, np.array([[1.0], [4.0]]), np.zeros((2, 1, 1))) == pytest.approx(2.25)


def test_untried_columns_play_no_part():
    case = random_case(np.random.default_rng(2))
    case.counts[[0, 4, 5, 6]] = 0.0  # the whole second segment among them
    tried = case.tried()
    assert tried.columns.tolist() == [1, 2, 3, 7, 8, 9, 10]
    assert tried.segments.tolist() == [0, 2]
    assert tried.state.program.weight.tolist() == case.weight[[0, 2]].tolist()


def test_what_is_given_does_not_make_the_pool_narrower():
    given = np.array([[np.nan, 1.0], [np.nan, np.nan], [np.nan, np.nan]])
    scatter = np.array([np.diag([4.0, 0.0]), np.diag([4.0, 8.0]), np.diag([4.0, 8.0])])
    pooled = segment_state.pool(np.full(3, 5.0), given, np.zeros((3, 2)), scatter)
    assert pooled.tolist() == [[1.0, 0.0], [0.0, 2.0]]
