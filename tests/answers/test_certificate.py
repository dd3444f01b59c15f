import numpy as np
from tests.answers.estimates import made

from bestmix.answers import certificate, safety


def test_the_gain_is_over_the_best_arm_that_is_safe_alone():
    data = made([[1.0, 0.2], [3.0, 1.8], [1.2, 0.99]], [[0.1, 0.1]], 100)
    found = safety.safe_mix(data, np.array([1.0]), 0.9)
    proof = certificate.certify(data, found.mixture, np.array([1.0]), 0.9, np.array([1.25]))
    assert proof.single == 0
    assert proof.gain_interval[0] < proof.gain < proof.gain_interval[1]
    assert proof.value - proof.value_interval[0] > proof.value_interval[1] - proof.value  # overrated, if anything
