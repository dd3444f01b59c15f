"""What the names of scales and ranges are of, with a proof: metrics, the goal, and limits whatever their bounds."""

import json
from types import MappingProxyType

import numpy as np
import pytest

from bestmix import Challenger, Instance, Problem, identify, open_experiment
from bestmix.checks import InvalidInput
from bestmix.strategies.built_in import restore_strategy
from bestmix.strategies.proven.scales import joint_scales, metric_ranges, rows_named, scales

RANGES = {"reward": (0, 3), "x": (-1, 2.5)}
CHEAP = Problem(["a", "b"], goal="minimise dollars", limits=["quality >= 0.5"])
SLOW = Problem(["a", "b"], goal="maximise quality", limits=["p(seconds > 2) <= 20%"])


def sure(**options):
    return Challenger(confidence=0.95, proven=True, **options)


def test_half_the_range_is_the_scale():
    problem = Problem(["a"], {"x": 1.0})
    assert scales(problem, None, RANGES).tolist() == [1.5, 1.75]
    assert scales(problem, {"x": 2.0, "reward": 1.0}, None).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("goal", ["reward", "dollars"])
@pytest.mark.parametrize("limit", ["quality", "quality >= 0.5", "quality >= 0.6", "quality <= 0.9"])
def test_a_metric_has_its_name_and_that_of_the_goal_or_of_its_limit_with_any_bound(goal, limit):
    assert scales(CHEAP, None, {goal: (0, 4), limit: (0, 1)}).tolist() == [2.0, 0.5]
    assert scales(CHEAP, {limit: 0.2, goal: 3.0}, None).tolist() == [3.0, 0.2]
    assert metric_ranges(CHEAP, {goal: (0, 4), limit: (0, 1)}) == {"dollars": (0, 4), "quality": (0, 1)}


@pytest.mark.parametrize("given", [{}, {"p(seconds > 2) <= 20%": (0, 1)}, {"p(seconds > 2) <= 5%": (0, 2)}])
def test_a_tail_has_half_as_its_scale_and_needs_no_range(given):
    assert scales(SLOW, None, {"quality": (0, 4), **given}).tolist() == [2.0, 0.5]
    assert metric_ranges(SLOW, {"quality": (0, 4), **given}) == {"quality": (0, 4)}
    assert scales(SLOW, 3.0, None).tolist() == [3.0, 0.5]
    assert scales(SLOW, {"quality": 3.0}, None).tolist() == [3.0, 0.5]
    assert scales(SLOW, {"quality": 3.0, "p(seconds > 2) <= 20%": 0.4}, None).tolist() == [3.0, 0.4]


def test_a_range_of_a_tail_is_that_of_0_and_1():
    with pytest.raises(InvalidInput, match="is 0 or 1 in each trial, got 0 to 0"):
        sure(ranges={"quality": (0, 1), "p(seconds > 2) <= 20%": (0, 0.5)}).start(SLOW)


def test_trials_of_a_tail_are_held_against_the_range_of_its_metric_alone():
    search = sure(ranges={"quality": (0, 1), "p(seconds > 2) <= 20%": (0, 1)}).start(SLOW, 1000)
    search.tell("a", {"quality": 1.0, "seconds": 1.64})
    with pytest.raises(InvalidInput, match="quality: expected values from 0 to 1, as its range says, got 2"):
        search.tell("a", {"quality": 2.0, "seconds": 1.64})
    search = sure(ranges={"quality": (0, 1), "seconds": (0, 60)}).start(SLOW, 1000)
    search.tell("a", {"quality": 1.0, "seconds": 59.0})
    with pytest.raises(InvalidInput, match="seconds: expected values from 0 to 60, as its range says, got 61"):
        search.tell("a", {"quality": 1.0, "seconds": 61.0})
    assert search.trials == 1


def test_a_metric_and_its_own_tail_are_told_apart():
    """Trials have fewer metrics than there are rows."""
    problem = Problem(["a", "b"], goal="minimise seconds", limits=["p(seconds > 2) <= 20%", "quality >= 0.5"])
    search = sure(ranges={"seconds": (0, 60), "quality": (0, 1)}).start(problem, 1000)
    search.tell("a", {"seconds": 9.0, "quality": 1.0})
    with pytest.raises(InvalidInput, match="quality: expected values from 0 to 1"):
        search.tell("a", {"seconds": 1.0, "quality": 9.0})


def test_another_metric_may_be_called_reward():
    problem = Problem(["a"], goal="minimise dollars", limits=["reward >= 0.5"])
    assert rows_named("ranges", ["reward", "dollars"], problem) == {"reward": 1, "dollars": 0}
    assert rows_named("ranges", ["reward", "reward >= 0.5"], problem) == {"reward": 0, "reward >= 0.5": 1}
    tracked = Problem(["a"], goal="minimise dollars", tracked=["reward"])
    assert rows_named("ranges", ["reward", "dollars"], tracked) == {"reward": None, "dollars": 0}
    assert rows_named("ranges", ["reward"], tracked) == {"reward": 0}
    rare = Problem(["a"], goal="minimise p(seconds > 2)", limits=["reward >= 0.5"])
    assert rows_named("ranges", ["reward"], rare) == {"reward": 1}
    assert rows_named("ranges", ["reward", "reward >= 0.5"], rare) == {"reward": 0, "reward >= 0.5": 1}


