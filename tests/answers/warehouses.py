"""Databases with a log in them, each by its own way in and out."""

import sqlite3

COLUMNS = "model, source, quality, dollars, seconds, complaints, visits, at, who"


def rows(trials=300, seed=0):
    """A log with two segments, as a mapping of columns."""
    import numpy as np

    rng = np.random.default_rng(seed)
    log = {name: [] for name in COLUMNS.split(", ")}
    for k in range(trials):
        place = int(rng.integers(3))
        values = (
            ("small", "medium", "large")[place],
            ("web", 'it\'s "odd"')[int(rng.random() < 0.3)],
            float(rng.random() < 0.6 + 0.15 * place),
            (1.0 + 2 * place) * rng.gamma(4.0) / 4.0,
            rng.gamma(2.0),
            float(rng.poisson(0.2)),
            float(1 + rng.poisson(3.0)),
            f"2026-01-{1 + k * 28 // trials:02} 12:00:00",
            f"user {rng.integers(40)}",
        )
        for name, value in zip(log, values, strict=True):
            log[name].append(value)
    return log


def create(cursor, log, kind, mark):
    """The table ``events`` with the log in it."""
    texts = {"model", "source", "who"}
    types = ", ".join(
        f'"{n}" {"TEXT" if n in texts else "TIMESTAMP" if n == "at" else kind}' for n in COLUMNS.split(", ")
    )
    cursor.execute(f"CREATE TEMP TABLE events ({types})")  # a server is for other tests too
    cursor.executemany(
        f"INSERT INTO events VALUES ({', '.join([mark] * len(log))})", list(zip(*log.values(), strict=True))
    )


def fetched(cursor):
    """What a query found, as a mapping of columns."""
    found = cursor.fetchall()
    return {column[0]: [row[k] for row in found] for k, column in enumerate(cursor.description)}


def on_sqlite(log, query):
    with sqlite3.connect(":memory:") as connection:
        cursor = connection.cursor()
        create(cursor, log, "REAL", "?")
        cursor.execute(query)
        return fetched(cursor)


def on_duckdb(log, query):
    import duckdb

    with duckdb.connect() as connection:
        cursor = connection.cursor()
        create(cursor, log, "DOUBLE", "?")
        cursor.execute(query)
        return fetched(cursor)


def on_postgres(log, query, url):
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection, connection.cursor() as cursor:
        create(cursor, log, "DOUBLE PRECISION", "%s")
        cursor.execute(query)
        return fetched(cursor)
