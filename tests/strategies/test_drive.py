"""One loop for every kind of work: what is paid for is told, whatever happens."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestmix.strategies import drive as module
from bestmix.strategies.drive import Inline, drive


class Numbers:
    """Work of numbered trials, some of which may fail; remembers all that happens to them."""

    def __init__(self, count, tolerant=True):
        self.left, self.tolerant = list(range(count)), tolerant
        self.out, self.told, self.failed, self.back, self.kept = set(), {}, [], [], 0

    @property
    def over(self):
        return not self.left

    def next(self, most):
        given, self.left = self.left[:most], self.left[most:]
        self.out.update(given)
        return given

    def arguments(self, trial):
        return (str(trial),)

    def tell(self, results):
        for trial, result in results:
            assert trial in self.out
            self.told[trial] = result

    def fail(self, trial, error):
        self.failed.append(trial)
        if not self.tolerant:
            raise error

    def keep(self, trials):
        self.kept += 1

    def give_back(self, trials):
        self.back += trials


def double(arm):
    return 2 * int(arm)


@pytest.mark.parametrize("jobs", [1, 3])
def test_all_trials_are_made_and_told_once(jobs):
    work, calls = Numbers(20), []
    with ThreadPoolExecutor(jobs) as pool:
        drive(work, double, pool, jobs, after=[lambda: calls.append(len(work.told))])
    assert work.told == {n: 2 * n for n in range(20)}
    assert (work.failed, work.back) == ([], [])
    assert calls[-1] == 20
    assert calls == sorted(calls)


def test_inline_trials_run_in_the_calling_thread():
    work, threads = Numbers(3), set()

    def pull(arm):
        threads.add(threading.current_thread())
        return double(arm)

    drive(work, pull, Inline(), 1)
    assert threads == {threading.current_thread()}
    assert len(work.told) == 3


def test_no_more_than_the_jobs_are_under_way():
    work, lock, at_once, most = Numbers(30), threading.Lock(), [0], []

    def pull(arm):
        with lock:
            at_once[0] += 1
            most.append(at_once[0])
        time.sleep(0.002)
        with lock:
            at_once[0] -= 1
        return 0

    with ThreadPoolExecutor(8) as pool:
        drive(work, pull, pool, 3)
    assert max(most) <= 3


@given(st.sets(st.integers(0, 19)), st.booleans(), st.integers(1, 4))
def test_a_failure_loses_nothing_that_was_paid_for(bad, tolerant, jobs):
    work, made = Numbers(20, tolerant), set()

    def pull(arm):
        if int(arm) in bad:
            raise ConnectionError(arm)
        made.add(int(arm))
        return double(arm)

    with ThreadPoolExecutor(jobs) as pool:
        if bad and not tolerant:
            with pytest.raises(ConnectionError):
                drive(work, pull, pool, jobs)
        else:
            drive(work, pull, pool, jobs)
            assert set(work.failed) == bad
    assert set(work.told) == made
    assert set(work.told) | set(work.failed) | set(work.back) == work.out


def test_a_request_to_stop_ends_what_runs_and_gives_the_rest_back():
    work, halted = Numbers(50), threading.Event()

    def pull(arm):
        if int(arm) < 4:
            return double(arm)
        assert halted.wait(20)
        if arm == "4":
            return double(arm)  # done after all
        raise RuntimeError("ended")

    with ThreadPoolExecutor(4) as pool:
        drive(work, pull, pool, 4, stopped=lambda: len(work.told) >= 4, halt=halted.set)
    assert set(work.told) == {0, 1, 2, 3} | ({4} & work.out)
    assert set(work.back) == work.out - set(work.told)
    assert work.failed == []


def test_an_interrupt_tells_what_is_under_way():
    work, begun = Numbers(10), threading.Barrier(3)

    def pull(arm):
        begun.wait(20)
        time.sleep(0.01 * int(arm))
        return double(arm)

    def interrupt():
        raise KeyboardInterrupt

    with ThreadPoolExecutor(3) as pool, pytest.raises(KeyboardInterrupt):
        drive(work, pull, pool, 3, after=[interrupt])
    assert set(work.told) == work.out == {0, 1, 2}


def test_the_first_error_is_the_one_that_is_raised():
    work = Numbers(3, tolerant=False)
    work.give_back = lambda trials: 1 / 0

    def pull(arm):
        raise ConnectionError(arm)

    with ThreadPoolExecutor(3) as pool, pytest.raises(ConnectionError) as caught:
        drive(work, pull, pool, 3)
    assert all("ZeroDivisionError" in note for note in getattr(caught.value, "__notes__", []))


def test_work_that_has_nothing_at_the_moment_is_asked_again(monkeypatch):
    monkeypatch.setattr(module, "POLL", 0.001)
    work, asked = Numbers(2), []
    give = work.next

    def next_when_ready(most):
        asked.append(most)
        return give(most) if len(asked) > 5 else []

    work.next = next_when_ready
    drive(work, double, Inline(), 1)
    assert len(work.told) == 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_what_an_executor_does_not_take_is_given_back(error):
    class Full(ThreadPoolExecutor):
        def submit(self, function, arm):
            if arm == "2":
                raise error
            return super().submit(function, arm)

    work = Numbers(10)
    with Full(4) as pool, pytest.raises(error):
        drive(work, double, pool, 4)
    assert set(work.back) >= {2, 3}
    assert set(work.told) | set(work.back) == {0, 1, 2, 3}
    assert set(work.told).isdisjoint(work.back)


def test_a_trial_is_made_again_as_often_as_wanted():
    from bestmix.strategies.drive import Retrying

    calls = []

    def pull(arm, segment):
        calls.append((arm, segment))
        raise OSError(len(calls))

    with pytest.raises(OSError, match="3"):
        Retrying(pull, retries=2, pause=0.0)("a", "free")
    assert calls == [("a", "free")] * 3