@pytest.mark.parametrize(
    ("problem", "options", "words"),
    [
        (CHEAP, {"ranges": {"dollars": (0, 1)}}, "one value for each metric: 'dollars', 'quality'; got 1 missing"),
        (CHEAP, {"sigma": {"quality": 1.0}}, "one value for each metric: 'dollars', 'quality'; got 1 missing"),
        (CHEAP, {"ranges": {"dollar": (0, 1), "quality": (0, 1)}}, "names of metrics: 'dollars', 'quality', got 'dol"),
        (CHEAP, {"ranges": {"dollars": (0, 1), "reward": (0, 1)}}, "'dollars' and 'reward' are of the same metric"),
        (CHEAP, {"sigma": {"dollars": 1, "quality": 1, "quality >= 0.5": 1}}, "'quality' and 'quality >= 0.5' are of"),
        (SLOW, {"sigma": {"quality": 1.0, "seconds": 1.0}}, "names of metrics: 'quality', got 'seconds'"),
    ],
)
def test_what_is_missing_unknown_or_given_twice_is_refused(problem, options, words):
    with pytest.raises(InvalidInput, match=words):
        sure(**options).start(problem)


MALFORMED = [
    {"reward": 1},
    {"reward": (1, 0)},
    {"reward": (0, float("nan"))},
    {"reward": (0, float("inf"))},
    {"reward": ("0", "1")},
    {"reward": (0, 1, 2)},
    {1: (0, 1)},
    [1],
    "x",
    0,
    True,
]


@pytest.mark.parametrize("ranges", MALFORMED, ids=str)
@pytest.mark.parametrize("options", [{}, {"confidence": 0.95}, {"confidence": 0.95, "proven": True}], ids=str)
def test_what_is_no_table_of_ranges_is_refused_at_once(ranges, options):
    with pytest.raises(InvalidInput, match="range"):
        Challenger(ranges=ranges, **options)
    with pytest.raises(InvalidInput, match="range"):
        restore_strategy({"kind": "Challenger", "ranges": ranges, **options})


@pytest.mark.parametrize(
    "sigma", [{"reward": "x"}, {"reward": [1]}, {1: 1.0}, [1], "x", True, float("nan"), -1.0], ids=str
)
@pytest.mark.parametrize("options", [{}, {"confidence": 0.95, "proven": True}], ids=str)
def test_what_is_no_scale_is_refused_at_once(sigma, options):
    with pytest.raises(InvalidInput, match="sigma"):
        Challenger(sigma=sigma, **options)


def test_any_mapping_is_saved():
    strategy = sure(sigma=MappingProxyType({"reward": 1.0}))
    assert json.loads(json.dumps(strategy.to_dict()))["sigma"] == {"reward": 1.0}
    wide = Challenger(ranges=MappingProxyType({"reward": (0, 1)}))
    assert json.loads(json.dumps(wide.to_dict()))["ranges"] == {"reward": [0, 1]}


def bought(exp, most):
    """Make trials until so many are told."""
    rng, told = np.random.default_rng(0), 0
    while told < most and (trials := exp.ask(min(20, most - told))):
        for trial in trials:
            mean = {"a": (0.2, 0.4), "b": (0.7, 0.9)}[trial.arm]
            dollars, quality = (rng.random(2) < mean).astype(float)
            exp.tell(trial, {"dollars": dollars, "quality": quality})
            told += 1
    return told


@pytest.mark.parametrize("names", [("reward", "quality >= 0.5"), ("dollars", "quality")])
def test_another_bound_keeps_the_ranges(names):
    strategy = sure(ranges=dict.fromkeys(names, (0, 1)))
    exp = open_experiment("memory://", "-".join(names), CHEAP, 2000, strategy)
    assert bought(exp, 60) == 60
    exp.change(limits=["quality >= 0.6"])
    (trial,) = exp.ask(1)
    with pytest.raises(InvalidInput, match="quality: expected values from 0 to 1, as its range says"):
        exp.tell(trial, {"dollars": 1.0, "quality": 1.5})
    exp.tell(trial, {"dollars": 0.0, "quality": 1.0})
    assert 0 < bought(exp, 2000) < 1500
    assert exp.state.status == "done"
    assert exp.recommend().support == ("a", "b")


def test_a_change_that_the_scales_do_not_tell_the_noise_of_is_refused_at_once():
    problem = Problem(["a", "b"], goal="maximise sales", limits=["visits >= 1", "orders >= 1"])
    strategy, wish = sure(sigma=0.3), ["visits / orders >= 1", "orders >= 1"]
    exp, search = open_experiment("memory://", "ratio", problem, 200, strategy), strategy.start(problem, 200)
    before = search.to_dict()
    for one in (exp, search):
        with pytest.raises(InvalidInput, match="each on a metric of its own, got 'visits / orders >= 1'"):
            one.change(limits=wish)
        assert one.problem == problem
    assert search.to_dict() == before
    assert not [event for event in exp.events() if event.kind == "changed"]


@pytest.mark.parametrize(("sigma", "objects"), [(0.1, True), (0.9, False), (1.0, False), ({"reward": 0.3}, True)])
def test_a_scale_that_the_trials_refute_is_told_and_nothing_is_called_proven(sigma, objects):
    near = Instance([1.0, 0.9, 0.2], sigma_reward=1.0)
    strategy = Challenger(confidence=0.95, proven=True, sigma=sigma)
    note = identify(near.problem, near.sampler(seed=3), 400, strategy).note
    assert ("so that nothing is" in note) == objects
    assert "certainty" not in note


def test_a_metric_and_its_tail_are_not_independent():
    goal, tail = "minimise seconds", "p(seconds > 2) <= 20%"
    apart, both = Problem(["a"], goal="minimise dollars", limits=[tail]), Problem(["a"], goal=goal, limits=[tail])
    assert joint_scales(apart, 3.0, None).tolist() == [3.0, 0.5]
    assert joint_scales(both, 3.0, None) == pytest.approx(np.array([3.0, 0.5]) * np.sqrt(2))
    assert joint_scales(both, None, {"seconds": (0, 6)}) == pytest.approx(np.array([3.0, 0.5]) * np.sqrt(2))
