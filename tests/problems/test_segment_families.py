import numpy as np
import pytest

from bestmix.checks import InvalidInput
from bestmix.problems.segment_families import random_segments


@pytest.mark.parametrize("noise", ["gaussian", "bernoulli"])
@pytest.mark.parametrize(("count", "costs"), [(1, 1), (3, 2), (5, 1)])
def test_all_limits_bind_and_the_answer_is_unique(count, costs, noise):
    instance = random_segments(count, arms=4, costs=costs, seed=2, noise=noise, margin=0.02)
    assert instance.truth.feasible
    assert (instance.truth.prices > 0).all()
    assert not instance.truth.basic[4 * count :].any()
    split = np.bincount(instance.segment[instance.truth.basic[: 4 * count]])
    assert split.sum() == count + costs  # at most as many segments are split as limits bind
    if noise == "bernoulli":
        assert ((instance.means >= 0.1) & (instance.means <= 0.9)).all()


def test_a_seed_fixes_the_instance():
    one, same, other = (random_segments(2, arms=3, costs=1, seed=seed) for seed in (4, 4, 5))
    assert (one.means == same.means).all()
    assert (one.means != other.means).any()


def test_tight_limits_leave_less():
    loose, tight = (random_segments(2, arms=3, costs=1, seed=4, tightness=t, margin=0.0) for t in (0.1, 0.9))
    assert loose.truth.feasible
    assert tight.truth.feasible


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InvalidInput, match="tightness"):
        random_segments(2, arms=3, costs=1, tightness=1.0)
    with pytest.raises(InvalidInput, match="noise"):
        random_segments(2, arms=3, costs=1, noise="cauchy")
    with pytest.raises(InvalidInput, match="count"):
        random_segments(0, arms=3, costs=1)
