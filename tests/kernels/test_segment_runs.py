"""Simulated runs on problems of segments, in plain Python."""

import numpy as np
import pytest

from bestmix import SFSR, Challenger, Known, Problem, Uniform
from bestmix.kernels import sampling, segment_runs
from bestmix.kernels.conditions import Settings
from bestmix.kernels.segment_runs import ARRIVING, CHOSEN, LEARNT, Answers
from bestmix.problems.markov_families import random_markov
from bestmix.problems.noise import Bernoulli, Mixed
from bestmix.problems.problem import Cell
from bestmix.problems.segment_families import random_segments
from bestmix.problems.segment_instance import SegmentInstance
from bestmix.strategies.schedule import round_ends

SETTINGS = Settings(0.1, 6, 0.0, 0.0)
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
        instance.known_columns,
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
        assert np.nanmean(INSTANCE.judge(found.mix).loss) < 0.1


def test_with_few_trials_answers_are_often_wrong():
    found = simulated(segment_runs.uniform, CHOSEN, 6 * 2)
    assert INSTANCE.wrong(found.basic, found.feasible).mean() > 0.3


def test_arrivals_come_by_their_shares_and_go_where_the_plan_says():
    course = segment_runs.new_course(INSTANCE.noise.compiled(INSTANCE.means), np.array(INSTANCE.means), 2)
    segment_runs.begin(course, INSTANCE.known_columns)
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
    segment_runs.begin(course, INSTANCE.known_columns)
    counts = np.array([np.inf, 0.0, 0.0, 0.0, np.inf, np.inf])
    segment_runs.arrive(np.random.default_rng(1), INSTANCE.layout, INSTANCE.weight, 100, course.nothing, counts, course)
    assert course.owed[[0, 4, 5]].tolist() == [0, 0, 0]
    assert course.owed.sum() == 100


def test_a_run_may_stop_when_it_is_sure():
    sure = Settings(0.1, 6, 0.0, 0.5)
    n, limits = INSTANCE.layout.constant.shape
    answers = Answers(
        np.empty((3, n)), np.empty((3, n + limits), dtype=bool), np.empty(3, dtype=bool), np.empty(3, dtype=int)
    )
    common = INSTANCE.noise.compiled(INSTANCE.means), np.array(INSTANCE.means), INSTANCE.layout, INSTANCE.weight
    segment_runs.challenger(np.random.default_rng(0), *common, INSTANCE.known_columns, 60_000, CHOSEN, sure, answers)
    assert (answers.pulls < 10_000).all()


LIVE = Problem(
    ["small", "medium", "large"],
    goal="maximise quality",
    limits=["dollars <= 0.5", "share(large) <= 60%"],
    segments={"free": 0.6, "paid": 0.4},
    known={"small": Known(costs={"dollars": 0.2})},
)
TRUE = np.array([[0.3, 0.2], [0.5, 0.5], [0.8, 0.8], [0.2, 0.2], [0.6, 0.4], [0.7, 0.9]])


@pytest.mark.parametrize(
    ("strategy", "kernel"),
    [(Challenger(rounds=6), segment_runs.challenger), (SFSR("lagrangian"), segment_runs.rejects)],
)
def test_a_live_search_whose_users_arrive_alike_gives_the_same_answer(strategy, kernel):
    """Users of a round come segment by segment, as a simulated run draws them, and then their trials are made."""
    instance, budget = SegmentInstance(LIVE, TRUE, noise=Bernoulli()), 240
    model = instance.noise.compiled(TRUE)
    for seed in range(3):
        option = np.array(round_ends(6, 6, 2, budget, 2)) if kernel is segment_runs.rejects else budget
        found = simulated(kernel, ARRIVING, option, runs=1, instance=instance, seed=seed)
        rng, search = np.random.default_rng(seed), strategy.start(LIVE, budget)
        while not search.done:
            users = int(search._quota().sum())
            free = rng.binomial(users, 0.6)
            handed = [(s, search.ask(segment=s)) for s in ["free"] * free + ["paid"] * (users - free)]
            for column, cell in enumerate(LIVE.cells):
                rows = trials_of(rng, model, column, handed.count((cell.segment, cell.arm)))
                if len(rows):
                    metrics = {"quality": rows[:, 0], "dollars": rows[:, 1]}
                    search.tell(cell.arm, metrics, segment=cell.segment)
        answer = search.recommend(safety=None)
        assert search.trials == found.pulls[0]
        assert answer.feasible == found.feasible[0]
        shares = [answer.best_guess.get(name, 0.0) for name in LIVE.trial_names]
        np.testing.assert_allclose(shares, found.mix[0] * answer.feasible, atol=1e-9)


