import numpy as np
import pytest
from scipy.optimize import brentq, linprog

from bestmix.theory.limit.allocation import CLOSE, maximise


def test_finitely_many_alternatives_are_a_linear_program():
    rows = np.random.default_rng(1).uniform(0, 1, (7, 4))
    found = maximise(lambda share: [(k, float(row @ share), row) for k, row in enumerate(rows)], 4)
    matrix = np.column_stack([-rows, np.ones(7)])
    best = linprog([0] * 4 + [-1], matrix, np.zeros(7), [[1] * 4 + [0]], [1], [(0, None)] * 4 + [(None, None)])
    assert found.upper == pytest.approx(-best.fun, rel=1e-6)
    assert found.lower >= found.upper / (1 + CLOSE)
    assert sum(found.weight.values()) == pytest.approx(1.0)
    assert found.share.sum() == pytest.approx(1.0)


def test_the_bounds_enclose_a_smooth_maximum():
    def distances(share):
        cuts = []
        for k, squared_gap in enumerate((1.0, 4.0)):  # of arm 1 + k from arm 0
            pair = share[[0, 1 + k]]
            row = np.zeros(3)
            row[[0, 1 + k]] = squared_gap * (pair[::-1] / pair.sum()) ** 2
            cuts.append((k, squared_gap * pair.prod() / pair.sum(), row))
        return cuts

    def ratios(y):  # of shares to that of arm 0, where both are as far as y
        return np.array([y / (1 - y), y / (4 - y)])

    y = brentq(lambda y: (ratios(y) ** 2).sum() - 1, 0, 0.999)
    found, best = maximise(distances, 3), y / (1 + ratios(y).sum())
    assert found.lower <= best <= found.upper <= found.lower * (1 + CLOSE)
    assert CLOSE == 1e-4  # what the docs say of how near the limit is proven


def test_without_alternatives_there_is_no_limit():
    assert maximise(lambda share: [], 2).upper == np.inf


def test_alternatives_that_were_found_once_stay():
    """A search that finds nothing for some shares takes nothing back of what others have proven."""
    answers = iter([[(0, 0.5, np.array([1.0, 0.0])), (1, 0.25, np.array([0.0, 0.5]))], []])
    found = maximise(lambda share: next(answers), 2)
    assert found.upper == pytest.approx(1 / 3)
    assert found.lower == pytest.approx(0.25)


def test_shares_attain_no_more_than_what_is_found_for_other_shares():
    """The first search misses the nearer alternative, which the next one finds, and which counts for both."""
    rows = iter([np.array([1.0, 0.9]), *[np.array([0.5, 0.1])] * 99])

    def one(share):
        row = next(rows)
        return [(0, float(row @ share), row)]

    found = maximise(one, 2)
    assert found.lower <= found.upper <= 0.5 * (1 + 1e-9)


def test_arms_that_nothing_depends_on_get_no_trials():
    found = maximise(lambda share: [(0, float(share[0]), np.array([1.0, 0.0]))], 2, start=np.array([1.0, 0.0]))
    assert found.share.tolist() == [1.0, 0.0]
