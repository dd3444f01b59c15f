"""Challenger and uniform trials on problems with segments: live, saved and loaded, chosen or as users arrive."""

import numpy as np
import pytest
from tests.answers.segmented import evidence, problem, trial

from bestmix import SFSR, Challenger, Problem, SingleArm, Uniform
from bestmix.kernels.conditions import Settings
from bestmix.strategies.program_rounds import decide, decide_paid
from bestmix.strategies.purse import Purse
from bestmix.strategies.search import Search


def drive(search, rng, segments=None):
    """Tell a search all that it asks for; where users arrive, their arms."""
    while not search.done:
        if segments is None:
            for (segment, arm), count in search.ask().items():
                for _ in range(count):
                    search.tell(arm, trial(arm, segment, rng), segment=segment)
        else:
            segment = str(rng.choice(list(segments), p=list(segments.values())))
            arm = search.ask(segment=segment)
            search.tell(arm, trial(arm, segment, rng), segment=segment)
    return search


@pytest.mark.parametrize("strategy", [Challenger(), Uniform(), SFSR("lagrangian")])
def test_the_budget_is_spent_and_not_exceeded(strategy):
    search = drive(strategy.start(problem("share(large) <= 40%"), 400), np.random.default_rng(1))
    assert 300 <= search.trials <= 400
    assert sum(sum(r.pulls.values()) for r in search.history) == search.trials
    assert set(search.recommend().by_segment) == {"free", "paid"}


def test_challenger_spends_its_trials_where_the_answer_is_in_doubt():
    search = drive(Challenger().start(problem(), 2000), np.random.default_rng(2))
    counts = dict(zip(search.problem.trial_names, search.evidence.counts.tolist(), strict=True))
    assert counts["medium in free"] > 3 * counts["large in free"]  # the latter is much too dear


@pytest.mark.parametrize("segments", [{"free": 0.7, "paid": 0.3}, ["free", "paid"]])
def test_where_users_arrive_only_the_arm_is_chosen(segments):
    shares = {"free": 0.7, "paid": 0.3}
    search = drive(Challenger().start(problem(segments=segments), 600), np.random.default_rng(3), shares)
    assert search.trials == 600
    free = search.evidence.counts[:3].sum() / 600
    assert abs(free - 0.7) < 0.1
    if isinstance(segments, list):
        assert search.recommend().by_segment["free"]


def test_a_search_with_segments_goes_on_after_it_was_saved():
    first = Challenger().start(problem(segments=["free", "paid"]), 200)
    rng = np.random.default_rng(4)
    for segment in ["free", "paid", "free"] * 20:
        arm = first.ask(segment=segment)
        first.tell(arm, trial(arm, segment, rng), segment=segment)
    again = Search.from_json(first.to_json())
    assert again.to_dict() == first.to_dict()
    assert again.recommend(safety=None).mixture == first.recommend(safety=None).mixture


def test_what_cannot_be_asked_is_refused_with_a_remedy():
    search = Challenger().start(problem(segments=["free", "paid"]), 200)
    with pytest.raises(ValueError, match="shares of the segments are learnt from who arrives"):
        search.ask()
    with pytest.raises(ValueError, match=r"segment: expected one of .*'free', 'paid'.*got 'gold'"):
        search.ask(segment="gold")
    with pytest.raises(ValueError, match=r"segment: expected one of .*got None"):
        search.tell("small", {"dollars": 1.0, "quality": 1.0})
    with pytest.raises(ValueError, match="the problem has no segments, got 'free'"):
        Challenger().start(Problem(["a", "b"]), 20).tell("a", 1.0, segment="free")


@pytest.mark.parametrize("strategy", [SFSR(), SingleArm()])
@pytest.mark.parametrize(
    ("asked", "what"),
    [
        (problem(), "2 segments"),
        (problem("share(large) <= 40%", segments=None), r"'share\(large\) <= 40%'"),
        (problem("dollars <= dollars(large)", segments=None), "'dollars <= "),
    ],
)
def test_strategies_that_do_not_know_it_name_one_that_does(strategy, asked, what):
    with pytest.raises(ValueError, match=f"knows one segment and limits on means alone, got {what}.*use Challenger"):
        strategy.start(asked, 1000)


