"""What ``store.py`` promises of ask, renew, tell and tell_failed, on every store."""

import threading

import numpy as np
import pytest
from tests.answers.segmented import problem
from tests.answers.segmented import trial as metrics_of
from tests.experiments.kits import PROBLEM

from bestmix import SFSR, Challenger, Problem, Uniform
from bestmix.experiments import Closed, Conflict, UnknownTrial
from bestmix.experiments.audit import audit
from bestmix.experiments.clock import LeaseClock

COSTS = {"dollars": 0.5}


@pytest.fixture
def exp(storage, name):
    return storage.create(name, PROBLEM, 6, Uniform(), lease=10.0, failures=3)


def test_trials_are_handed_out_under_a_lease(exp, clock):
    trials = exp.ask(4, worker="w1")
    assert [t.arm for t in trials] == ["a", "b", "c", "a"]
    assert [t.token for t in trials] == [1, 2, 3, 4]
    assert {t.round for t in trials} == {1}
    assert {t.state for t in trials} == {"leased"}
    assert {t.deadline.timestamp() - clock.wall for t in trials} == {10.0}
    assert {t.worker for t in trials} == {"w1"}
    assert (exp.state.leased, exp.state.waiting, exp.state.complete) == (4, 2, 0)


def test_when_all_is_out_it_says_when_to_ask_again(exp, clock):
    exp.ask(4)
    clock.pass_time(3.0)
    exp.ask(9)
    none = exp.ask(1)
    assert none == []
    assert none.retry_after == pytest.approx(7.0)
    assert none.why == "all that round 1 owes is out on lease"
    clock.pass_time(none.retry_after)
    assert len(exp.ask(9)) == 4


def test_an_ask_with_the_same_key_gets_the_same_trials(exp):
    first = exp.ask(2, worker="w1", key="k")
    exp.ask(1, worker="w2")
    assert exp.ask(2, worker="w1", key="k") == first
    assert exp.state.leased == 3
    exp.tell(first[0], 1.0, COSTS)
    again = exp.ask(2, worker="w1", key="k")
    assert [t.id for t in again] == [t.id for t in first]
    assert [t.state for t in again] == ["complete", "leased"]


def test_a_key_that_got_nothing_may_get_something_later(exp, clock):
    exp.ask(6)
    assert exp.ask(2, key="k") == []
    clock.pass_time(11.0)
    assert len(exp.ask(2, key="k")) == 2


def test_the_same_values_are_a_no_op_and_others_a_conflict(exp):
    trial = exp.ask()[0]
    assert exp.tell(trial.id, 1.0, COSTS) == "counted"
    before = exp.state, exp.trials(), exp.events()
    assert exp.tell(trial, 1.0, [0.5]) == "repeated"
    with pytest.raises(Conflict, match=r"told \[1.0, 0.5\] before, got \[1.0, 0.6\]; the first result stands"):
        exp.tell(trial, 1.0, [0.6])
    assert (exp.state, exp.trials(), exp.events()) == before


def test_a_batch_is_written_whole_or_not_at_all(exp):
    trials = exp.ask(3)
    exp.tell(trials[0], 1.0, COSTS)
    before = exp.state, exp.trials()
    with pytest.raises(Conflict):
        exp.tell_many([(trials[1], 1.0, COSTS), (trials[0], 2.0, COSTS)])
    with pytest.raises(UnknownTrial):
        exp.tell_many([(trials[1], 1.0, COSTS), (trials[0].id + "0", 2.0, COSTS)])
    assert (exp.state, exp.trials()) == before
    outcomes = exp.tell_many([(t, 1.0, COSTS) for t in (*trials, trials[1])])
    assert outcomes == ["repeated", "counted", "counted", "repeated"]
    assert exp.tell_many([]) == []


def test_an_expired_slot_is_handed_out_again(exp, clock):
    lost = exp.ask(2, worker="w1")
    clock.pass_time(10.0)
    again = exp.ask(2, worker="w2")
    assert [t.slot for t in again] == [t.slot for t in lost]
    assert [t.arm for t in again] == [t.arm for t in lost]
    assert [t.token for t in again] == [3, 4]
    assert [t.state for t in exp.trials()] == ["expired", "expired", "leased", "leased"]
    assert exp.state.expired == 2


def test_a_late_result_fills_a_slot_that_nobody_took(exp, clock):
    late = exp.ask()[0]
    clock.pass_time(11.0)
    exp.ask(5)  # takes all but one: the slot that came back first, then fresh ones
    other = exp.ask(5)[0]
    assert exp.tell(late, 1.0, COSTS) == "counted"  # its slot was taken by trial 2, which is not done yet
    assert exp.trial(late).state == "complete"
    assert exp.trials()[1].state == "withdrawn"
    assert exp.trial(other).state == "leased"
    assert audit(exp) == []


