"""Calls that share a transaction: who writes for whom, and that nobody pays for another's mistake."""

import asyncio
import os
import threading
import time

import pytest
from tests.experiments.kits import crowd

from bestmix import Problem, Uniform
from bestmix.experiments import Closed, Conflict, StorageError, UnknownTrial
from bestmix.experiments.audit import audit
from bestmix.experiments.sql.group_commit import (
    LONGEST_WAIT,
    MOST_TRIALS,
    GroupCommit,
    LastWrite,
    NotUndoneError,
    PendingCalls,
    Refusal,
)
from bestmix.experiments.store import Prefetch

NO_PREFETCH = Prefetch()


class Slow:
    """Writes calls as a database would; the first transaction lasts until all others are in pending."""

    def __init__(self, others, interrupted=()):
        self.sizes = []
        self.others = others
        self.interrupted = interrupted
        self.group_commit = GroupCommit(self.write)

    def write(self, key, calls):
        self.sizes.append(len(calls))
        if len(self.sizes) == 1:
            while len(self.group_commit._pending[key].waiting) < self.others:
                time.sleep(0.001)
        if len(self.sizes) in self.interrupted:
            raise KeyboardInterrupt
        return [call.work(None) for call in calls]

    def run(self, works, prefetch=NO_PREFETCH):
        """The results and errors of all works, each called by a thread of its own, the first one first."""
        found = [None] * len(works)

        def one(k):
            try:
                found[k] = self.group_commit.run("key", works[k], prefetch)
            except BaseException as error:
                found[k] = error

        crew = [threading.Thread(target=one, args=(k,)) for k in range(len(works))]
        crew[0].start()
        while not self.sizes:
            time.sleep(0.001)
        for thread in crew[1:]:
            thread.start()
        for thread in crew:
            thread.join(30)
        return found


def refuse(transaction):
    raise ValueError("no")


def test_those_who_wait_are_written_together():
    slow = Slow(others=7)
    works = [lambda transaction, k=k: k for k in range(8)]
    assert slow.run(works) == list(range(8))
    assert slow.sizes == [1, 7]
    assert not slow.group_commit._pending  # nothing is kept of those who are gone


def test_a_refusal_is_for_the_one_whose_it_is():
    slow = Slow(others=4)
    found = slow.run(
        [lambda transaction: 0, lambda transaction: 1, refuse, lambda transaction: 3, lambda transaction: 4]
    )
    assert [f for f in found if not isinstance(f, ValueError)] == [0, 1, 3, 4]
    assert isinstance(found[2], ValueError)
    assert slow.sizes == [1, 4, 1, 1, 1, 1]


def test_an_interrupt_ends_one_call_and_the_others_are_done():
    slow = Slow(others=3, interrupted=[2])
    found = slow.run([lambda transaction, k=k: k for k in range(4)])
    assert sum(isinstance(f, KeyboardInterrupt) for f in found) == 1
    assert len([f for f in found if f in range(4)]) == 3


def test_a_database_out_of_reach_is_everybodys_trouble_once():
    def lost(transaction):
        raise StorageError("out of reach")

    slow = Slow(others=5)
    found = slow.run([lambda transaction: 0, *[lost] * 5])
    assert [type(f) for f in found] == [int, *[StorageError] * 5]
    assert slow.sizes == [1, 5]


def test_an_interrupt_of_a_retry_is_that_of_the_thread_that_writes():
    slow = Slow(others=3, interrupted=[4])  # 1: alone, 2: the group, 3: its leader alone, 4: the next one
    found = slow.run([lambda transaction: 0, refuse, lambda transaction: 2, lambda transaction: 3])
    assert [found[0], *found[2:]] == [0, 2, 3]
    assert isinstance(found[1], KeyboardInterrupt)


def test_one_who_leaves_the_line_holds_nobody_up(monkeypatch):
    slow, left = Slow(others=3), []
    plain = threading.Event.wait

    def impatient(event, timeout=None):
        if threading.current_thread().name == "impatient":
            left.append(1)
            while len(slow.group_commit._pending["key"].waiting) < 3:
                time.sleep(0.001)
            raise KeyboardInterrupt
        return plain(event, timeout)

    monkeypatch.setattr(threading.Event, "wait", impatient)
    found, crew = {}, []

    def one(k):
        try:
            found[k] = slow.group_commit.run("key", lambda transaction: k, NO_PREFETCH)
        except KeyboardInterrupt as error:
            found[k] = error

    for k in range(4):
        crew.append(threading.Thread(target=one, args=(k,), name="impatient" if k == 1 else str(k)))
        crew[-1].start()
        while k == 0 and not slow.sizes:
            time.sleep(0.001)
    slow.others = 2  # one has left
    for thread in crew:
        thread.join(10)
    assert left
    assert isinstance(found.pop(1), KeyboardInterrupt)
    assert found == {0: 0, 2: 2, 3: 3}
    assert slow.group_commit.run("key", lambda transaction: 9, NO_PREFETCH) == 9