@pytest.mark.parametrize("strategy", [SFSR(), SFSR("lagrangian")])
def test_rejects_say_why_they_do_not_serve_users_who_arrive(strategy):
    asked = Problem(["a", "b"], limits=["q <= 1"], segments=["free", "paid"])
    says = "knows one segment" if strategy == SFSR() else "SFSR-L needs the shares.*give their shares.*use Challenger"
    with pytest.raises(ValueError, match=says):
        strategy.start(asked, 300)


def test_a_run_with_a_confidence_stops_by_itself():
    search = drive(Challenger(confidence=0.9).start(problem(segments={"paid": 1.0})), np.random.default_rng(5))
    assert search.trials < 20_000
    assert search.recommend().support_probability > 0.85


def test_rejects_leave_as_many_columns_as_a_basis_has():
    search = drive(SFSR("lagrangian").start(problem("share(large) <= 40%"), 900), np.random.default_rng(6))
    rejected = [r.rejected for r in search.history if r.rejected is not None]
    assert len(set(rejected)) == len(rejected)
    left = [name for name in search.problem.columns if name not in rejected]
    assert len(left) == len(search.problem.limits) + 2
    answer = search.recommend(safety=None)
    assert answer.feasible
    assert set(answer.support) <= set(left)


def test_users_arrive_where_nothing_is_in_doubt():
    """Without noise no trial helps: segments have theirs all the same, and the budget is spent."""
    search = Challenger().start(Problem(["a", "b"], {"cost": 0.5}, segments={"x": 0.6, "y": 0.4}), 100)
    rng = np.random.default_rng(0)
    while not search.done:
        segment = str(rng.choice(["x", "y"], p=[0.6, 0.4]))
        arm = search.ask(segment=segment)
        search.tell(arm, float(arm == "b"), {"cost": float(arm == "b")}, segment=segment)
    assert search.trials == 100
    assert np.ptp(search.evidence.counts[:2]) <= 2


def test_trials_under_way_count_for_what_is_planned():
    told, settings = evidence(problem(), trials=40), Settings(0.1, 30, 0.0, 0.0)
    alone = decide(told, settings, 60, arriving=False)
    most = int(np.argmax(alone.quota))
    under_way = [0] * len(alone.quota)
    under_way[most] = 10_000
    beside = decide(told, settings, 60, arriving=False, under_way=under_way)
    assert alone.quota[most] > 0 == beside.quota[most]
    assert sum(alone.quota) == sum(beside.quota) == 60
    assert alone.scores == beside.scores


@pytest.mark.parametrize("seed", range(3))
def test_at_the_price_of_one_money_buys_what_trials_would(seed):
    search = Challenger().start(problem("share(large) <= 40%"), 400)
    rng = np.random.default_rng(seed)
    for (segment, arm), count in search.ask().items():
        for _ in range(count + 10):
            search.moments[search.problem.index(arm, segment)].add(
                search.problem.rows.measure(search.problem.trial_rows(trial(arm, segment, rng)))
            )
    told, settings = search.evidence, Settings(0.1, 30, 0.0, 0.0)
    price = np.ones(len(told.counts))
    purse = Purse(1e9, 0.0, told.counts, price, price, learnt=False)
    wanted = decide(told, settings, 100, arriving=False)
    found = decide_paid(told, settings, purse, 100.0)
    assert found.quota == wanted.quota
    assert found.scores == wanted.scores
    assert {a: sum(why.values()) for a, why in found.reasons.items()} == {
        a: sum(why.values()) for a, why in wanted.reasons.items()
    }
    assert decide_paid(told, settings, purse, 0.0).over
