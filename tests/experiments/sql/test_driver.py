import pytest
import sqlalchemy as sa

from bestmix.experiments.sql.driver import driver


def test_statements_go_to_the_connection_beneath_in_its_transaction():
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE t (x INTEGER PRIMARY KEY)"))
        with driver(connection) as own:
            own.executemany("INSERT INTO t VALUES (?)", [(1,), (2,)])
        assert connection.execute(sa.text("SELECT count(*) FROM t")).scalar_one() == 2


def test_its_errors_are_those_of_sqlalchemy():
    engine = sa.create_engine("sqlite://")
    with engine.connect() as connection:
        connection.execute(sa.text("CREATE TABLE t (x INTEGER PRIMARY KEY)"))
        with pytest.raises(sa.exc.IntegrityError, match="UNIQUE"), driver(connection) as own:
            own.executemany("INSERT INTO t VALUES (?)", [(1,), (1,)])
        with pytest.raises(sa.exc.OperationalError, match="no such table"), driver(connection) as own:
            own.execute("SELECT * FROM nowhere")
