"""Every finite float must be survived by the kernels of segments too: checks that ``test_extremes`` runs."""

import numpy as np
from hypothesis import strategies as st
from tests.kernels.extremes import BEYOND, SIZES
from tests.kernels.segment_problems import Data, loaded, outcome

from bestmix.kernels import bounding, segment_conditions, simplex
from bestmix.kernels.segment_conditions import Noise, new_conditions, set_conditions

WEIGHTS = (1.0, 0.5, 0.25, 1e-12, 1e-300, 0.0)
METRICS = 2


@st.composite
def programs(draw, sizes=SIZES):
    """Segments that share limits: few values of any size, so that there are ties and every mixture of magnitudes."""
    count, limits = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    arms = np.array(draw(st.lists(st.integers(1, 4), min_size=count, max_size=count)))
    some = draw(st.lists(st.sampled_from(sizes), min_size=1, max_size=5))
    value = st.builds(lambda size, sign: sign * size, st.sampled_from(some), st.sampled_from((1.0, -1.0)))
    n = int(arms.sum())
    mu, rows, right = (
        np.array(draw(st.lists(value, min_size=size, max_size=size))) for size in (n, n * limits, limits)
    )
    weight = np.array([1.0, *draw(st.lists(st.sampled_from(WEIGHTS), min_size=count - 1, max_size=count - 1))])
    equality = np.array(draw(st.lists(st.booleans(), min_size=limits, max_size=limits)), dtype=bool)
    return Data(arms, weight / weight.sum(), mu, rows.reshape(n, limits), right, equality)


def check_segments(data, seed):
    """Weights that add up in every segment, with a verdict that the limits agree with; from any basis."""
    program = loaded(data)
    n, limits = data.rows.shape
    assert (program.scale[1:] > 0).all()
    assert np.abs(program.mu).max() <= 1.0 + 1e-12
    assert np.abs(program.rows).max(initial=0.0) <= 1.0 + 1e-12
    check_solved(data, program)
    rng = np.random.default_rng(seed)
    program.key[:] = rng.choice([-5, -1, 0, n - 1, 99], len(program.key))  # from a damaged file
    program.basis[:] = rng.choice([-1, 0, n + limits, n + 3 * limits, 99], limits)
    check_solved(data, program)


def check_solved(data, program):
    status = bounding.maximise(program)
    assert status in (simplex.OPTIMAL, simplex.INFEASIBLE)
    assert (data.segment[program.key] == np.arange(len(data.sizes))).all()
    assert ((program.basis >= 0) & (program.basis < len(data.mu) + 3 * len(data.right))).all()
    mixture, excess, _, value = outcome(program)
    assert (mixture >= 0).all()
    assert not np.isnan(program.price).any()
    assert not np.isnan(value)
    np.testing.assert_allclose(data.totals @ mixture, data.weight, atol=1e-9)
    assert not np.isnan(excess).any()
    left = program.right - mixture @ program.rows
    size = 1e-9 * (1.0 + np.abs(program.right))
    if status == simplex.OPTIMAL:
        assert (left >= -size).all()
        assert (np.abs(left[data.equality]) <= size[data.equality]).all()


def check_segment_conditions(data, seed):
    """No z-score is missing, and the chance is one."""
    program = loaded(data)
    bounding.maximise(program)
    rng = np.random.default_rng(seed)
    (n, limits), count = data.rows.shape, len(data.sizes)
    result = new_conditions(n, limits)
    set_conditions(program, noise(rng, data), result)
    counts = rng.choice([1, 2, 40, 10**9], n)
    assert not np.isnan(result.gap).any()
    assert (result.row < 2 * limits).all()
    assert count == len(program.key)
    z = segment_conditions.z_scores(program, result, counts)
    assert not np.isnan(z).any()
    assert 0.0 <= segment_conditions.chance(program, result, counts) <= 1.0


def noise(rng, data):
    """Of any size: metrics that count in some limits, arms of reference, estimated weights."""
    (n, limits), count = data.rows.shape, len(data.sizes)
    transform = rng.choice([0.0, 1.0, -1.0, 1e-150, 1e150], (count, 1 + limits, METRICS))
    root = rng.choice(SIZES, (n, METRICS)) * rng.choice([-1.0, 0.0, 1.0], (n, METRICS))
    with np.errstate(under="ignore"):
        covariance = root[:, :, None] * root[:, None, :]
    first = np.cumsum(data.sizes) - data.sizes
    reference = np.where(rng.random((count, limits)) < 0.3, first[:, None], -1)
    factor, arrivals = rng.choice([0.0, 0.8, 1e150], limits), float(rng.choice([0.0, 1.0, 1e9]))
    return Noise(transform, covariance, rng.random(limits) < 0.3, reference, factor, arrivals)


CHECKS = (
    (check_segments, (programs(BEYOND), st.integers(0, 2**32 - 1))),
    (check_segment_conditions, (programs(), st.integers(0, 2**32 - 1))),
)
