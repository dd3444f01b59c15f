"""Simulated runs on problems of segments, in plain Python."""

import numpy as np
import pytest

from bestmix.kernels import segment_runs
from bestmix.kernels.segment_runs import ARRIVING, CHOSEN, LEARNT, Answers
from bestmix.problems.segment_families import random_segments
from bestmix.strategies.schedule import round_ends

SETTINGS = (0.1, 6, 0.0, 0.0)
INSTANCE = random_segments(2, arms=3, costs=1, seed=3, margin=0.2)


def simulated(kernel, way, *options, runs=20, instance=INSTANCE, seed=0):
    n, limits = instance.layout.constant.shape
    answers = Answers(
        np.empty((runs, n)),
        np.empty((runs, n + limits), dtype=bool),
        np.empty(runs, dtype=bool),
        np.empty(runs, dtype=int),
    )
    common = instance.noise.compiled(instance.means), np.array(instance.means), instance.layout, instance.weight
    kernel(
        np.random.default_rng(seed),
        *common,
        instance.known,
        *options,
        way,
        *([SETTINGS] if kernel is segment_runs.challenger else []),
        answers,
    )
    return answers


def run_all(way, trials, **more):
    budget, n = trials * 6, 6
    ends = np.array(round_ends(n, n, 1, budget, 2))
    return {
        "uniform": simulated(segment_runs.uniform, way, budget, **more),
        "challenger": simulated(segment_runs.challenger, way, budget, **more),
        "rejects": simulated(segment_runs.rejects, way, ends, **more),
    }


@pytest.mark.parametrize("way", [CHOSEN, ARRIVING, LEARNT])
def test_runs_spend_their_budget_and_find_the_answer(way):
    for name, found in run_all(way, 150, runs=10).items():
        assert (found.pulls <= 900).all()
        assert (found.pulls >= (750 if name == "rejects" else 900)).all()  # slacks that go first leave trials over
        totals = np.add.reduceat(found.mix, [0, 3], axis=1)
        np.testing.assert_allclose(totals.sum(axis=1), 1.0)
        if way != LEARNT:
            np.testing.assert_allclose(totals, np.tile(INSTANCE.weight, (10, 1)))
        assert INSTANCE.wrong(found.basic, found.feasible).mean() <= 0.2, name
        assert INSTANCE.losses(found.mix).mean() < 0.1


def test_with_few_trials_answers_are_often_wrong():
    found = simulated(segment_runs.uniform, CHOSEN, 6 * 2)
    assert INSTANCE.wrong(found.basic, found.feasible).mean() > 0.3


def test_arrivals_come_by_their_shares_and_go_where_the_plan_says():
    course = segment_runs.new_course(INSTANCE.noise.compiled(INSTANCE.means), np.array(INSTANCE.means), 2)
    segment_runs.begin(course, INSTANCE.known)
    plan = np.array([0, 4, 2, 0, 0, 0])
    segment_runs.arrive(np.random.default_rng(1), INSTANCE.layout, INSTANCE.weight, 3000, plan, course.counts, course)
    assert course.owed.sum() == 3000 == course.arrived.sum()
    error = np.sqrt(3000 * INSTANCE.weight.prod())
    assert abs(course.arrived[0] - 3000 * INSTANCE.weight[0]) < 4 * error
    assert course.owed[0] == 0
    assert course.owed[1] == pytest.approx(2 * course.owed[2], abs=2)
    assert np.ptp(course.owed[3:]) <= 1  # no plan: evenly


def test_columns_that_are_rejected_get_no_more_users():
    course = segment_runs.new_course(INSTANCE.noise.compiled(INSTANCE.means), np.array(INSTANCE.means), 2)
    segment_runs.begin(course, INSTANCE.known)
    counts = np.array([np.inf, 0.0, 0.0, 0.0, np.inf, np.inf])
    segment_runs.arrive(np.random.default_rng(1), INSTANCE.layout, INSTANCE.weight, 100, course.nothing, counts, course)
    assert course.owed[[0, 4, 5]].tolist() == [0, 0, 0]
    assert course.owed.sum() == 100


def test_a_run_may_stop_when_it_is_sure():
    sure = (0.1, 6, 0.0, 0.5)
    n, limits = INSTANCE.layout.constant.shape
    answers = Answers(
        np.empty((3, n)), np.empty((3, n + limits), dtype=bool), np.empty(3, dtype=bool), np.empty(3, dtype=int)
    )
    common = INSTANCE.noise.compiled(INSTANCE.means), np.array(INSTANCE.means), INSTANCE.layout, INSTANCE.weight
    segment_runs.challenger(np.random.default_rng(0), *common, INSTANCE.known, 60_000, CHOSEN, sure, answers)
    assert (answers.pulls < 10_000).all()