def trials_of(rng, model, column, count):
    """Trials as a simulated run draws them."""
    rows = np.empty((count, 2))
    for row in rows:
        sampling.draw_trial(rng, model, TRUE[column], column, row)
    return rows


@pytest.mark.parametrize(
    ("strategy", "kernel"),
    [
        (Uniform(), segment_runs.uniform),
        (Challenger(rounds=6), segment_runs.challenger),
        (SFSR("lagrangian"), segment_runs.rejects),
    ],
)
def test_a_live_search_that_sees_the_same_trials_gives_the_same_answer(strategy, kernel):
    """Trials of 0 and 1, of which sums are exact: every decision has the same numbers."""
    instance, budget = SegmentInstance(LIVE, TRUE, noise=Bernoulli()), 240
    model = instance.noise.compiled(TRUE)
    for seed in range(4):
        option = np.array(round_ends(6, 6, 2, budget, 2)) if kernel is segment_runs.rejects else budget
        found = simulated(kernel, CHOSEN, option, runs=1, instance=instance, seed=seed)
        rng, search = np.random.default_rng(seed), strategy.start(LIVE, budget)
        while owed := search.ask():
            for (segment, arm), count in owed.items():
                column = LIVE.trial_names.index(str(Cell(arm, segment)))
                rows = trials_of(rng, model, column, count)
                search.tell(arm, {"quality": rows[:, 0], "dollars": rows[:, 1]}, segment=segment)
        assert search.trials == found.pulls[0]
        answer = search.recommend(safety=None)
        assert answer.feasible == found.feasible[0]
        shares = [0.6 * answer.by_segment["free"].get(a, 0.0) for a in LIVE.arms]
        shares += [0.4 * answer.by_segment["paid"].get(a, 0.0) for a in LIVE.arms]
        if answer.feasible:
            np.testing.assert_allclose(shares, found.mix[0], atol=1e-9)


@pytest.mark.parametrize(
    ("strategy", "kernel"), [(Uniform(), segment_runs.uniform), (Challenger(rounds=6), segment_runs.challenger)]
)
def test_a_live_search_of_states_that_sees_the_same_trials_gives_the_same_answer(strategy, kernel):
    """Rewards, costs and visits of 0 and 1: sums are exact, and every decision has the same numbers."""
    instance, budget = random_markov(3, 2, 1, seed=4, events=True), 400
    problem, model = instance.problem, instance.model()
    for seed in range(4):
        found = simulated(kernel, CHOSEN, budget, runs=1, instance=instance, seed=seed)
        rng, search = np.random.default_rng(seed), strategy.start(problem, budget)
        while owed := search.ask():
            for (state, action), count in owed.items():
                column = problem.index(action, state)
                rows = np.empty((count, instance.means.shape[1]))
                for row in rows:
                    sampling.draw_trial(rng, model, instance.means[column], column, row)
                after = rows[:, 2:].argmax(axis=1)
                search.tell(action, {"reward": rows[:, 0], "cost0": rows[:, 1], "next": after}, segment=state)
        answer = search.recommend(safety=None)
        assert search.trials == found.pulls[0]
        assert answer.feasible == found.feasible[0]
        shares = [answer.best_guess.get(name, 0.0) for name in problem.trial_names]
        np.testing.assert_allclose(shares, found.mix[0] * answer.feasible, atol=1e-9)


def test_exclusive_events_add_up_to_one_at_most():
    model = Mixed([0.0, 0.0, 0.0], [True] * 3, [False, True, True])
    means = np.array([[0.3, 0.5, 0.4]])
    compiled, rng, trials = model.compiled(means), np.random.default_rng(1), np.empty((4000, 3))
    for trial in trials:
        sampling.draw_trial(rng, compiled, means[0], 0, trial)
    assert set(trials[:, 1:].sum(axis=1)) == {0.0, 1.0}
    drawn = model.draw(np.random.default_rng(2), means, 0, 4000)
    assert set(drawn[:, 1:].sum(axis=1)) == {0.0, 1.0}
    for table in (trials, drawn):  # five standard errors of a share, and of a product, are at most 0.04
        np.testing.assert_allclose(table.mean(axis=0), means[0], atol=0.04)
        np.testing.assert_allclose(np.cov(table.T), model.covariance(means)[0], atol=0.04)
    totals = np.zeros(3)
    sampling.add_other(np.random.default_rng(3), compiled[0], compiled[4], means[0], 4000, totals)
    np.testing.assert_allclose(totals / 4000, means[0], atol=0.04)
