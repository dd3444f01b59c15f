"""Metrics whose noise has the scale 0, in experiments: a result that differs from the arm's others is refused."""

import pytest
from tests.experiments.kits import PROBLEM

from bestmix import Challenger
from bestmix.experiments.audit import audit

SURE = Challenger(confidence=0.95, proven=True, sigma={"reward": 0.3, "dollars": 0.0})
WORDS = r"dollars: expected 0\.5 as in the other trials of 'a', since its scale is 0, got 0\.6; what is proven rests"


@pytest.fixture
def exp(storage, name):
    return storage.create(name, PROBLEM, 400, SURE)


def trials_of(exp, arm, n):
    return [trial for trial in exp.ask(3 * n) if trial.arm == arm][:n]


def test_a_result_that_differs_from_those_before_is_refused(exp):
    first, second, third = trials_of(exp, "a", 3)
    exp.tell(first, 1.0, [0.5])
    for tell in (exp.tell, lambda *result: exp.tell_many([result])):
        with pytest.raises(ValueError, match=WORDS):
            tell(second, 1.0, [0.6])
    assert (exp.state.complete, exp.trial(second.id).state) == (1, "leased")
    assert exp.tell(first, 1.0, [0.5]) == "repeated"
    assert exp.tell(second, 1.2, [0.5]) == "counted"
    assert exp.tell_many([(third, 0.9, [0.5])]) == ["counted"]
    assert audit(exp) == []


def test_results_of_one_call_are_held_against_each_other(exp):
    first, second = trials_of(exp, "a", 2)
    with pytest.raises(ValueError, match=WORDS):
        exp.tell_many([(first, 1.0, [0.5]), (second, 1.0, [0.6])])
    assert exp.state.complete == 0
    assert audit(exp) == []


def test_a_log_is_held_against_it(storage, name):
    log = {"arm": ["a", "a"], "reward": [1.0, 1.2], "dollars": [0.5, 0.6]}
    with pytest.raises(ValueError, match=WORDS):
        storage.create(name, PROBLEM, 400, SURE, log=log)
