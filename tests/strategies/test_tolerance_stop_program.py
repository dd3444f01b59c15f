"""Stopping when a mix is good enough, with segments and limits of every kind."""

import numpy as np
import pytest
from tests.answers.segmented import ARMS, SHARES, evidence, problem

import bestmix as bm
from bestmix import Challenger, Problem
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.noisy_program import solve
from bestmix.answers.program_regret import regret_bound
from bestmix.answers.program_safety import ProgramLimits
from bestmix.answers.programs import program_of
from bestmix.checks import InvalidInput
from bestmix.simulation.segment_cells import SegmentCell
from bestmix.strategies import tolerance_stop_program
from bestmix.strategies.tolerance_stop import REGRET, parse_tolerance, plan_trials

WIDE, NARROW = parse_tolerance(1e6), parse_tolerance(1e-9)


def test_a_wide_tolerance_is_met_by_the_safe_mix_and_a_narrow_one_by_none():
    told = evidence(problem())
    found = tolerance_stop_program.judge(told, 0.1, WIDE)
    assert found.enough
    assert found.mixture.sum() == pytest.approx(1.0)
    assert 0 < found.regret < np.inf
    tight = tolerance_stop_program.judge(told, 0.1, NARROW)
    assert not tight.enough
    np.testing.assert_allclose(tight.mixture, solve(program_of(told)).weights)


def test_where_nothing_keeps_the_limits_there_is_no_verdict():
    told = evidence(problem("share(large) >= 70%", "share(small) >= 50%"))
    assert tolerance_stop_program.judge(told, 0.1, WIDE) is None


def test_an_untried_arm_may_be_much_better():
    told = evidence(problem())
    less = Evidence(told.problem, [Moments(2), *told.moments[1:]])
    assert tolerance_stop_program.judge(less, 0.1, WIDE).regret == np.inf


@pytest.mark.parametrize("size", [None, 60])
def test_trials_go_to_all_that_matters_and_to_segments_as_they_have_users(size):
    told = evidence(problem())
    gains = tolerance_stop_program.regret_gains(told, 0.1, size)
    counts = told.counts.astype(float)
    assert (gains(counts) >= 0).all()
    plan = plan_trials(gains, counts, 60, len(counts))
    assert plan.trials.sum() == 60
    if size is not None:
        assert plan.trials.reshape(2, -1).sum(axis=1) == pytest.approx([42, 18], abs=6)


def known_support():
    """Two segments whose best mixes nobody doubts, with a limit that costs something."""
    instance = bm.families.random_segments(2, arms=3, costs=1, seed=3, margin=0.2)
    rng, moments = np.random.default_rng(0), []
    for cell in range(len(instance.problem.cells)):
        told = Moments(2)
        told.add(instance.draw(cell, 3000, rng))
        moments.append(told)
    return Evidence(instance.problem, moments)


def test_the_bound_by_the_prices_of_the_basis_counts_where_it_is_lower():
    told = known_support()
    found, program = tolerance_stop_program.judge(told, 0.1, NARROW), program_of(told)
    best = solve(program)
    fixed = regret_bound(program, best.weights, 0.1 * REGRET * best.chance, best.prices)
    assert 0 < found.regret < 0.9 * fixed


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
    with pytest.raises(InvalidInput, match=r"Challenger with proven knows one segment.*leave out proven"):
        Challenger(confidence=0.9, tolerance=0.1, proven=True, sigma=1.0).start(problem())


@pytest.mark.parametrize("size", [None, 60])
def test_a_round_for_the_margin_goes_to_the_arms_of_the_mix_as_segments_have_users(size):
    told = evidence(problem())
    used, counts = solve(program_of(told)).weights > 0, told.counts.astype(float)
    gains = tolerance_stop_program.margin_gains(told, size)
    plan = plan_trials(gains, counts, 60, len(counts))
    assert plan.trials[used].sum() == plan.trials.sum() == 60
    if size is not None:
        assert plan.trials.reshape(2, -1).sum(axis=1) == pytest.approx([42, 18], abs=6)


def test_gains_for_the_margin_are_the_slope_of_what_it_costs():
    """At the optimum's prices, the arm of a relative limit included."""
    asked = Problem(ARMS, goal="maximise quality", limits=["dollars <= 0.3 * dollars(large)"], segments=SHARES)
    told = evidence(asked)
    program, counts = program_of(told), told.counts.astype(float)
    best = solve(program)

    def cost(n):
        data = program.data._replace(counts=n)
        _, error = ProgramLimits(program._replace(data=data)).means(best.weights)
        return float(best.prices @ error)

    gain = tolerance_stop_program.margin_gains(told, None)(counts).sum(axis=1) / counts**2
    assert (best.prices > 0).all()
    for place in range(len(counts)):
        step = np.zeros(len(counts))
        step[place] = 1e-3 * counts[place]
        slope = (cost(counts - step) - cost(counts + step)) / (2 * step[place])
        assert gain[place] / 2 == pytest.approx(slope, rel=1e-4, abs=1e-12)


def test_without_a_price_or_with_an_untried_arm_there_is_no_margin_to_narrow():
    told = evidence(problem())
    assert (
        tolerance_stop_program.margin_gains(evidence(Problem(ARMS, goal="minimise dollars", segments=SHARES)), None)
        is None
    )
    assert tolerance_stop_program.margin_gains(Evidence(told.problem, [Moments(2), *told.moments[1:]]), None) is None


@pytest.mark.parametrize("arriving", [False, True])
def test_the_last_share_of_a_budget_goes_to_the_margin(arriving):
    instance = bm.families.random_segments(2, arms=3, costs=1, seed=3, margin=0.2)
    kept = {}
    for strategy in (Challenger(rounds=10), Challenger(rounds=10, margin_share=0.5)):
        cell = SegmentCell(instance, strategy, 1800, seed=0, arriving=arriving)
        moments, _ = cell._rounds(np.random.default_rng(1))
        program = program_of(Evidence(instance.problem, moments))
        best = solve(program)
        kept[strategy.name] = float(best.prices @ ProgramLimits(program).means(best.weights)[1])
    assert kept["Challenger[50% margin]"] < 0.95 * kept["Challenger"]
