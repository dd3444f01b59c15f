"""Lease time never runs ahead of true time, whatever the clocks do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.experiments.kits import PROBLEM, FakeClock

from bestmix import Uniform
from bestmix.experiments.clock import LeaseClock, Reading, SystemClock

HOUR, TEN_YEARS = 3600.0, 10 * 365.25 * 86400.0


@pytest.mark.parametrize("jump", [HOUR, -HOUR, TEN_YEARS, -TEN_YEARS])
def test_a_jump_of_the_wall_clock_loses_no_lease_and_breaks_no_order(storage, clock, name, jump):
    exp = storage.create(name, PROBLEM, 6, Uniform(), lease=10.0)
    first = exp.ask(4, worker="w1")
    clock.wall += jump
    clock.pass_time(9.9)
    assert [t.token for t in exp.ask(9, worker="w2")] == [5, 6]
    assert exp.state.expired == 0
    exp.tell_many([(t, 1.0, [0.5]) for t in first[:2]])
    clock.pass_time(0.1)
    again = exp.ask(9, worker="w3")
    assert [t.slot for t in again] == [3, 4]
    assert [t.token for t in exp.trials()] == list(range(1, 9))
    assert [e.number for e in exp.events()] == list(range(1, len(exp.events()) + 1))


def test_another_machine_cannot_shorten_a_lease(storage, clock, name):
    """Its monotonic clock started elsewhere; it counts from when it first looked."""
    exp = storage.create(name, PROBLEM, 6, Uniform(), lease=10.0)
    exp.ask(6)
    other = FakeClock("another machine", ticks=1e9, wall=clock.wall + TEN_YEARS)
    storage.lease_clock, storage.store.clock = LeaseClock(other), other
    assert exp.ask(1) == []
    other.pass_time(9.0)
    assert exp.ask(1).retry_after == pytest.approx(1.0)
    other.pass_time(1.0)
    assert len(exp.ask(6)) == 6


def test_a_machine_that_was_started_again_counts_anew(storage, clock, name):
    exp = storage.create(name, PROBLEM, 6, Uniform(), lease=10.0)
    exp.ask(6)
    rebooted = FakeClock("next boot", ticks=3.0, wall=clock.wall)
    storage.lease_clock = LeaseClock(rebooted)
    exp.ask(1)
    rebooted.pass_time(10.0)
    assert len(exp.ask(6)) == 6


def test_processes_that_make_one_call_each_share_the_machines_clock(storage, clock, name):
    exp = storage.create(name, PROBLEM, 6, Uniform(), lease=10.0)
    exp.ask(6)
    clock.pass_time(10.0)
    storage.lease_clock = LeaseClock(clock)
    assert len(exp.ask(6)) == 6


@given(
    steps=st.lists(
        st.tuples(st.integers(0, 2), st.floats(0.0, 100.0), st.sampled_from([0.0, HOUR, -HOUR, TEN_YEARS])),
        min_size=1,
        max_size=20,
    )
)
def test_lease_time_is_monotone_and_never_ahead(steps):
    """Three machines with clocks of their own look in turns at one experiment."""
    clocks = [FakeClock(f"boot {i}", ticks=1e3 * i) for i in range(3)]
    watches = [LeaseClock(clock) for clock in clocks]
    stored, true = Reading(0.0, "boot 0", clocks[0].ticks), 0.0
    for machine, seconds, jump in steps:
        true += seconds
        for clock in clocks:
            clock.pass_time(seconds)
        clocks[machine].wall += jump
        now = watches[machine].read("key", stored)
        assert stored.time <= now.time <= true + 1e-9
        stored = now


def test_the_systems_clock_goes_on():
    one, two = SystemClock(), SystemClock()
    assert one.boot == two.boot
    first = one.tick()
    assert first <= two.tick() < first + 60.0
    assert one.now() > 1.6e9
