import json

import numpy as np
import pytest

from bestmix import Challenger, Instance, Problem, Search, open_experiment, simulate, sweep
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.problems.segment_instance import SegmentInstance
from bestmix.strategies.built_in import restore_strategy
from bestmix.strategies.challenger import NEWEST
from bestmix.strategies.ranges import check_within, least_scatter

PROBLEM = Problem(["steady", "rare", "other"], {"dollars": 1.0})


def played(strategy, budget=400):
    """A search in which the arm "rare" never pays, and the numbers of its trials."""
    rng, search = np.random.default_rng(1), strategy.start(PROBLEM, budget)
    means = {"steady": (1.0, 0.5), "rare": (0.0, 0.5), "other": (0.2, 0.4)}
    while owed := search.ask():
        for arm, n in owed.items():
            reward, cost = means[arm]
            pays = np.zeros(n) if arm == "rare" else reward + 0.3 * rng.normal(size=n)
            search.tell(arm, pays, (cost + 0.1 * rng.normal(size=n))[:, None])
    return search, {arm: e.trials for arm, e in search.recommend().estimates.items()}


def test_an_arm_that_never_paid_is_tried_on_where_it_could_pay_much():
    _, usual = played(Challenger())
    _, careful = played(Challenger(ranges={"reward": (-9, 20)}))
    assert usual["rare"] < 60
    assert careful["rare"] > 200


def test_a_confidence_waits_for_what_may_be_rare():
    search, _ = played(Challenger(confidence=0.9), 10**6)
    careful, trials = played(Challenger(confidence=0.9, ranges={"reward": (-9, 50)}), 10**6)
    assert search.trials < careful.trials < 10_000
    # One more event of 59 would have raised the mean of the arm by 59 / n, and it is behind by 1.
    assert trials["rare"] > 1.28 * 59


def test_the_answer_is_as_unsure_of_it_as_the_stop_was():
    search, _ = played(Challenger(confidence=0.9, ranges={"reward": (-9, 50)}), 10**6)
    seen = search.history[-1].scores["rare"]
    assert seen < 3
    # Arms are pooled in two ways, which differ by a few per cent here.
    assert search.recommend().z_scores["rare"] == pytest.approx(seen, rel=0.15)
    exp = open_experiment("memory://", "x", PROBLEM, 60, Challenger(ranges={"reward": (-9, 50)}, rounds=1))
    while trials := exp.ask(60):
        for n, trial in enumerate(trials):
            reward = 0.0 if trial.arm == "rare" else 1.0 + 0.3 * (n % 5 - 2)
            exp.tell(trial.id, reward, {"dollars": 0.5 + 0.1 * (n % 3 - 1)})
    assert exp.recommend().z_scores["rare"] == pytest.approx(exp.history[-1].scores["rare"], rel=0.15)


def test_noise_that_is_seen_decides_as_ever():
    instance = Instance([1.0, 1.2, 0.7], [[0.5, 1.4, 0.9]], [1.0], sigma_reward=0.5, sigma_cost=0.5)
    wide = Challenger(ranges={"reward": (-100, 100), "cost0": (-100, 100)})
    found = []
    for strategy in (Challenger(), wide):
        rng, search = np.random.default_rng(2), strategy.start(instance.problem, 300)
        while owed := search.ask():
            for arm, n in owed.items():
                rows = instance.draw(instance.arms.index(arm), n, rng)
                search.tell(arm, rows[:, 0], rows[:, 1:])
        found.append(search.to_dict() | {"strategy": None})
    assert found[0] == found[1]


def test_only_trials_that_are_all_alike_are_changed():
    told = [Moments(2).plus(np.array(rows, dtype=float)) for rows in ([[0, 1], [0, 2]], [[0, 1], [1, 1]], [[0, 1]])]
    evidence = Evidence(PROBLEM, told, least=least_scatter(PROBLEM, {"reward": (0, 3)}))
    np.testing.assert_allclose(evidence.scatters[:, 0, 0], [9.0, 0.5, 9.0])
    np.testing.assert_allclose(evidence.scatters[:, 1, 1], [0.5, 0.0, 0.0])
    np.testing.assert_allclose(Evidence(PROBLEM, told).scatters[:, 0, 0], [0.0, 0.5, 0.0])


def test_ranges_are_of_metrics_and_tails_have_none():
    problem = Problem(["a", "b"], goal="minimise dollars", limits=["p(seconds > 2) <= 5%", "quality >= 0.9"])
    ranges = {"quality": (0, 1), "seconds": (0, 60), "dollars": (0, 5)}
    assert least_scatter(problem, ranges).tolist() == [25.0, 0.0, 1.0]
    with pytest.raises(ValueError, match="metrics: 'dollars', 'seconds', 'quality', got 'sec'"):
        least_scatter(problem, {"sec": (0, 1)})
    with pytest.raises(ValueError, match="ranges: expected the lowest and the highest value of reward"):
        Challenger(ranges={"reward": (1, 0)}).start(PROBLEM, 100)
    with pytest.raises(ValueError, match="reward: expected values from 0 to 1, as its range says, got 2"):
        check_within(["dollars", "reward"], {"reward": (0, 1)}, np.array([[5.0, 1.0], [7.0, 2.0]]), "x")
    search = Challenger(ranges={"reward": (0, 1)}).start(PROBLEM, 100)
    with pytest.raises(ValueError, match="decisions rest on the range: start anew with a wider one"):
        search.tell("rare", 3.0, [0.5])


def test_they_are_kept_in_files_and_named():
    strategy = Challenger(ranges={"reward": (0, 50)})
    assert strategy.name == "Challenger[ranges]"
    assert Challenger(confidence=0.9, ranges={"reward": (0, 50)}).name == "Challenger[0.9, ranges]"
    data = json.loads(json.dumps(strategy.to_dict()))
    assert data["edition"] == NEWEST
    assert restore_strategy(data).to_dict() == strategy.to_dict()
    search, _ = played(Challenger(ranges={"reward": (-9, 50)}), 60)
    again = Search.from_dict(json.loads(json.dumps(search.to_dict())))
    assert again.to_dict() == search.to_dict()


def test_simulations_know_metrics_by_their_names():
    problem = Problem(["a", "b"], goal="maximise sales", limits=["quality >= 0.5"])
    instance = SegmentInstance(problem, [[1.0, 0.4], [0.5, 0.9]], sigma=0.2)
    strategy = Challenger(ranges={"sales": (-9, 9), "quality": (-9, 9)}, rounds=3)
    assert simulate(instance, strategy, 60, 3, seed=1).errors == 0
    groups = Problem(["a", "b"], goal="maximise sales", limits=["quality >= 0.5"], segments={"x": 0.5, "y": 0.5})
    means = [[1.0, 0.4], [0.5, 0.9]] * 2
    result = sweep({"s": SegmentInstance(groups, means, sigma=0.2)}, [strategy], [80], 2, seed=1)
    assert result.get("s", "Challenger[ranges]", 80).runs == 2