def test_a_late_result_before_anybody_asked_is_counted(exp, clock):
    late = exp.ask()[0]
    clock.pass_time(11.0)
    assert exp.tell(late, 1.0, COSTS) == "counted"
    assert len(exp.ask(9)) == 5


@pytest.fixture
def scheduled(storage, name):
    """One whose strategy has a number of places for each arm."""
    return storage.create(name, PROBLEM, 30, SFSR("lagrangian"), lease=10.0)


def test_a_late_result_that_no_slot_waits_for_counts(exp, clock):
    late = exp.ask(worker="w1")[0]
    clock.pass_time(11.0)
    taken = exp.ask(worker="w2")[0]
    assert exp.tell(taken, 2.0, COSTS) == "counted"
    assert exp.tell(late, 1.0, COSTS) == "counted"
    assert exp.tell(late, 1.0, COSTS) == "repeated"
    with pytest.raises(Conflict):
        exp.tell(late, 3.0, COSTS)
    assert (exp.recommend().estimates["a"].trials, exp.recommend().estimates["a"].reward) == (2, 1.5)
    assert (exp.state.complete, exp.state.extra, exp.state.surplus, exp.state.waiting) == (1, 1, 0, 5)
    assert exp.trial(late).state == "extra"
    with pytest.raises(Closed, match="told already"):
        exp.renew(late)
    assert audit(exp) == []


def test_a_result_after_the_end_counts(exp, clock):
    late = exp.ask(worker="w1")[0]
    clock.pass_time(11.0)
    finish(exp)
    assert exp.state.status == "done"
    assert exp.tell(late, 1.0, COSTS) == "counted"
    assert (exp.state.status, exp.state.complete, exp.state.extra) == ("done", 6, 1)
    assert exp.recommend().trials == 7
    assert audit(exp) == []


def test_extra_results_are_part_of_the_decisions_after_them(storage, name, clock):
    exp = storage.create(name, PROBLEM, 60, Challenger(rounds=4), lease=10.0)
    late, n = [], 0
    while trials := exp.ask(4):
        n += 1
        if n % 3 == 0:
            late += trials
            clock.pass_time(11.0)
            continue
        exp.tell_many([(t, float(t.token % 7), [0.1 * (t.token % 11)]) for t in trials])
        if late and n % 2:
            exp.tell(late.pop(), 2.0, [0.3])
    assert exp.state.extra >= 3
    assert exp.recommend().trials == exp.state.complete + exp.state.extra
    assert exp.state.complete + exp.state.extra <= 60 + exp.state.extra
    assert audit(exp) == []


def test_a_late_result_is_left_out_where_there_is_a_schedule(scheduled, clock):
    exp = scheduled
    late = exp.ask(worker="w1")[0]
    clock.pass_time(11.0)
    taken = exp.ask(worker="w2")[0]
    assert exp.tell(taken, 2.0, COSTS) == "counted"
    estimates = repr(exp.recommend().estimates)
    assert exp.tell(late, 1.0, COSTS) == "surplus"
    assert exp.tell(late, 1.0, COSTS) == "repeated"
    with pytest.raises(Conflict):
        exp.tell(late, 3.0, COSTS)
    now = exp.recommend()
    assert repr(now.estimates) == estimates
    assert now.note.startswith("1 result is left out of the estimates: SFSR-L has")
    assert (exp.state.complete, exp.state.surplus) == (1, 1)
    assert exp.trial(late).reward == 1.0
    assert exp.recommend(everything=True).estimates["a"].reward == 1.5
    assert audit(exp) == []


def test_the_one_who_lost_the_slot_to_a_late_result_is_left_out(scheduled, clock):
    exp = scheduled
    late = exp.ask(worker="w1")[0]
    clock.pass_time(11.0)
    taken = exp.ask(worker="w2")[0]
    assert exp.tell(late, 1.0, COSTS) == "counted"
    with pytest.raises(Closed, match="its slot was taken since"):
        exp.renew(taken)
    assert exp.tell(taken, 2.0, COSTS) == "surplus"
    assert audit(exp) == []


@pytest.mark.parametrize(("strategy", "second"), [(SFSR(), "surplus"), (Uniform(), "counted")])
def test_two_results_of_one_slot_in_one_batch(storage, name, clock, strategy, second):
    exp = storage.create(name, PROBLEM, 30, strategy, lease=10.0)
    late = exp.ask(worker="w1")[0]
    clock.pass_time(11.0)
    taken = exp.ask(worker="w2")[0]
    assert exp.tell_many([(late, 1.0, COSTS), (taken, 2.0, COSTS)]) == ["counted", second]
    assert audit(exp) == []


