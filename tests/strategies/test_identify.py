import re
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from threading import Barrier, Lock

import numpy as np
import pytest

from bestmix import (
    SFSR,
    Challenger,
    Instance,
    Problem,
    Recommendation,
    Search,
    SingleArm,
    Spend,
    Uniform,
    from_log,
    identify,
)

PROBLEM = Problem(["a", "b", "c"], {"x": 1.0})
MEANS = {"a": (1.7, 0.0), "b": (2.6, 1.8), "c": (0.5, 0.8)}


def steady(arm):
    """Always the same trial of an arm; at the top of the module, so that processes can have it."""
    return MEANS[arm][0], {"x": MEANS[arm][1]}


class Stream:
    """The n-th trial of an arm is always the same; fails at some calls, after which it is lost."""

    def __init__(self, failures=(), past=()):
        self.calls, self.failures, self.told = 0, set(failures), dict.fromkeys("abc", 0)
        self.told.update(past)

    def __call__(self, arm):
        self.calls += 1
        if self.calls in self.failures:
            raise ConnectionError("worker lost")
        rng = np.random.default_rng([ord(arm), self.told[arm]])
        self.told[arm] += 1
        reward, cost = MEANS[arm]
        return reward + rng.normal(), [cost + rng.normal()]


@pytest.mark.parametrize("strategy", [None, SFSR(), SFSR("lagrangian"), Uniform(), SingleArm()])
def test_the_answer_is_that_of_ask_and_tell(strategy):
    answer = identify(PROBLEM, Stream(), 200, strategy)
    search, stream = (strategy or Challenger()).start(PROBLEM, 200), Stream()
    while owed := search.ask():
        for arm, n in owed.items():
            for _ in range(n):
                search.tell(arm, *stream(arm))
    assert answer.to_json() == search.recommend().to_json()
    assert answer.trials <= 200


@pytest.mark.parametrize("jobs", [2, 3])
def test_threads_change_nothing_and_work_at_once(jobs):
    together = Barrier(jobs)  # each trial waits until this many are under way

    def pull(arm):
        together.wait(timeout=20)
        return steady(arm)

    assert (
        identify(PROBLEM, pull, 60, Uniform(), n_jobs=jobs).to_json()
        == identify(PROBLEM, steady, 60, Uniform()).to_json()
    )


def test_executors_change_nothing():
    expected = identify(PROBLEM, steady, 100).to_json()
    with ThreadPoolExecutor(3) as pool:
        assert identify(PROBLEM, steady, 100, executor=pool).to_json() == expected
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as pool:
        assert identify(PROBLEM, steady, 100, executor=pool).to_json() == expected


@pytest.mark.parametrize("failure", [1, 2, 63, 64, 65, 100, 150])
def test_a_search_that_was_interrupted_goes_on_from_its_checkpoint(tmp_path, failure):
    path = tmp_path / "search.json"
    expected = identify(PROBLEM, Stream(), 200).to_json()
    stream = Stream(failures=[failure])
    with pytest.raises(ConnectionError):
        identify(PROBLEM, stream, 200, checkpoint=path)
    assert Search.load(path).trials == failure - 1
    assert identify(PROBLEM, stream, 200, checkpoint=path).to_json() == expected
    assert identify(PROBLEM, Stream(failures=[1]), 200, checkpoint=path).to_json() == expected  # nothing left to do


def test_a_search_interrupted_while_it_scores_goes_on_from_its_checkpoint(tmp_path):
    path, calls = tmp_path / "search.json", []

    def score(mu, u, e):
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return np.where(e > 0, mu, 1e9)

    strategy = SFSR(score)
    with pytest.raises(KeyboardInterrupt):
        identify(PROBLEM, steady, 100, strategy, checkpoint=path)
    answer = identify(PROBLEM, steady, 100, strategy, checkpoint=path)
    assert answer.complete
    assert answer.to_dict() == identify(PROBLEM, steady, 100, strategy).to_dict()


def test_threads_may_fail_and_go_on_too(tmp_path):
    path = tmp_path / "search.json"
    calls = []

    def flaky(arm):
        calls.append(arm)
        if len(calls) == 40:
            raise ConnectionError("worker lost")
        return steady(arm)

    with pytest.raises(ConnectionError):
        identify(PROBLEM, flaky, 100, n_jobs=4, checkpoint=path)
    assert (
        identify(PROBLEM, flaky, 100, n_jobs=4, checkpoint=path).to_json() == identify(PROBLEM, steady, 100).to_json()
    )


