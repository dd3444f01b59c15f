import json

import numpy as np
import pytest
from tests.strategies.searches import NOISE, drive, plain

from bestmix import Challenger, Instance, Problem, Search, open_experiment, solve
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.recommend import recommend
from bestmix.strategies.proven import support as proven_support
from bestmix.strategies.proven import tolerance as proven
from bestmix.strategies.tolerance_stop import Tolerance

RANGES = {"reward": (0, 3), "x": (-1, 2.5)}
SURE = Challenger(confidence=0.95, tolerance=0.3, proven=True, sigma=0.3)


def test_the_radius_holds_at_all_times():
    # 400 paths of 1,000 trials at delta 0.2: the mixture is nearly tight only for paths without end.
    paths = np.random.default_rng(0).standard_normal((400, 1000)).cumsum(axis=1)
    n = np.arange(1.0, 1001.0)
    missed = (np.abs(paths / n) > proven.radius(n, 1, 0.2)).any(axis=1).mean()
    assert 0.0 < missed <= 0.2


def test_a_verdict_is_true_while_the_means_are_within_their_radius():
    """The largest regret and the dearest costs that the intervals allow, drawn at random."""
    rng = np.random.default_rng(1)
    problem = Problem(["a", "b", "c"], {"x": 1.0})
    rows = [np.array([[1.7, 0.0], [2.6, 1.8], [0.5, 0.8]])[a] + 0.3 * rng.standard_normal((900, 2)) for a in range(3)]
    evidence = Evidence(problem, [Moments(2).plus(row) for row in rows])
    verdict = proven.judge(evidence, np.array([0.3, 0.3]), 0.05, Tolerance(0.1, relative=False))
    width = proven.radius(np.full(3, 900.0), 6, 0.05)[:, None] * 0.3
    assert verdict.certified
    for _ in range(300):
        truth = evidence.means + width * rng.choice([-1.0, 1.0], (3, 2))
        best = solve(Instance(truth[:, 0], truth[:, 1:].T, [1.0]))
        value, cost = verdict.mixture @ truth
        assert cost <= 1.0 + 1e-9
        assert best.value - value <= verdict.regret + 1e-9


def test_runs_stop_and_are_right():
    for seed in range(3):
        search = drive(SURE.start(plain().problem), plain(), seed)
        means = SURE.mixture(search.problem, search.memory) @ plain().means
        assert solve(plain()).value - means[0] <= 0.3
        assert means[1] <= 1.0
    calibrated = drive(Challenger(confidence=0.95, tolerance=0.3).start(plain().problem), plain(), 0)
    assert calibrated.trials < search.trials < 20_000


def test_that_no_mix_keeps_the_limits_is_proven_too():
    instance = Instance([1.0, 2.0], [[1.4, 1.5]], [1.0], **NOISE)
    search = drive(SURE.start(instance.problem), instance, 0)
    assert not search.recommend().feasible
    assert SURE.mixture(search.problem, search.memory) is None


@pytest.mark.parametrize("scale", [[0.3, 0.3], [0.3, 0.0]], ids=["noisy", "exact"])
@pytest.mark.parametrize(("cost", "kept"), [(0.5, True), (9.0, False)])
def test_nothing_is_certain_while_an_arm_was_never_tried(scale, cost, kept):
    sums = [Moments(2).plus(np.full((900, 2), [1.0, cost])), Moments(2)]
    evidence = Evidence(Problem(["a", "new"], {"x": 1.0}), sums)
    verdict = proven.judge(evidence, np.array(scale), 0.05, Tolerance(0.1, relative=False))
    assert (verdict.mixture.tolist(), verdict.certified, verdict.enough) == ([1.0, 0.0], kept, False)
    assert verdict.to_dict()["regret"] is None
    assert not proven_support.none_keeps(evidence, np.array(scale), 0.05)