def test_renewing_keeps_a_lease(exp, clock):
    trial = exp.ask()[0]
    for _ in range(5):
        clock.pass_time(9.0)
        assert exp.renew(trial)[0].deadline.timestamp() == clock.wall + 10.0
    assert exp.ask(9)[0].slot != trial.slot
    assert exp.state.expired == 0


def test_renewing_revives_a_lease_whose_slot_nobody_took(exp, clock):
    first, second = exp.ask(2)
    clock.pass_time(11.0)
    exp.ask(1)  # takes the first slot again
    assert [exp.trial(t).state for t in (first, second)] == ["expired", "expired"]
    assert exp.renew(second.id)[0].state == "leased"
    with pytest.raises(Closed, match="its slot was taken since"):
        exp.renew(first)
    assert (exp.state.leased, exp.state.waiting) == (2, 4)
    assert audit(exp) == []


def test_a_trial_that_is_gone_cannot_be_renewed(exp, clock):
    first, second = exp.ask(2)
    exp.tell(first, 1.0, COSTS)
    with pytest.raises(Closed, match="told already"):
        exp.renew(second, first)
    assert exp.trial(second) == second
    exp.stop()
    with pytest.raises(Closed, match="was stopped"):
        exp.renew(second)


def test_a_failed_trial_puts_its_slot_back(exp):
    trial = exp.ask(worker="w1")[0]
    exp.tell_failed(trial, "no network")
    exp.tell_failed(trial, "no network")
    assert (exp.state.failed, exp.state.leased) == (1, 0)
    assert exp.trial(trial).note == "no network"
    assert exp.ask(worker="w2")[0].slot == trial.slot
    exp.tell(trial, 1.0, COSTS)
    with pytest.raises(Conflict, match="the result stands"):
        exp.tell_failed(trial)


def test_too_many_failures_end_in_a_state_and_resume_goes_on(exp):
    for _ in range(3):
        exp.tell_failed(exp.ask()[0], "no network")
    assert exp.state.status == "failed"
    assert exp.state.reason == "3 trials failed, the last one because: no network"
    none = exp.ask()
    assert none == []
    assert none.retry_after is None
    assert none.why == f"the experiment is failed: {exp.state.reason}"
    exp.resume()
    finish(exp)
    assert exp.state.status == "done"
    assert audit(exp) == []


def finish(exp, n=3):
    while trials := exp.ask(n):
        exp.tell_many([(t, float(t.token % 7), [0.1 * t.token]) for t in trials])


@pytest.mark.parametrize("strategy", [SFSR(), SFSR("lagrangian"), Uniform()], ids=lambda s: s.name)
def test_the_strategy_advances_as_in_a_search_of_this_process(storage, name, strategy):
    exp = storage.create(name, PROBLEM, 50, strategy)
    finish(exp, n=4)
    search = strategy.start(PROBLEM, 50)
    for trial in exp.trials("complete"):
        search.tell(trial.arm, trial.reward, trial.costs)
    assert exp.done
    assert exp.recommend().to_json() == search.recommend().to_json()
    assert exp.history == tuple(search.history)
    assert audit(exp) == []


def test_stopping_and_reopening_after_every_call_changes_nothing(opener, clock, storage, name, request):
    kind = request.node.callspec.params["storage"]
    plain = storage.create(f"{name} plain", PROBLEM, 40, SFSR("lagrangian"))
    finish(plain)
    storage.create(name, PROBLEM, 40, SFSR("lagrangian"))
    while True:
        trials = _reopen(opener, kind, clock, storage, name).ask(3)
        if not trials:
            break
        told = [(t, float(t.token % 7), [0.1 * t.token]) for t in trials]
        _reopen(opener, kind, clock, storage, name).tell_many([(t.id, reward, costs) for t, reward, costs in told])
    again = storage.open(name)
    assert [t.arm for t in again.trials()] == [t.arm for t in plain.trials()]
    assert again.recommend().to_json() == plain.recommend().to_json()


def _reopen(opener, kind, clock, storage, name):
    """As another process would; the store in memory has only this one."""
    if kind != "memory":
        storage.close()
        return opener(kind, clock).open(name)
    storage.lease_clock = LeaseClock(clock)
    return storage.open(name)


class Broken(Uniform):
    """A strategy that cannot close its round until it is corrected."""

    corrected = False

    def close(self, evidence, budget, memory):
        if not Broken.corrected:
            raise ZeroDivisionError("division by zero")
        return super().close(evidence, budget, memory)


