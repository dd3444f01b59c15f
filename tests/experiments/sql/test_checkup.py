"""A database looked at as a whole, and repaired."""

import pytest
import sqlalchemy as sa
from tests.experiments.kits import PROBLEM

from bestmix import SFSR, Challenger, Spend, Uniform
from bestmix.experiments.sql import checkup, inspection


def mine(mu, u, e):
    return mu


@pytest.mark.parametrize("kind", ["sqlite", "wal"])
def test_a_strategy_of_ones_own_is_not_replayed_and_damage_is_not_taken_for_one(opener, clock, name, kind):
    storage = opener(kind, clock)
    exp = storage.create(name, PROBLEM, 30, SFSR(mine))
    exp.tell_many([(t, 1.0, [0.5]) for t in exp.ask(5)])
    database = storage.store.database
    found = {f.what: f for f in checkup.look_at(database, thorough=True)}
    assert found[name].good
    assert "5 results, counted again; not replayed: its strategy" in found[name].found
    text = "UPDATE experiments SET strategy = replace(strategy, 'SFSR', 'SFSQ')"
    database.write(lambda connection: connection.exec_driver_sql(text))
    found = {f.what: f for f in checkup.look_at(database, thorough=True)}
    assert not found[name].good
    assert "not as they were when it was created" in found[name].found


def test_experiments_with_money_are_replayed_unless_the_strategy_is_ones_own(opener, clock, name):
    storage = opener("sqlite", clock)
    exp = storage.create(name, PROBLEM, Spend(9.0, "dollars", most=1.0), Challenger())
    own = storage.create(f"{name} 2", PROBLEM, Spend(9.0, "dollars", most=1.0), SFSR(mine))
    for each in (exp, own):
        each.tell_many([(t, 1.0 + 0.1 * t.token, [0.5]) for t in each.ask(9)])
    found = {f.what: f.found for f in checkup.look_at(storage.store.database, thorough=True)}
    assert found[name] == "9 results, counted again and replayed"
    assert "not replayed: its strategy" in found[f"{name} 2"]
    exp.storage.store.write(exp.record.key, lambda t: t.advance(t.memory() | {"quota": [1, 1, 1]}, []))
    found = {f.what: f.found for f in checkup.look_at(storage.store.database, thorough=True)}
    assert "replay: the strategy gets to another point" in found[name]


def test_sums_of_a_version_that_kept_no_third_powers_are_good_and_go_on(opener, clock, name):
    storage = opener("sqlite", clock)
    exp, database = storage.create(name, PROBLEM, 30, Challenger()), storage.store.database
    exp.tell_many([(t, 1.0 + 0.1 * t.token, [0.5]) for t in exp.ask(9)])
    text = "UPDATE arms SET moments = json_remove(moments, '$.cubes')"
    database.write(lambda connection: connection.exec_driver_sql(text))
    exp = storage.open(name)
    exp.tell_many([(t, 1.0 + 0.1 * t.token, [0.5]) for t in exp.ask(6)])
    found = {f.what: f for f in checkup.look_at(database, thorough=True)}
    assert found[name].good, found[name].found
    assert found[name].found.endswith("results, counted again and replayed")
    assert exp.recommend().told[0].cubes is None


def test_figures_on_postgres_are_repaired_after_a_copy_of_their_tables(opener, clock, name):
    storage = opener("postgres", clock)
    database = storage.store.database
    exp = storage.create(name, PROBLEM, 6, Uniform())
    exp.ask(2)
    number = next(n for n, known in database.read(inspection.names).items() if known == name)
    text = f"UPDATE heads SET owing = owing + 3 WHERE experiment = {number}"
    database.write(lambda connection: connection.exec_driver_sql(text))
    assert not {f.what: f for f in checkup.look_at(database, thorough=True)}[name].good
    done = {f.what: f.found for f in checkup.repair(database)}
    assert "owing: the figure is 9, the trials say 6; written anew" in done[name]
    copies = [word for word in done["backup"].split() if word.startswith(("heads_", "arms_"))]
    assert len(copies) == 2
    select = sa.text(f'SELECT owing FROM "{copies[0]}" WHERE experiment = {number}')
    assert database.read(lambda connection: connection.execute(select).scalar_one()) == 9
    assert {f.what: f for f in checkup.look_at(database, thorough=True)}[name].good
    for copy in copies:
        database.write(lambda connection, copy=copy: connection.exec_driver_sql(f'DROP TABLE "{copy}"'))
