import numpy as np
import pytest

from bestmix import Known, Policy
from bestmix.answers.refit import refit

KNOWN = {"off": Known(0.0, {"dollars": 0.0})}
POLICY = Policy({"on": 0.5, "off": 0.5}, {"dollars": 1.0}, safety=0.9, known=KNOWN)


def log(seed, n=30, arm="on"):
    rows = [2.0, 2.0] + 0.1 * np.random.default_rng(seed).normal(size=(n, 2))
    return {"arm": [arm] * n, "reward": rows[:, 0].tolist(), "dollars": rows[:, 1].tolist()}


def test_the_answer_is_of_the_policys_arms_and_certainty():
    rec = refit(POLICY, log(1))
    assert rec.problem.arms == ("on",)
    assert dict(rec.problem.known) == KNOWN
    assert (rec.safety, rec.trials) == (0.9, 30)
    assert rec.certified
    assert rec.limits["dollars"].mean < 1.0


def test_trials_before_are_added_to_the_fresh_ones():
    both, joined = refit(POLICY, log(1), before=log(2)), log(1)
    for name, values in log(2).items():
        joined[name] = joined[name] + values
    assert both.to_dict() == refit(POLICY, joined).to_dict()


def test_trials_before_may_be_all_that_an_arm_has():
    assert refit(POLICY, log(1, arm="new"), before=log(2)).trials == 30
    with pytest.raises(ValueError, match="expected fresh trials of 'on', got none"):
        refit(POLICY, log(1, arm="new"))
