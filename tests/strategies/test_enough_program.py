"""Stopping when a mix is good enough, with segments and limits of every kind."""

import numpy as np
import pytest
from tests.answers.segmented import evidence, problem

import bestmix as bm
from bestmix import Challenger, Problem
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.noisy_program import solve
from bestmix.answers.programs import program_of
from bestmix.checks import InvalidInput
from bestmix.strategies import enough_program
from bestmix.strategies.enough import parse_tolerance, plan_trials

WIDE, NARROW = parse_tolerance(1e6), parse_tolerance(1e-9)


def test_a_wide_tolerance_is_met_by_the_safe_mix_and_a_narrow_one_by_none():
    told = evidence(problem())
    found = enough_program.judge(told, 0.1, WIDE)
    assert found.enough
    assert found.mixture.sum() == pytest.approx(1.0)
    assert 0 < found.regret < np.inf
    tight = enough_program.judge(told, 0.1, NARROW)
    assert not tight.enough
    np.testing.assert_allclose(tight.mixture, solve(program_of(told)).weights)


def test_where_nothing_keeps_the_limits_there_is_no_verdict():
    told = evidence(problem("share(large) >= 70%", "share(small) >= 50%"))
    assert enough_program.judge(told, 0.1, WIDE) is None


def test_an_untried_arm_may_be_much_better():
    told = evidence(problem())
    less = Evidence(told.problem, [Moments(2), *told.moments[1:]])
    assert enough_program.judge(less, 0.1, WIDE).regret == np.inf


@pytest.mark.parametrize("size", [None, 60])
def test_trials_go_to_all_that_matters_and_to_segments_as_they_have_users(size):
    told = evidence(problem())
    gains = enough_program.regret_gains(told, 0.1, size)
    counts = told.counts.astype(float)
    assert (gains(counts) >= 0).all()
    plan = plan_trials(gains, counts, 60, len(counts))
    assert plan.trials.sum() == 60
    if size is not None:
        assert plan.trials.reshape(2, -1).sum(axis=1) == pytest.approx([42, 18], abs=6)


def test_a_run_stops_when_a_mix_is_good_enough_and_deploys_it():
    instance = bm.families.random_segments(2, arms=3, costs=1, seed=3, margin=0.2)
    strategy = Challenger(confidence=0.9, tolerance=0.3)
    search = strategy.start(instance.problem)
    rng = np.random.default_rng(2)
    while owed := search.ask():
        for (segment, arm), n in owed.items():
            rows = instance.draw(instance.problem.index(arm, segment), n, rng)
            search.tell(arm, rows[:, 0], rows[:, 1:], segment=segment)
    assert search.trials < 5000
    answer = search.recommend(safety=0.9)
    assert answer.certified
    assert answer.complete
    deployed = [answer.mixture.get(name, 0.0) for name in instance.arms]
    np.testing.assert_allclose(strategy.mixture(instance.problem, search.memory), deployed, atol=1e-12)
    assert instance.judge(np.array([deployed])).loss[0] < 0.3


def test_ties_end():
    """Two equal arms: which of them is better is never known, and does not matter."""
    asked = Problem(["a", "b"], limits=["share(a) <= 90%"], segments={"x": 0.5, "y": 0.5})
    search = Challenger(confidence=0.9, tolerance=0.5).start(asked)
    rng = np.random.default_rng(0)
    while owed := search.ask():
        for (segment, arm), n in owed.items():
            search.tell(arm, rng.normal(size=n), segment=segment)
    assert search.trials < 5000


def test_what_is_proven_is_proven_for_one_segment():
    with pytest.raises(InvalidInput, match="Challenger with proven knows one segment"):
        Challenger(confidence=0.9, tolerance=0.1, proven=True, sigma=1.0).start(problem())
    with pytest.raises(InvalidInput, match="Challenger with margin_share knows one segment"):
        Challenger(margin_share=0.3).start(problem(), 100)
