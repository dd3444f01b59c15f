import numpy as np
import pytest
from tests.answers.estimates import made

from bestmix import from_log
from bestmix.answers import certificate, safety


def test_the_gain_is_over_the_best_arm_that_is_safe_alone():
    data = made([[1.0, 0.2], [3.0, 1.8], [1.2, 0.99]], [[0.1, 0.1]], 100)
    found = safety.safe_mix(data, np.array([1.0]), 0.9)
    proof = certificate.certify(data, found.mixture, np.array([1.0]), 0.9, np.array([1.25]))
    assert proof.single == 0
    assert proof.gain_interval[0] < proof.gain < proof.gain_interval[1]
    assert proof.value - proof.value_interval[0] > proof.value_interval[1] - proof.value  # overrated, if anything


@pytest.mark.parametrize(
    ("goal", "limits"), [("maximise good", ["dollars <= 5"]), ("minimise bad", ["dollars <= 5", "share(s) <= 100%"])]
)
def test_the_best_share_of_events_is_no_more_than_all(goal, limits):
    rng = np.random.default_rng(2)
    good = [*(rng.random(150) < 0.7).astype(float).tolist(), 1.0, 0.0, 1.0]
    log = {
        "arm": ["s"] * 150 + ["l"] * 3,
        "good": good,
        "bad": [1.0 - value for value in good],
        "dollars": [*np.abs(rng.normal(1.0, 0.3, 150)).tolist(), 9.0, 2.0, 30.0],
    }
    rec = from_log(log, goal=goal, limits=limits)
    assert 0.0 < rec.regret <= 1.0
    amounts = log | {"good": [3.0 * value for value in good], "bad": [3.0 - 3.0 * value for value in good]}
    assert from_log(amounts, goal=goal, limits=limits).regret > 1.0  # nobody knows how large an amount can be
