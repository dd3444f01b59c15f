import numpy as np
import pytest

from bestmix import Challenger, Instance, Problem, identify, open_experiment
from bestmix.pages.experiment import experiment_report

INSTANCE = Instance([1.0, 2.0], [[0.0, 2.0]], [1.0], sigma_reward=0.1, sigma_cost=0.1)


@pytest.mark.parametrize(
    ("bound", "why"), [(1.0, "these are the arms of the best mix"), (-1.0, "no mix keeps all limits")]
)
def test_what_a_confidence_was_sure_of(bound, why):
    inst = Instance([1.0, 2.0], [[0.0, 2.0]], [bound], sigma_reward=0.1, sigma_cost=0.1)
    rec = identify(inst.problem, inst.sampler(seed=1), 900, Challenger(confidence=0.9))
    assert rec.trials < 900
    assert rec.note.endswith(f"Stopped: with 90% certainty {why}, after {rec.trials} of 900 trials.")
    assert "certainty" not in identify(inst.problem, inst.sampler(seed=1), 40).note


def test_a_budget_that_is_used_up_needs_no_reason():
    rec = identify(INSTANCE.problem, INSTANCE.sampler(seed=1), 12, Challenger(0.95, tolerance=1e-6))
    assert (rec.trials, rec.note) == (12, "")


def test_an_experiment_that_is_over_says_why():
    problem, rng = Problem(["a", "b"], {"dollars": 1.0}), np.random.default_rng(1)
    exp = open_experiment("memory://", "early", problem, budget=900, strategy=Challenger(0.95, tolerance="5%"))
    assert "Stopped" not in exp.recommend().note
    while trials := exp.ask():
        exp.tell(trials[0], *_draw(rng, trials[0].arm))
    rec = exp.recommend()
    assert rec.note == (
        "Stopped: with 95% certainty the mix keeps all limits and is within 5% of the best one, "
        f"after {rec.trials} of 900 trials."
    )
    assert rec.note in experiment_report(exp, figure=False)


def _draw(rng, arm):
    reward, dollars = rng.normal({"a": (1.0, 0.0), "b": (2.0, 2.0)}[arm], 0.1)
    return reward, {"dollars": dollars}


@pytest.mark.parametrize("safety", [None, 0.95, 0.999])
def test_what_was_certified_is_named_where_another_mix_is_recommended(safety):
    strategy = Challenger(0.95, tolerance=0.05)
    rec = identify(INSTANCE.problem, INSTANCE.sampler(seed=1), 5_000, strategy, safety=safety)
    assert rec.trials < 5_000
    own = "certainty the mix keeps all limits and is within 0.05"
    assert (own in rec.note) == (safety == 0.95)
    assert ("certainty another mix, 5" in rec.note) == (safety != 0.95)


def test_no_rule_is_said_to_have_stopped_a_run_whose_squares_vanish():
    tiny = Instance([1e-300, 2e-300], [[1e-300, 3e-300]], [2e-300], sigma_reward=2e-301, sigma_cost=2e-301)
    rec = identify(tiny.problem, tiny.sampler(seed=1), 400, Challenger(0.95))
    assert "Stopped" not in rec.note
    assert "too small to be squared" in rec.note
