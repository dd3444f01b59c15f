import json

import numpy as np
import pytest

from bestmix import Instance
from bestmix.checks import InvalidInput
from bestmix.theory.limit.bound import LowerBound, TolerantBound, check_delta, divergence

INSTANCE = Instance([1.0, 0.0], [[0.0, 1.0]], [1.0], costs=["dollars"])


def bound(**other):
    given = {"time": 8.0, "time_upper": 8.1, "share": np.array([0.6, 0.4]), "proven": True, "weight": {"arm1": 1.0}}
    kind = TolerantBound if "tolerance" in other or "limit_tolerance" in other else LowerBound
    return kind(INSTANCE, 0.05, **given | other)


def test_trials_are_multiples_of_the_divergence():
    assert bound().trials == pytest.approx(8.0 * divergence(0.05))
    assert bound().trials_upper == pytest.approx(8.1 * divergence(0.05))
    assert isinstance(bound(tolerance=0.1).at(0.01), TolerantBound)


def test_sentences_say_what_is_as_good():
    assert "makes at least 22 trials here" in str(bound())
    words = bound(tolerance=0.1, limit_tolerance=np.array([0.2]), time_upper=30.0).sentence()
    assert "earns 0.1 less or one that exceeds a limit by 0.2 is as good" in words
    assert "about 80 are enough." in words
    assert "as far as was found" in bound(tolerance=0.1, proven=False).sentence()
    assert "no number may be enough" in bound(tolerance=0.1, time_upper=np.inf).sentence()


def test_plain_data():
    data = json.loads(json.dumps(bound(tolerance=0.1, limit_tolerance=np.array([0.2])).to_dict(), allow_nan=False))
    assert data["limit_tolerance"] == {"dollars": 0.2}
    assert data["trials"] < data["trials_upper"]
    assert bound(tolerance=0.1, limit_tolerance=np.zeros(1), time_upper=np.inf).to_dict()["trials_upper"] is None


def test_delta_is_below_one_half():
    with pytest.raises(InvalidInput, match="between 0 and"):
        check_delta(0.5)