def test_a_new_arm_without_a_trial_leaves_the_verdict_open():
    instance = Instance([1.0, 2.0], [[3.2, 3.4]], [1.0], **NOISE)
    search = drive(SURE.start(instance.problem, 100), instance, 0)
    assert search.memory["certificate"] is None
    search.change(arms=[*instance.arms, "new"], budget=search.trials)
    assert search.done
    assert not search.memory["certificate"]["certified"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "either sigma or ranges"),
        ({"sigma": 1.0, "ranges": RANGES}, "either sigma or ranges"),
        ({"sigma": 1.0, "tolerance": None, "confidence": None}, "a confidence"),
        ({"sigma": 1.0, "proven": False}, "only used with proven=True"),
    ],
)
def test_the_scale_of_the_noise_is_needed(options, words):
    with pytest.raises(ValueError, match=words):
        Challenger(**{"confidence": 0.95, "tolerance": 0.1, "proven": True, **options})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sigma": -1.0}, "scales of at least 0"),
        ({"sigma": {"reward": 1.0}}, "sigma"),
        ({"ranges": {"reward": (0, 1)}}, "ranges"),
        ({"ranges": {"reward": (1, 0), "x": (0, 1)}}, "the lowest and the highest value of reward"),
    ],
)
def test_scales_fit_the_problem(options, words):
    with pytest.raises(ValueError, match=words):
        Challenger(confidence=0.95, tolerance=0.1, proven=True, **options).start(Problem(["a"], {"x": 1.0}))


def test_values_outside_their_range_are_refused_everywhere(tmp_path):
    strategy = Challenger(confidence=0.95, tolerance=0.1, proven=True, ranges=RANGES)
    problem = Problem(["a", "b"], {"x": 1.0})
    search = strategy.start(problem, 1000)
    with pytest.raises(ValueError, match=r"reward: expected values from 0 to 3, as its range says, got 3\.5"):
        search.tell("a", [1.0, 3.5], [[0.0], [0.0]])
    assert search.trials == 0
    assert json.loads(Search.from_json(search.to_json()).to_json()) == json.loads(search.to_json())
    exp = open_experiment(tmp_path / "x.db", "sure", problem, 1000, strategy)
    (trial,) = exp.ask(1)
    with pytest.raises(ValueError, match=r"x: expected values from -1 to 2\.5"):
        exp.tell(trial, 1.0, [9.0])
    log = {"arm": ["a"], "reward": [1.0], "x": [9.0]}
    with pytest.raises(ValueError, match=r"x: expected values from -1 to 2\.5"):
        open_experiment(tmp_path / "x.db", "log", problem, 1000, strategy, log=log)


@pytest.mark.parametrize(
    "limits",
    [["a / b <= 5"], ["a <= 1", "a >= 0.5"], ["reward >= 0.2"], ["a <= 1", "b / a <= 2"]],
)
@pytest.mark.parametrize("tolerance", [None, 0.1])
def test_limits_whose_noise_the_scales_do_not_tell_are_refused(limits, tolerance):
    """A ratio has the noise of both metrics, and two limits on one metric have the same."""
    strategy = Challenger(confidence=0.95, tolerance=tolerance, proven=True, sigma=1.0)
    with pytest.raises(ValueError, match="each on a metric of its own"):
        strategy.start(Problem(["x", "y"], limits=limits))
    strategy.start(Problem(["x", "y"], goal="minimise c", limits=["a <= 1", "b >= 0.5"], tracked=["d"]))


def test_trials_on_items_are_refused():
    """A list comes round, so that its trials are not independent given the past."""
    with pytest.raises(ValueError, match="independent given the past"):
        SURE.start(Problem(["x", "y"], {"a": 1.0}), items=9, shared=False)


def test_a_run_that_ended_at_its_budget_recommends_what_its_trials_support():
    """The mix that is proven to keep the limits is far from them: it is for a stop that was for it."""
    instance = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], sigma_reward=0.3, sigma_cost=0.2)
    ranges = {"reward": (-5, 10), "cost0": (-5, 5)}
    strategy = Challenger(confidence=0.95, tolerance="5%", proven=True, ranges=ranges)
    search, rng = strategy.start(instance.problem, 2000), np.random.default_rng(0)
    while owed := search.ask():
        for arm, n in owed.items():
            rows = instance.draw(instance.arms.index(arm), n, rng)
            search.tell(arm, rows[:, 0], rows[:, 1:])
    assert search.memory["certificate"]["certified"]
    assert not search.memory["certificate"]["enough"]
    asked = recommend(search.evidence, np.arange(len(search.problem.columns)), strategy="log")
    assert search.recommend().mixture == asked.mixture
