"""The mix that most likely keeps all limits, against every mix of a fine grid."""

import math
from itertools import product

import numpy as np
import pytest
from tests.answers.estimates import made

from bestmix.answers import likeliest, safe_search, safety
from bestmix.answers.noisy_program import noisy_program
from bestmix.answers.program_safety import ProgramLimits
from bestmix.kernels.layout import new_layout

BOUND = np.array([1.0, 1.0])


def estimates(seed=0, arms=3):
    rng = np.random.default_rng(seed)
    costs = np.vstack([rng.uniform(0.3, 1.7, (arms - 1, 2)), [[0.9, 0.9]]])
    return made(np.column_stack([rng.uniform(size=arms), costs]), rng.uniform(0.5, 2.0, (arms, 3)), 12)


def chances(data, mix, bound=BOUND):
    """Chance that each limit is kept, in plain Python; an error is what a limit of two per cent has for each 2.05."""
    error = safety.margins(data, likeliest.TAIL) / 2.053748910631823
    result = []
    for l in range(len(bound)):
        room = bound[l] - sum(p * c for p, c in zip(mix, data.means[:, 1 + l], strict=True))
        spread = math.sqrt(sum((p * d) ** 2 for p, d in zip(mix, error[:, l], strict=True)))
        result.append(0.5 * math.erfc(-room / spread / math.sqrt(2.0)))
    return result


@pytest.mark.parametrize("seed", range(4))
def test_no_mix_of_a_grid_is_likelier_to_keep_all_limits(seed):
    data, fine = estimates(seed), 40
    grid = [np.array([i, j, fine - i - j]) / fine for i, j in product(range(fine + 1), repeat=2) if i + j <= fine]
    best = max(math.prod(chances(data, mix)) for mix in grid)
    for start in (np.full(3, 1 / 3), np.array([0.0, 0.0, 1.0])):
        found = safety.CostLimits(data, BOUND).likeliest(start)
        assert found.sum() == pytest.approx(1.0)
        assert (found >= 0).all()
        assert math.prod(chances(data, found)) > best - 1e-3


def test_where_nothing_is_certain_the_likeliest_mix_is_deployed_and_the_nearest_certificate_is_told():
    data = estimates(1, arms=6)
    limits = safety.CostLimits(data, BOUND)
    found = safety.safe_mix(data, BOUND, 0.3)
    widest, times = safe_search.nearest(limits, safe_search.affordable(0.05, safe_search.trust(1 / 6)))
    told = safe_search.described(limits, widest, safe_search.trust(1 / 6), 0.95, times)
    assert not found.certified
    assert math.prod(chances(data, found.mixture)) > math.prod(chances(data, widest)) + 1e-3
    assert found.certainty > told.certainty
    np.testing.assert_array_equal(found.further > 0, widest > 0)


def test_arms_with_the_same_items_are_judged_together():
    data = estimates(2)
    alike = data._replace(shared=np.where(np.eye(3)[:, :, None, None] > 0, 0.0, 0.9 * np.eye(3)))
    assert np.abs(likely(data) - likely(alike)).max() > 0.02


def likely(data):
    return safety.CostLimits(data, BOUND).likeliest(np.full(3, 1 / 3))


@pytest.mark.parametrize("seed", range(3))
def test_one_segment_has_the_mix_of_the_plain_problem(seed):
    data = estimates(seed)
    rows = new_layout([3], np.eye(3)[None], np.full((3, 2), -1.0))
    scatters = data.covariances * 11.0
    program = noisy_program(rows, np.ones(1), data.means, scatters, data.counts)
    plain = safety.estimates(data.means, scatters, data.counts)
    np.testing.assert_allclose(ProgramLimits(program).likeliest(np.full(3, 1 / 3)), likely(plain), atol=1e-9)


def segments(room):
    """Two segments with two columns each and two limits over both; the second one, on known costs, has no error."""
    excess = np.array([[-1.0, -0.2], [1.0, 0.2], [-1.0, -0.2], [0.2, 0.2]])
    error = np.array([[1.0, 0.0], [0.1, 0.0], [0.3, 0.0], [1.0, 0.0]])

    def scores(mix):
        return np.array([0.1, room]) - mix @ excess, np.sqrt((mix * mix) @ error**2)

    def slopes(mix):
        width = scores(mix)[1]
        return -excess, error**2 * mix[:, None] / np.where(width > 0, width, 1.0)

    return scores, slopes


def test_each_segment_adds_up_to_its_share():
    scores, slopes = segments(room=1.0)
    segment, weight = np.array([0, 0, 1, 1]), np.array([0.4, 0.6])
    start = np.array([0.2, 0.2, 0.3, 0.3])
    found = likeliest.likeliest(start, scores, slopes, segment, weight)
    np.testing.assert_allclose(np.bincount(segment, found), weight)
    grid = np.linspace(0.0, 1.0, 101)
    mixes = [np.array([0.4 * x, 0.4 - 0.4 * x, 0.6 * y, 0.6 - 0.6 * y]) for x, y in product(grid, repeat=2)]
    z = [room[0] / error[0] for room, error in map(scores, mixes)]
    room, error = scores(found)
    assert room[0] / error[0] > max(z) - 0.01


def test_a_limit_without_error_is_never_broken():
    scores, slopes = segments(room=-0.1)
    start = np.array([0.4, 0.0, 0.6, 0.0])
    found = likeliest.likeliest(start, scores, slopes, np.array([0, 0, 1, 1]), np.array([0.4, 0.6]))
    assert scores(found)[0][1] >= 0
    scores, slopes = segments(room=-0.2)  # only the start keeps it
    np.testing.assert_array_equal(
        likeliest.likeliest(start, scores, slopes, np.array([0, 0, 1, 1]), np.array([0.4, 0.6])), start
    )
