import numpy as np

from bestmix import SFSR, Challenger, Instance, Problem, Uniform, open_experiment
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.strategies.run_answer import run_answer

INSTANCE = Instance([1.0, 2.0, 1.2], [[0.0, 2.0, 1.5]], [1.0], sigma_reward=0.1, sigma_cost=0.1)


def test_a_search_and_an_experiment_have_the_same_answer_with_the_same_notes():
    strategy = Challenger(0.95, tolerance=0.1)
    rng = np.random.default_rng(0)
    told = {arm: iter(INSTANCE.draw(a, 300, rng).tolist()) for a, arm in enumerate(INSTANCE.arms)}
    search, exp = (
        strategy.start(INSTANCE.problem, 900),
        open_experiment("memory://", "a", INSTANCE.problem, 900, strategy),
    )
    while trials := exp.ask(8):
        for trial in trials:
            reward, cost = next(told[trial.arm])
            exp.tell(trial.id, reward, [cost])
            search.tell(trial.arm, reward, [cost])
    live, durable = search.recommend(), exp.recommend()
    assert live.note.startswith("Stopped: with 95% certainty")
    assert live.to_dict() == durable.to_dict()


def test_results_without_a_place_are_told_unless_they_count():
    log = {"arm": ["a"] * 40 + ["b"] * 40, "reward": [float(k % 2) for k in range(80)]}
    search = SFSR().start(Problem(["a", "b"]), 20)
    search.start_from(log)
    assert "62 results are left out of the estimates" in search.recommend().note
    assert "left out" not in search.recommend(everything=True).note


def test_what_is_said_of_the_log_compares_it_with_fresh_trials():
    low, high = (Moments(1).plus(np.arange(9.0)[:, None] + shift) for shift in (0.0, 20.0))
    evidence = Evidence(Problem(["a"]), [low.joined(high)])
    told = {"budget": 18, "complete": True, "history": ()}
    rec = run_answer(Uniform(), evidence, None, {}, (evidence.moments, [low], 1.0), 3, 18, **told)
    assert rec.log_results == 9
    assert rec.note.index("differ") < rec.note.index("3 results are left out")