@pytest.mark.parametrize(
    ("problem", "budget", "strategy", "message"),
    [
        (PROBLEM, 40, None, r"checkpoint: .* another problem, or with a larger budget \(50\)"),
        (Problem(["a", "b", "c"], {"x": 2.0}), 50, None, "checkpoint: .* another problem"),
        (PROBLEM, 50, Uniform(), "strategy: the search was saved with .*Challenger"),
    ],
)
def test_a_checkpoint_of_other_work_is_refused(tmp_path, problem, budget, strategy, message):
    identify(PROBLEM, steady, 50, checkpoint=tmp_path / "search.json")
    with pytest.raises(ValueError, match=message):
        identify(problem, steady, budget, strategy, checkpoint=tmp_path / "search.json")


@pytest.mark.parametrize(("text", "spend"), [("5 d", "bm.Spend(5, 'd')"), ("100", "bm.Spend(200, 'dollars')")])
def test_a_text_as_budget_is_refused_with_the_way_to_give_money(text, spend):
    with pytest.raises(ValueError, match=rf"got '{text}'; give the number of trials .*{re.escape(spend)}"):
        identify(PROBLEM, steady, budget=text)


def test_a_checkpoint_goes_on_with_a_larger_budget(tmp_path):
    path = tmp_path / "search.json"
    identify(PROBLEM, steady, 50, checkpoint=path)
    calls = []
    found = identify(PROBLEM, lambda arm: (calls.append(arm), steady(arm))[1], 80, checkpoint=path)
    assert (found.trials, found.budget, len(calls)) == (80, 80, 30)


def test_costs_in_another_order_are_other_work(tmp_path):
    one = Problem(["a", "b"], {"x": 1.0, "y": 2.0})
    other = Problem(["a", "b"], {"y": 2.0, "x": 1.0})
    path = tmp_path / "search.json"
    identify(one, lambda arm: (1.0, [0.0, 1.5]), 20, checkpoint=path)
    with pytest.raises(ValueError, match=r"checkpoint: .* another problem"):
        identify(other, lambda arm: (1.0, [1.5, 0.0]), 20, checkpoint=path)


@pytest.mark.parametrize("name", ["search.txt", "search", "search.toml"])
def test_a_checkpoint_of_the_wrong_kind_is_refused_before_the_first_trial(tmp_path, name):
    calls = []
    with pytest.raises(ValueError, match=r"\.json"):
        identify(PROBLEM, lambda arm: calls.append(arm) or steady(arm), 50, Uniform(), checkpoint=tmp_path / name)
    assert calls == []


BAD_RESULTS = [
    (None, r"pull\('a'\): expected a reward and 1 costs.*got None"),
    (1.0, r"pull\('a'\): .*got 1.0"),
    ((1.0,), r"pull\('a'\): .*got \(1.0,\)"),
    ((1.0, 0.5, 0.5), r"pull\('a'\): .*got \(1.0, 0.5, 0.5\)"),
    ("ab", r"pull\('a'\): .*got 'ab'"),
    (("high", 0.5), r"pull\('a'\) returned .*reward: .*high"),
    ((float("nan"), 0.5), r"pull\('a'\) returned .*reward: .*nan"),
    (([1.0, 2.0], [0.5, 0.5]), r"pull\('a'\) returned .*reward: "),
    ((1.0, [0.5, 0.5]), r"pull\('a'\) returned .*costs: expected shape \(1, 1\)"),
    ((1.0, {"y": 0.5}), r"pull\('a'\) returned .*costs: .*'y'"),
    ((1.0, {"x": float("inf")}), r"pull\('a'\) returned .*costs.*inf"),
    ((1.0, None), r"pull\('a'\) returned .*costs: expected a value of"),
    ((1.0, {"x": "cheap"}), r"pull\('a'\) returned .*costs.*cheap"),
]


@pytest.mark.parametrize(("result", "message"), BAD_RESULTS, ids=lambda x: str(x)[:30])
def test_what_pull_should_have_returned_is_told(result, message):
    with pytest.raises(ValueError, match=message):
        identify(PROBLEM, lambda arm: result, 50)


def test_without_costs_the_reward_alone_will_do():
    rewards = {"a": 1.0, "b": 2.0}
    problem = Problem(["a", "b"])
    for pull in (rewards.get, lambda arm: (rewards[arm], None), lambda arm: (rewards[arm], {})):
        assert identify(problem, pull, 20).support == ("b",)


def test_progress_works_without_a_terminal(capsys):
    shown = identify(PROBLEM, steady, 100, progress=True)
    assert shown.to_json() == identify(PROBLEM, steady, 100).to_json()
    assert f"{shown.trials}/{shown.trials}" in capsys.readouterr().err


