"""From values to rows and back."""

import math

from tests.experiments.kits import PROBLEM

from bestmix import Uniform
from bestmix.experiments.audit import audit


def test_values_survive_to_the_last_bit(storage, name):
    exp = storage.create(name, PROBLEM, 6, Uniform())
    values = [0.1, 1 / 3, -1e150, 5e-324, math.pi * 1e-200, 2.0**53 + 2]
    trials = exp.ask(6)
    exp.tell_many([(t, value, [-value]) for t, value in zip(trials, values, strict=True)])
    assert [(t.reward, t.costs["dollars"]) for t in exp.trials()] == [(v, -v) for v in values]
    assert exp.tell_many([(t, value, [-value]) for t, value in zip(trials, values, strict=True)]) == ["repeated"] * 6
    assert audit(exp) == []
