import pickle
import time

import pytest

from bestmix import Problem, Spend, Uniform, identify
from bestmix.strategies.timing import Timed, timed, with_metric


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (1.0, (1.0, {"hours": 0.5})),
        ((1.0, None), (1.0, {"hours": 0.5})),
        ((1.0, {"x": 2.0}), (1.0, {"x": 2.0, "hours": 0.5})),
        ((1.0, [2.0]), (1.0, [2.0, 0.5])),
        ((1.0, 2.0), (1.0, [2.0, 0.5])),
        ({"reward": 1.0}, {"reward": 1.0, "hours": 0.5}),
    ],
)
def test_every_form_of_a_result_gets_its_time(result, expected):
    assert with_metric(result, "hours", 0.5) == expected


def nap(arm):
    time.sleep(0.01 if arm == "slow" else 0.001)
    return 1.0


def test_a_budget_of_time_is_measured():
    rec = identify(Problem(["slow", "fast"]), nap, Spend(0.3, "seconds"), Uniform())
    assert rec.account.spend.unit == "seconds"
    assert 0.2 < rec.account.spent < 0.6
    assert rec.account.prices["slow"] > 0.01
    assert rec.estimates["fast"].trials > rec.estimates["slow"].trials


def test_only_a_budget_of_time_is_measured():
    problem = Problem(["slow", "fast"])
    assert timed(nap, problem, Uniform()) is nap
    assert timed(nap, problem, Uniform().start(problem, Spend(9.0, "dollars")).strategy) is nap
    search = Uniform().start(problem, Spend(9.0, "hours"))
    made = timed(nap, search.problem, search.strategy)
    assert pickle.loads(pickle.dumps(made)) == Timed(nap, "hours")
    assert 0.01 / 3600 < made("slow")[1]["hours"] < 1.0 / 3600