@pytest.mark.parametrize("jobs", [0, -1, 1.5, "2", None])
def test_a_number_of_jobs_is_whole(jobs):
    with pytest.raises(ValueError, match=r"n_jobs: expected a whole number of at least 1, got"):
        identify(PROBLEM, steady, 100, n_jobs=jobs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Instance([1.0, 2.0]), steady, 50), "problem: expected a Problem, got Instance"),
        ((PROBLEM, steady, 0), "budget: expected at least 3 trials for 3 unknown arms, got 0"),
        ((PROBLEM, steady, -5), "budget: .*-5"),
        ((PROBLEM, steady, 50.5), "budget: .*50.5"),
        ((PROBLEM, steady, float("nan")), "budget: .*nan"),
        ((PROBLEM, None, 50), "pull: .*None"),
        ((PROBLEM, steady, 50, "SFSR"), "strategy: .*'SFSR'"),
        ((PROBLEM, steady, 50, SFSR), "strategy: .*SFSR"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_bad_arguments_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        identify(*arguments)


@pytest.mark.parametrize("jobs", [1, 4])
def test_the_error_of_a_trial_carries_the_search(jobs):
    made, lock = [], Lock()

    def pull(arm):
        with lock:
            made.append(arm)
            lost = len(made) == 40
        if lost:
            raise ConnectionError("worker lost")
        return steady(arm)

    with pytest.raises(ConnectionError) as caught:
        identify(PROBLEM, pull, 100, n_jobs=jobs)
    search = caught.value.search
    assert search.trials == len(made) - 1  # all that was paid for
    assert search.recommend().trials == search.trials
    while owed := search.ask():
        for arm in owed:
            search.tell(arm, *steady(arm))
    assert search.recommend().to_json() == identify(PROBLEM, steady, 100).to_json()


def test_ctrl_c_keeps_what_other_threads_have_under_way():
    begun, submitted = Barrier(5), []

    def pull(arm):
        begun.wait(20)
        return steady(arm)

    class Interrupted(ThreadPoolExecutor):
        def submit(self, *arguments):
            if len(submitted) == 4:
                begun.wait(20)  # all four have begun
                raise KeyboardInterrupt
            submitted.append(arguments)
            return super().submit(*arguments)

    with Interrupted(4) as pool, pytest.raises(KeyboardInterrupt) as caught:
        identify(PROBLEM, pull, 100, Uniform(), executor=pool)
    assert caught.value.search.trials == 4


def test_a_trial_that_fails_now_and_then_is_made_again():
    made = []

    def pull(arm):
        made.append(arm)
        if len(made) % 3 == 0:
            raise OSError("busy")
        return 1.0

    problem = Problem(["a", "b"])
    assert identify(problem, pull, budget=20, retries=1, retry_pause=0.0).trials == 20
    with pytest.raises(OSError, match="busy") as failed:
        identify(problem, pull, budget=20)
    assert failed.value.search.trials < 20
    with pytest.raises(ValueError, match="retries"):
        identify(problem, pull, budget=20, retries=-1)


LOG = {"model": ["a", "a", "b", "b"], "score": [1.0, 1.2, 0.4, 0.6]}


def test_a_start_with_columns_of_other_names_and_less_weight():
    problem, named = Problem(["a", "b"]), {"arm": "model", "reward": "score"}
    rec = identify(problem, {"a": 1.0, "b": 0.5}.get, 4, Uniform(), start=LOG, **named)
    assert (rec.trials, rec.estimates["a"].trials) == (8, 4)
    assert identify(problem, {"a": 1.0, "b": 0.5}.get, 4, Uniform(), start=LOG, log_weight=0.5, **named).trials == 6
    with pytest.raises(ValueError, match="name it: arm="):
        identify(problem, {"a": 1.0, "b": 0.5}.get, 4, Uniform(), start=LOG)


@pytest.mark.parametrize("items", [None, 9])
def test_a_start_from_the_search_of_a_run_that_failed(items):
    problem, seen = Problem(["a", "b"]), []

    def pull(arm, *item):
        seen.append((arm, *item))
        if len(seen) == 6:
            raise OSError("down")
        return {"a": 1.0, "b": 0.5}[arm] + len(seen) / 8

    with pytest.raises(OSError, match="down") as failed:
        identify(problem, pull, 8, Uniform(), items=items)
    rec = identify(problem, pull, 3, Uniform(), start=failed.value.search, items=items)
    assert rec.trials == 8
    assert [rec.estimates[arm].trials for arm in "ab"] == [4, 4]
    if items:
        assert len(set(seen)) == len(seen) - 1  # the one that failed is made again
        assert rec.items == 4


@pytest.mark.parametrize("log_weight", [1.0, 0.5])
def test_a_start_from_a_recommendation_is_one_from_its_log(log_weight):
    rng, log = np.random.default_rng(0), {"arm": ["a", "b", "c"] * 20}
    log |= {"reward": rng.normal(size=60), "x": rng.normal(1.0, 0.2, size=60)}
    asked, answer = {"bounds": {"x": 1.0}}, from_log(log, bounds={"x": 2.0})

    def run(start):
        inst = Instance([0.0, 0.2, 0.4], [[0.8, 1.0, 1.2]], [1.0], arms=["a", "b", "c"], costs=["x"])
        return identify(Problem(["a", "b", "c"], **asked), inst.sampler(seed=1), 30, start=start, log_weight=log_weight)

    assert run(answer).to_dict() == run(log).to_dict()
    assert run(answer).log_results == 60
    assert identify(Problem(["a", "b", "c"], **asked), lambda arm: (1.0, [1.0]), 3, start=run(answer)).trials == (
        93 if log_weight == 1.0 else 63
    )


def test_a_start_that_a_run_cannot_go_on_from():
    problem, pull = Problem(["a", "b"]), {"a": 1.0, "b": 0.5, "c": 0.2}.get
    search = Uniform().start(Problem(["a", "c"]), 4)
    search.tell("c", 1.0)
    with pytest.raises(ValueError, match="trials of 'c', which this problem has not"):
        identify(problem, pull, 4, Uniform(), start=search)
    answer = identify(problem, pull, 4, Uniform())
    again = Recommendation.from_dict(answer.to_dict())
    assert (
        identify(problem, pull, 4, Uniform(), start=again).trials
        == identify(problem, pull, 4, Uniform(), start=answer).trials
    )
    with pytest.raises(ValueError, match="a recommendation from a file without sums of trials has estimates alone"):
        identify(problem, pull, 4, start=replace(again, told=None))
    with pytest.raises(ValueError, match="does not say whether ranges hold; give the log"):
        identify(problem, pull, 4, Challenger(ranges={"reward": (0, 2)}), start=answer)
    with pytest.raises(ValueError, match="single results, a recommendation has their sums"):
        identify(problem, pull, 4, SFSR(), start=answer)
    with pytest.raises(ValueError, match="fills the places of its schedule with single results"):
        identify(problem, pull, 4, SFSR(), start=Uniform().start(problem, 4))


def test_a_checkpoint_does_not_go_on_with_another_start(tmp_path):
    problem, path = Problem(["a", "b"]), tmp_path / "run.json"
    asked = {"strategy": Uniform(), "checkpoint": path, "arm": "model", "reward": "score"}
    pull = {"a": 1.0, "b": 0.5}.get
    assert identify(problem, pull, 4, start=LOG, **asked).trials == 8
    assert identify(problem, pull, 6, start=LOG, **asked).trials == 10
    with pytest.raises(ValueError, match="another start, it started from another log; give the same"):
        identify(problem, pull, 8, start=LOG | {"score": [1.0, 1.2, 0.4, 0.7]}, **asked)
    with pytest.raises(ValueError, match=r"counts 1, not 0\.5"):
        identify(problem, pull, 8, start=LOG, log_weight=0.5, **asked)


@pytest.mark.parametrize("budget", [9, Spend(9.0, "USD", prices={"a": 1.0, "b": 1.0})], ids=["trials", "money"])
def test_a_checkpoint_goes_on_with_a_start_only_if_it_began_with_one(tmp_path, budget):
    problem, pull = Problem(["a", "b"]), {"a": 1.0, "b": 0.5}.get
    started = {"start": LOG, "arm": "model", "reward": "score"}
    with_log, without = tmp_path / "log.json", tmp_path / "bare.json"
    identify(problem, pull, budget, Uniform(), checkpoint=with_log, **started)
    identify(problem, pull, budget, Uniform(), checkpoint=without)
    with pytest.raises(ValueError, match="search that began from earlier trials; give them as start, or remove"):
        identify(problem, pull, budget, Uniform(), checkpoint=with_log)
    with pytest.raises(ValueError, match="search that began without earlier trials; leave start out, or remove"):
        identify(problem, pull, budget, Uniform(), checkpoint=without, **started)


@pytest.mark.parametrize("strategy", [Uniform(), SFSR()])
def test_a_run_with_a_start_that_was_interrupted_goes_on_with_the_same_call(tmp_path, strategy):
    problem, results = Problem(["a", "b"]), {"a": 1.0, "b": 0.5}
    asked = {"strategy": strategy, "start": LOG, "arm": "model", "reward": "score"}
    calls = []

    def pull(arm):
        calls.append(arm)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return results[arm]

    with pytest.raises(KeyboardInterrupt):
        identify(problem, pull, 12, checkpoint=tmp_path / "run.json", **asked)
    found = identify(problem, pull, 12, checkpoint=tmp_path / "run.json", **asked)
    assert found.to_json() == identify(problem, results.get, 12, **asked).to_json()


def test_a_score_that_fails_is_not_laid_on_the_trial():
    with pytest.raises(ValueError, match=r"^score: expected .* to return 4 numbers, one for each column, got 'x'"):
        identify(PROBLEM, steady, 20, SFSR(score=lambda *program: "x"))
