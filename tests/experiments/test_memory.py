"""The store in memory: new each time, and a transaction that fails leaves no trace."""

from dataclasses import replace

import pytest
from tests.experiments.kits import PROBLEM

from bestmix import Problem, Uniform, open_experiment


def test_the_store_in_memory_is_new_each_time():
    problem = Problem(["a", "b"])
    first = open_experiment("memory://", "x", problem, 4)
    first.ask()
    assert open_experiment("memory://", "x", problem, 4).state.leased == 0


def test_a_transaction_that_raises_leaves_no_trace():
    exp = open_experiment("memory://", "x", PROBLEM, 6, Uniform())
    exp.tell(exp.ask(2)[0], 1.0, [0.5])
    stored = exp.storage.store._stored(exp.record.key)
    before = replace(stored.head), dict(stored.rows), dict(stored.due), dict(stored.asks), dict(stored.events)

    def work(transaction):
        row = transaction.trials([2])[2]
        transaction.update_trials([replace(row, state="complete")])
        transaction.add_trials([replace(row, number=3, slot=3)])
        transaction.lower_due({0: 1})
        transaction.write_key("k", 3, 1)
        transaction.withdraw_all()
        transaction.add_event("told")
        transaction.head.complete += 1
        raise RuntimeError("half-way")

    with pytest.raises(RuntimeError, match="half-way"):
        exp.storage.store.write(exp.record.key, work)
    assert (stored.head, stored.rows, stored.due, stored.asks, stored.events) == before
    assert exp.storage.store._stored(exp.record.key).leased.keys() == {2}