def test_nothing_is_kept_of_experiments_that_were_written_long_ago():
    group_commit = GroupCommit(lambda key, calls: [call.work(None) for call in calls])
    for k in range(20):
        group_commit.run(str(k), lambda transaction: None, NO_PREFETCH)
    time.sleep(LONGEST_WAIT)
    group_commit.run("key", lambda transaction: None, NO_PREFETCH)
    assert list(group_commit._last) == ["key"]


def test_a_forked_child_does_not_wait_for_its_parents_threads():
    group_commit = GroupCommit(lambda key, calls: [call.work(None) for call in calls])
    group_commit._pending["key"] = PendingCalls()  # somebody writes
    group_commit._last["other"] = LastWrite(8, time.monotonic() + 1000.0)
    child = os.fork()
    if child == 0:
        result = group_commit.run("key", lambda transaction: 7, NO_PREFETCH)
        os._exit(result if list(group_commit._last) == ["key"] else 1)
    for _ in range(1000):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        time.sleep(0.01)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 7


def test_a_transaction_is_about_so_many_trials_at_most():
    slow = Slow(others=4)
    assert slow.run([lambda transaction, k=k: k for k in range(5)], Prefetch(range(MOST_TRIALS // 2))) == list(range(5))
    assert slow.sizes == [1, 2, 2]


def test_a_refused_call_that_was_undone_costs_the_others_nothing():
    class Undoing(Slow):
        def write(self, key, calls):
            results = super().write(key, [call for call in calls if call.work is not refuse])
            self.sizes[-1] = len(calls)
            return [Refusal(ValueError("no")) if call.work is refuse else results.pop(0) for call in calls]

    slow = Undoing(others=4)
    found = slow.run([lambda transaction, k=k: k for k in range(3)] + [refuse, refuse])
    assert found[:3] == [0, 1, 2]
    assert [type(f) for f in found[3:]] == [ValueError, ValueError]
    assert slow.sizes == [1, 4]


def test_a_refused_call_that_cannot_be_undone_is_repeated_after_the_others():
    class Stubborn(Slow):
        def write(self, key, calls):
            guilty = [call for call in calls if call.work is refuse]
            if guilty and len(calls) > 1:
                self.sizes.append(len(calls))
                raise NotUndoneError(guilty[0])
            return super().write(key, calls)

    slow = Stubborn(others=4)
    found = slow.run([lambda transaction, k=k: k for k in range(4)] + [refuse])
    assert found[:4] == [0, 1, 2, 3]
    assert isinstance(found[4], ValueError)
    assert slow.sizes == [1, 4, 3, 1]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_refused_calls_leave_no_trace_and_the_others_share_one_transaction(opener, clock, name, kind):
    storage = opener(kind, clock)
    exp = storage.create(name, Problem(["a", "b"], {"c": 1.0}), 100, Uniform())
    first, *trials = exp.ask(8)
    exp.tell(first, 1.0, [0.5])
    transactions, plain = [], storage.store.database.write
    storage.store.database.write = lambda work: transactions.append(1) or plain(work)

    def attempt(call, *given):
        try:
            return call(*given)
        except (Conflict, Closed, UnknownTrial, ValueError) as error:
            return type(error).__name__

    calls = [
        lambda: attempt(exp.tell, trials[0], 0.5, [0.5]),
        lambda: attempt(exp.tell, first, 2.0, [0.5]),
        lambda: attempt(exp.tell_many, [(trials[1], 7.0, [0.5]), (first, 2.0, [0.5])]),
        lambda: attempt(exp.renew, first),  # reads, so that what was told before it is written
        lambda: attempt(exp.tell, trials[2], 0.25, [0.5]),
        lambda: attempt(exp.tell, f"{exp.record.key}-99", 0.25, [0.5]),
        lambda: attempt(exp.resume),
        lambda: attempt(exp.tell, trials[3], 0.125, [0.5]),
    ]
    found = crowd(exp, calls)
    assert found == ["counted", "Conflict", "Conflict", "Closed", "counted", "UnknownTrial", None, "counted"]
    assert len(transactions) == 1
    assert exp.state.complete == 4
    assert exp.trial(trials[1]).state == "leased"
    assert [e.kind for e in exp.events()] == ["created", "asked", "told", "told", "told", "told"]
    assert audit(exp) == []


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_name_that_is_taken_is_refused_and_the_others_are_written(opener, clock, name, kind):
    storage = opener(kind, clock)
    storage.create(f"{name} taken", Problem(["a", "b"]), 4, Uniform())
    exp = storage.create(name, Problem(["a", "b"]), 4, Uniform())
    trials = exp.ask(2)

    def rename():
        with pytest.raises(ValueError, match="already"):
            exp.rename(f"{name} taken")

    crowd(exp, [lambda: exp.tell(trials[0], 1.0), rename, lambda: exp.tell(trials[1], 1.0)])
    assert (exp.state.name, exp.state.complete) == (name, 2)
    assert audit(exp) == []


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_threads_of_one_process_share_transactions(opener, clock, name, kind):
    storage = opener(kind, clock)
    experiment = storage.create(name, Problem(["a", "b"], {"c": 1.0}), 1000, Uniform())
    transactions = []
    plain = storage.store.database.write

    def counted(work):
        transactions.append(1)
        return plain(work)

    storage.store.database.write = counted
    wrong = experiment.ask(1)[0]
    experiment.tell(wrong, 1.0, {"c": 0.5})
    del transactions[:]
    conflicts, outcomes = [], []

    def work(careless):
        for _ in range(10):
            for trial in experiment.ask(4):
                outcomes.append(experiment.tell(trial, 0.25 * trial.token, {"c": 0.5}))
            if careless:
                with pytest.raises(Conflict):
                    experiment.tell(wrong, 2.0, {"c": 0.5})
                conflicts.append(1)

    crew = [threading.Thread(target=work, args=(k == 0,)) for k in range(8)]
    for thread in crew:
        thread.start()
    for thread in crew:
        thread.join(120)
    assert outcomes == ["counted"] * 320
    assert len(conflicts) == 10
    assert len(transactions) < 0.8 * (8 * 10 * 5 + 10)  # of as many calls
    assert experiment.state.complete == 321
    numbers = [t.token for t in experiment.trials()]
    assert numbers == list(range(1, 322))


def test_calls_of_an_event_loop_are_written_together_and_wake_it_once():
    sizes = []

    def write(key, calls):
        sizes.append(len(calls))
        return [call.work(None) for call in calls]

    async def main():
        futures = [group_commit.submit("key", lambda transaction, k=k: k, NO_PREFETCH) for k in range(8)]
        assert await asyncio.gather(*futures) == list(range(8))
        assert not group_commit._pending

    group_commit = GroupCommit(write)
    asyncio.run(main())
    group_commit.close()
    assert sizes == [8]


def test_calls_of_an_event_loop_have_errors_of_their_own():
    async def main():
        works = [lambda transaction: 0, refuse, lambda transaction: 2]
        found = await asyncio.gather(
            *(group_commit.submit("key", work, NO_PREFETCH) for work in works), return_exceptions=True
        )
        assert (found[0], type(found[1]), found[2]) == (0, ValueError, 2)

    group_commit = GroupCommit(lambda key, calls: [call.work(None) for call in calls])
    asyncio.run(main())
    group_commit.close()


def test_threads_and_event_loops_share_transactions():
    group_commit = GroupCommit(lambda key, calls: [call.work(None) for call in calls])
    found, threads = [], []

    async def main():
        for k in range(200):
            one = threading.Thread(
                target=lambda k=k: found.append(group_commit.run("key", lambda transaction: k, NO_PREFETCH))
            )
            one.start()
            threads.append(one)
            found.append(await group_commit.submit("key", lambda transaction, k=k: -k, NO_PREFETCH))

    asyncio.run(main())
    for one in threads:
        one.join(30)
    group_commit.close()
    assert sorted(found) == sorted([*range(200), *(-k for k in range(200))])
    assert not group_commit._pending


def test_a_caller_who_has_gone_leaves_the_others_in_order():
    async def main():
        gone, stays = (group_commit.submit("key", lambda transaction, k=k: k, NO_PREFETCH) for k in range(2))
        gone.cancel()
        assert await stays == 1

    group_commit = GroupCommit(lambda key, calls: [call.work(None) for call in calls])
    asyncio.run(main())
    group_commit.close()


def test_clients_that_call_again_at_once_share_one_transaction():
    sizes = []

    def write(key, calls):
        sizes.append(len(calls))
        time.sleep(LONGEST_WAIT)
        return [call.work(None) for call in calls]

    async def client(first):
        await asyncio.sleep(first)
        for _ in range(15):
            await group_commit.submit("key", lambda transaction: None, NO_PREFETCH)
            await asyncio.sleep(0.0002)  # on its way to the client and back

    async def main():
        await asyncio.gather(*(client(0.001 * k) for k in range(8)))

    group_commit = GroupCommit(write)
    asyncio.run(main())
    group_commit.close()
    assert sum(sizes) == 8 * 15
    assert len(sizes) < 24  # 15 where all share each; one call alone and seven together, in turn, would be 30


@pytest.mark.parametrize(
    ("last", "left", "come", "waits"),
    [
        (8, 0.2, 0, (0.05, 4.0)),  # nobody comes back: not for long
        (8, 5.0, 7, (0.0, 4.0)),  # until all are there
        (1, 5.0, 0, (0.0, 4.0)),  # a single client waits for nobody
        (8, -5.0, 0, (0.0, 2.0)),  # they were answered long ago
    ],
)
def test_those_who_were_answered_a_moment_ago_are_waited_for(last, left, come, waits):
    sizes = []
    group_commit = GroupCommit(lambda key, calls: sizes.append(len(calls)) or [None] * len(calls))
    group_commit._last["key"] = LastWrite(last, time.monotonic() + left)

    def submit():
        return group_commit.submit("key", lambda transaction: None, NO_PREFETCH)

    async def main():
        began, first = time.monotonic(), submit()
        asyncio.get_running_loop().call_later(0.02, lambda: [submit() for _ in range(come)])
        await first
        return time.monotonic() - began

    assert waits[0] <= asyncio.run(main()) <= waits[1]
    group_commit.close()
    assert sizes == [1 + come]


def test_a_thread_may_be_the_last_of_those_who_are_waited_for():
    sizes = []
    group_commit = GroupCommit(lambda key, calls: sizes.append(len(calls)) or [7] * len(calls))
    group_commit._last["key"] = LastWrite(2, time.monotonic() + 60.0)

    async def main():
        first = group_commit.submit("key", lambda transaction: None, NO_PREFETCH)
        await asyncio.sleep(0.05)
        assert await asyncio.to_thread(group_commit.run, "key", lambda transaction: None, NO_PREFETCH) == 7
        assert await first == 7

    asyncio.run(asyncio.wait_for(main(), 10))
    group_commit.close()
    assert sizes == [2]


def test_a_thread_does_not_wait_for_an_event_loop_that_was_closed(monkeypatch):
    monkeypatch.setattr("bestmix.experiments.sql.group_commit.STUCK", 0.05)
    group_commit = GroupCommit(lambda key, calls: [7] * len(calls))
    group_commit._last["key"] = LastWrite(8, time.monotonic() + 60.0)

    async def main():
        group_commit.submit("key", lambda transaction: None, NO_PREFETCH)
        await asyncio.sleep(0.05)

    asyncio.run(main())
    assert group_commit.run("key", lambda transaction: None, NO_PREFETCH) == 7
    group_commit.close()
    assert not group_commit._pending


def test_nobody_writes_while_another_does():
    at_once, writing = [], threading.Lock()

    def write(key, calls):
        at_once.append(not writing.acquire(blocking=False))
        time.sleep(0.0005)
        writing.release()
        return [call.work(None) for call in calls]

    def work(transaction):
        return 7

    def thread():
        for _ in range(100):
            assert group_commit.run("key", work, NO_PREFETCH) == 7

    async def client(pause):
        for _ in range(100):
            assert await group_commit.submit("key", work, NO_PREFETCH) == 7
            await asyncio.sleep(pause)

    async def main():
        await asyncio.gather(*(client(0.0002 * k) for k in range(8)), *(asyncio.to_thread(thread) for _ in range(2)))

    group_commit = GroupCommit(write)
    asyncio.run(main())
    group_commit.close()
    assert not any(at_once)
    assert not group_commit._pending


def test_a_call_that_is_next_while_it_stands_in_line_is_written_once(monkeypatch):
    starts, entered, written = [], threading.Event(), threading.Event()
    enter, write_some = GroupCommit._enter, GroupCommit._write_some

    def slow_enter(self, key, call):
        pending = enter(self, key, call)
        if not call.leads:  # the transaction of the one before ends before this one's caller goes on
            entered.set()
            written.wait(5)
        return pending

    def counted(self, key, pending):
        starts.append(len(pending.waiting))
        try:
            return write_some(self, key, pending)
        finally:
            written.set()

    def write(key, calls):
        entered.wait(5)
        return [call.work(None) for call in calls]

    async def main():
        first = group_commit.submit("key", lambda transaction: 1, NO_PREFETCH)
        await asyncio.sleep(0.05)
        assert await asyncio.gather(first, group_commit.submit("key", lambda transaction: 2, NO_PREFETCH)) == [1, 2]
        await asyncio.sleep(0.05)

    monkeypatch.setattr(GroupCommit, "_enter", slow_enter)
    monkeypatch.setattr(GroupCommit, "_write_some", counted)
    group_commit = GroupCommit(write)
    asyncio.run(asyncio.wait_for(main(), 10))
    group_commit.close()
    assert starts == [1, 1]