def test_an_error_of_the_strategy_loses_no_result(storage, name):
    Broken.corrected = False
    exp = storage.create(name, PROBLEM, 3, Broken())
    trials = exp.ask(3)
    assert exp.tell_many([(t, 1.0, COSTS) for t in trials]) == ["counted"] * 3
    assert exp.state.status == "failed"
    assert exp.state.reason == "USLP: ZeroDivisionError: division by zero"
    assert exp.state.complete == 3
    exp.resume()
    assert exp.state.status == "failed"
    Broken.corrected = True
    exp.resume()
    assert exp.state.status == "done"


class Greedy(Uniform):
    """A strategy that wants more than the budget."""

    def quota(self, problem, budget, memory):
        return super().quota(problem, 2 * budget, memory)


def test_a_strategy_cannot_exceed_the_budget(storage, name):
    with pytest.raises(RuntimeError, match="wants 12 further trials after 0, beyond the budget of 6"):
        storage.create(name, PROBLEM, 6, Greedy())


def test_many_threads_share_the_budget(storage, name):
    exp = storage.create(name, PROBLEM, 60, Uniform())
    handed, errors = [], []

    def work(worker):
        try:
            while trials := exp.ask(3, worker=worker):
                handed.extend(t.token for t in trials)
                exp.tell_many([(t, 1.0, COSTS) for t in trials])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted(handed) == list(range(1, 61))
    assert exp.state.complete == 60
    assert audit(exp) == []


def test_no_costs_and_known_arms_only(storage, name):
    exp = storage.create(name, Problem(["a", "b"]), 2, Uniform())
    for trial in exp.ask(2):
        exp.tell(trial, 1.0 if trial.arm == "a" else 0.0)
    assert exp.recommend().support == ("a",)


# --- segments ------------------------------------------------------------------------------------------------


def user(rng):
    return "free" if rng.random() < 0.7 else "paid"


@pytest.mark.parametrize("segments", [{"free": 0.7, "paid": 0.3}, ["free", "paid"]])
def test_where_users_arrive_only_the_arm_is_chosen(storage, name, clock, segments):
    rng = np.random.default_rng(0)
    exp = storage.create(name, problem(segments=segments), 90, Challenger(), lease=10.0)
    out = []
    while not exp.done:
        segment = user(rng)
        found = exp.ask(segment=segment)
        assert [t.segment for t in found] == [segment] * len(found)
        out += found
        if out and (len(out) > 4 or not found):
            late = out.pop(int(rng.integers(len(out))))
            if rng.random() < 0.9:
                exp.tell(late, metrics_of(late.arm, late.segment, rng))
            else:
                clock.pass_time(11.0)
                out.clear()
    assert audit(exp) == []
    assert exp.state.complete == 90
    assert sum(sum(r.pulls.values()) for r in exp.history) == 90
    assert set(exp.recommend().by_segment) == {"free", "paid"}


def test_a_search_that_is_told_the_same_gets_to_the_same_point(storage, name):
    rng = np.random.default_rng(1)
    exp = storage.create(name, problem(segments=["free", "paid"]), 90, Challenger())
    search = Challenger().start(problem(segments=["free", "paid"]), 90)
    while not exp.done:
        (found,) = exp.ask(segment=user(rng))
        metrics = metrics_of(found.arm, found.segment, rng)
        exp.tell(found, metrics)
        search.tell(found.arm, metrics, segment=found.segment)
    assert [r.to_dict() for r in exp.history] == [r.to_dict() for r in search.history]


def test_trials_are_either_chosen_or_for_users_who_arrive(storage, name):
    exp = storage.create(name, problem(), 60, Challenger())
    chosen = exp.ask(12)
    assert {t.segment for t in chosen} == {"free", "paid"}
    with pytest.raises(Conflict, match="chosen in all segments together"):
        exp.ask(segment="free")
    with pytest.raises(ValueError, match="segment: expected one of"):
        exp.ask(segment="gold")
    learning = storage.create(f"{name} 2", problem(segments=["free", "paid"]), 60, Challenger())
    with pytest.raises(ValueError, match="learnt from who arrives"):
        learning.ask()
    with pytest.raises(ValueError, match="1 for a user who arrives"):
        learning.ask(2, segment="free")
    plain = storage.create(f"{name} 3", PROBLEM, 60, Challenger())
    with pytest.raises(ValueError, match="the problem has no segments"):
        plain.ask(segment="free")


def test_the_same_key_gets_the_same_trial(storage, name):
    exp = storage.create(name, problem(segments=["free", "paid"]), 60, Challenger())
    assert exp.ask(segment="free", key="u1") == exp.ask(segment="free", key="u1")
