import numpy as np
import pytest
from tests.kernels.segment_states import KINDS, random_case

from bestmix.kernels import layout
from bestmix.kernels.layout import new_layout


def entries(rows, means):
    mu, limits = np.empty(len(means)), np.empty(rows.constant.shape)
    layout.set_entries(rows, means, mu, limits)
    return mu, limits


@pytest.mark.parametrize("kind", KINDS)
def test_entries_are_linear_functions_of_the_metrics(kind):
    case = random_case(np.random.default_rng(3), (kind, "share"))
    mu, limits = entries(case.rows, case.truth)
    segment = np.repeat(np.arange(3), case.rows.sizes)
    for j, s in enumerate(segment):
        assert mu[j] == pytest.approx(case.rows.transform[s, 0] @ case.truth[j])
        expected = case.rows.transform[s, 1] @ case.truth[j] + case.rows.constant[j, 0]
        if case.rows.reference[s, 0] >= 0:
            expected -= 0.8 * case.rows.transform[s, 1] @ case.truth[case.rows.reference[s, 0]]
        assert limits[j, 0] == pytest.approx(expected, abs=1e-12)
    assert (limits[:, 1] == case.rows.constant[:, 1]).all()


def test_what_no_row_reads_may_be_missing():
    rows = new_layout([2], np.array([[[1.0, 0.0]]]), np.empty((2, 0)))
    assert entries(rows, np.array([[1.0, np.nan], [2.0, np.nan]]))[0].tolist() == [1.0, 2.0]


def test_an_entry_within_rounding_of_its_bound_is_at_it():
    rows = new_layout([1], np.array([[[1.0], [1.0]]]), np.array([[-0.3]]))
    assert entries(rows, np.array([[0.1 + 0.2]]))[1].tolist() == [[0.0]]


def test_a_relative_limit_is_its_expanded_form():
    # seconds(a) <= 1.1 seconds(small): the same numbers as with the bound written out
    means = np.array([[1.0, 2.0], [3.0, 2.5], [2.0, 1.0]])
    identity = np.eye(2)[None]
    relative = new_layout([3], identity, np.zeros((3, 1)), reference=np.array([[0]]), factor=np.array([1.1]))
    expanded = new_layout([3], identity, np.full((3, 1), -1.1 * 2.0))
    for one, other in zip(entries(relative, means), entries(expanded, means), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_rows_without_noise_are_known():
    given = np.array([[np.nan, 1.0], [np.nan, 2.0]])
    transform = np.array([[[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.0, 0.0]]])
    assert new_layout([2], transform, np.zeros((2, 3)), given=given).known.tolist() == [True, False, True]


def test_what_is_given_has_no_noise():
    case = random_case(np.random.default_rng(1), given=0.5)
    noise = layout.new_noise(case.rows, np.ones((11, 3, 3)), 0.0)
    known = ~np.isnan(case.rows.given)
    assert (noise.covariance == (~known[:, :, None] & ~known[:, None, :])).all()
    means = np.zeros((11, 3))
    layout.fill_given(case.rows, means)
    assert (means == np.where(known, case.truth, 0.0)).all()


def test_a_part_keeps_segments_references_and_entries():
    case = random_case(np.random.default_rng(5), ("relative", "all segments"))
    tried = np.ones(11, dtype=bool)
    tried[[1, 4, 9]] = False  # 4 is the reference of the second segment, of which nothing is left
    use = layout.usable(case.rows, tried)
    assert np.flatnonzero(use).tolist() == [0, 2, 3, 7, 8, 10]
    some = layout.part(case.rows, use)
    assert (some.segments.tolist(), some.layout.sizes.tolist()) == ([0, 2], [3, 3])
    assert some.layout.reference[:, 0].tolist() == [0, 3]
    for one, other in zip(entries(some.layout, case.truth[use]), entries(case.rows, case.truth), strict=True):
        np.testing.assert_array_equal(one, other[use])
