"""No statement of a call reads all trials, however many there are."""

import pytest
import sqlalchemy as sa
from tests.experiments.kits import PROBLEM

from bestmix import Uniform
from bestmix.experiments.model import TrialQuery


@pytest.mark.parametrize("kind", ["sqlite", "wal"])
def test_every_look_at_the_trials_goes_by_a_key_or_a_small_index(opener, clock, name, kind):
    storage = opener(kind, clock)
    exp = storage.create(name, PROBLEM, 60, Uniform(), lease=10.0)
    seen = set()

    @sa.event.listens_for(storage.store.database._engine, "before_cursor_execute")
    def note(connection, cursor, statement, parameters, context, executemany):
        if "trials" in statement and not statement.startswith(("EXPLAIN", "INSERT", "PRAGMA")):
            seen.add((statement, tuple(parameters[0] if executemany else parameters)))

    first = exp.ask(9, key="k")
    clock.pass_time(11.0)
    again = exp.ask(4, worker="w")
    exp.tell_many([(t, 1.0, [0.5]) for t in (first[0], first[8], again[1], first[1])])
    exp.tell_failed(again[2])
    exp.renew(again[3])
    exp.ask(60, key="k")
    exp.ask(60)
    exp.ask(60)
    for state in ("leased", "expired", "failed", "surplus", "withdrawn"):
        storage.store.trials(exp.record.key, TrialQuery(state=state, limit=5))
    exp.trials(after=first[3], limit=2)
    exp.stop()
    assert len(seen) > 10
    with storage.store.database._engine.connect() as connection:
        for statement, parameters in seen:
            plan = [row[-1] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
            looks = [line for line in plan if "trials" in line]
            keyed = ["number=?" in look or "number>?" in look or "USING INDEX trials_" in look for look in looks]
            between = ["number>? AND number<?" in look for look in looks]
            assert all(k or b for k, b in zip(keyed, between, strict=True)), (statement, plan)
