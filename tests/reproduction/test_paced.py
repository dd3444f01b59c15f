import numpy as np
import pytest

from bestmix import Instance
from bestmix.reproduction import paced
from bestmix.reproduction.rival_instances import Subject

INSTANCE = Instance([1.0, 2.0], [[0.0, 2.0]], [1.0])  # half of each is the best mix: 1.5


def test_what_runs_came_to():
    late = np.array([[0.5, 0.5], [0.4, 0.6]])
    spend = np.array([[1.5, 1.0], [1.7, 1.4]])
    one = paced.summarise(Subject("x", INSTANCE, 100), late, spend)
    assert (one.best, one.reward, one.spending) == pytest.approx((1.5, 1.6, 1.2))
    assert (one.final_reward, one.final_spending, one.kept) == pytest.approx((1.55, 1.1, 0.5))
    assert one.loss == pytest.approx(0.0)  # the reward of 0.1 more was bought at the price of the limit


def test_rounding_breaks_no_limit():
    instance = Instance([1.0, 2.0, 0.0], [[0.1, 0.7, 0.3]], [0.24 - 1e-15])
    late = np.array([[0.7, 0.2, 0.1]])
    one = paced.summarise(Subject("x", instance, 100), late, late @ instance.means)
    assert one.kept == 1.0


def test_bounds_must_be_positive():
    assert paced.measure_paced(Subject("x", Instance([1.0, 2.0], [[-1.0, 1.0]], [0.0]), 100), 2, 0) is None
