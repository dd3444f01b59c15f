import json

import numpy as np
import pytest
from scipy import stats
from tests.answers.kits import answer

from bestmix import SFSR, Known, Problem, Uniform, identify


def test_the_parts_of_an_answer():
    found = answer()
    assert found.mixture == pytest.approx({"a": 0.5, "b": 0.5})
    assert found.support == ("a", "b")
    assert found.value == pytest.approx(2.0)
    assert found.slack == {"dollars": 0.0}
    assert found.violation == {}
    assert found.shadow_prices == pytest.approx({"dollars": 1.0})
    assert found.basis == ("a", "b")
    assert (found.complete, found.feasible, found.budget, found.trials, found.strategy) == (True, True, 40, 40, "USLP")
    assert found.policy().weights == pytest.approx(found.mixture)
    assert found.policy().bounds == {"dollars": 1.0}


def test_intervals_are_those_of_the_t_distribution():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(7, 2))
    search = Uniform().start(Problem(["a"], {"x": 1.0}, {"k": Known(0.5, {"x": 0.25})}), 7)
    search.tell("a", rows[:, 0], rows[:, 1:])
    estimate = search.recommend().estimates["a"]
    for got, column in ((estimate.reward_interval, 0), (estimate.cost_intervals["x"], 1)):
        x = rows[:, column]
        np.testing.assert_allclose(got, stats.t.interval(0.95, 6, x.mean(), stats.sem(x)))
    known = search.recommend().estimates["k"]
    assert (known.known, known.trials, known.reward_interval) == (True, 0, (0.5, 0.5))


def test_an_infeasible_answer_has_the_least_violation():
    found = answer(cost=(3.0, 2.0))
    assert not found.feasible
    assert found.mixture == {"b": 1.0}
    assert found.violation == pytest.approx({"dollars": 1.0})
    assert found.shadow_prices == {}
    assert found.support_probability is None
    assert found.sentence().startswith(
        "No mix keeps all bounds. The closest is b: dollars 1 above its bound, estimated"
    )
    assert not found.policy().feasible


@pytest.mark.parametrize("known", [{}, {"k": Known(0.5, {"dollars": 0.2})}])
def test_before_any_trial_only_known_arms_can_be_recommended(known):
    found = SFSR().start(Problem(["a", "b"], {"dollars": 1.0}, known), 20).recommend()
    assert found.mixture == ({"k": 1.0} if known else {})
    assert found.feasible == bool(known)
    assert not found.complete
    assert "The search is not finished." in str(found)
    data = json.loads(found.to_json())
    assert data["value"] == (0.5 if known else None)
    if not known:
        assert found.sentence() == "No arm has been tried yet, so there is no answer."


def test_arms_left_without_a_feasible_mix_are_noted():
    # The last decision leaves one arm and the slack; later the arm's mean moves above the bound.
    problem = Problem(["a", "b", "c"], {"x": 1.0})
    search = SFSR(lambda mu, u, e: np.where(e > 0, mu, 1e9)).start(problem, 30)
    cost = {"a": 0.0, "b": 0.5, "c": 2.0}
    while owed := search.ask():
        for arm, n in owed.items():
            search.tell(arm, np.full(n, cost[arm]), np.full((n, 1), cost[arm]))
    found = search.recommend()
    assert not found.feasible
    assert "although all arms together have one" in found.note


def test_a_search_that_kept_the_wrong_arms_does_not_say_that_there_is_no_mix():
    def pull(arm):
        return 1.0, {"c": 1.0}

    rec = identify(Problem(["a", "b", "c"], {"c": 1.0}), pull, 20, SFSR())
    assert not rec.feasible
    assert not rec.violation
    assert rec.sentence().startswith("The arms that the search kept have no mix within the bounds")
