import numpy as np
import pytest

from bestmix import Instance, solve
from bestmix.theory.gaps.geometry import geometry_of
from bestmix.theory.gaps.shared_arms import polish


def test_the_one_movable_arm_falls_to_what_the_known_one_is_worth():
    instance = Instance([1.0, 0.5, 0.8], [[0.2, 0.4, 0.1]], [1.0], known=2)
    shape = geometry_of(instance, solve(instance))
    value, moves = polish(shape, (2, 3), np.zeros_like(shape.columns))
    assert np.sqrt(value) == pytest.approx(0.2, rel=1e-4)
    assert (moves[1:] == 0).all()
