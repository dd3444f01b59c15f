import sqlite3
import time
from contextlib import closing

import pytest

from bestmix import Problem, Uniform, open_storage
from bestmix.experiments.sql.inspection import CHOICES, inspect
from bestmix.service.tokens import Fingerprint, Scope, Tokens, digest, new_token, prefix_of


@pytest.fixture
def storage(tmp_path):
    with open_storage(tmp_path / "x.db") as storage:
        yield storage


def test_a_token_is_found_by_its_prefix_and_fits_its_own_text_only(storage):
    tokens = Tokens(storage)
    (made, text), (_, other) = tokens.create("work", label="ann"), tokens.create("work")
    found = tokens.find(prefix_of(text))
    assert found == made
    assert found.fits(text)
    assert not found.fits(other)
    assert not found.fits(text + "x")
    assert found.digest == digest(text) != text
    assert found.is_of(Fingerprint.of(text))
    assert not found.is_of(Fingerprint.of(text + "x"))
    assert Fingerprint.of("nonsense").prefix == ""


def test_texts_are_never_the_same():
    assert len({new_token(Scope.read)[1] for _ in range(1000)}) == 1000


def test_a_revoked_token_stays_revoked(storage):
    tokens = Tokens(storage)
    made, _ = tokens.create("read")
    tokens.revoke(made.prefix)
    first = tokens.find(made.prefix).revoked
    tokens.revoke(made.prefix)
    assert tokens.find(made.prefix).revoked == first
    assert tokens.find(made.prefix).state(time.time()) == "revoked"
    assert not tokens.any_valid()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("role", "x"),
        ("role", 7),
        ("digest", b"x"),
        ("created", "x"),
        ("expires", "x"),
        ("revoked", b""),
        ("label", b"x"),
    ],
)
def test_a_damaged_row_keeps_nobody_else_out_and_the_doctor_names_it(storage, column, value):
    tokens = Tokens(storage)
    (damaged, _), (sound, _) = tokens.create("admin"), tokens.create("read")
    with closing(sqlite3.connect(storage.store.database.url.database)) as connection, connection:
        connection.execute(f"UPDATE tokens SET {column} = ? WHERE prefix = ?", (value, damaged.prefix))
    assert tokens.list() == [sound]
    assert tokens.find(damaged.prefix) is None
    found = storage.store.database.read(inspect)
    assert [column in problem.text for problem in found] == [True]


def test_the_doctor_knows_every_scope():
    assert CHOICES["role"] == tuple(Scope)


def test_days_end_a_token(storage):
    made, _ = Tokens(storage).create("read", days=1.0)
    now = time.time()
    assert (made.state(now), made.state(now + 86401)) == ("valid", "expired")


def test_a_token_of_one_experiment_knows_its_key_whatever_it_is_called_later(storage):
    experiment = storage.create("r", Problem(["a", "b"]), 4, Uniform())
    made, _ = Tokens(storage).create("work", experiment="r")
    experiment.rename("s")
    assert made.experiment == storage.open("s").record.key


@pytest.mark.parametrize("text", ["", "bm", "bm__", "bm_123_x", "xx_01234567_y", "bm_0123abcd"])
def test_what_is_no_token_has_no_prefix(text):
    assert prefix_of(text) == ""


@pytest.mark.parametrize("scope", Scope)
@pytest.mark.parametrize("wanted", Scope)
def test_each_scope_includes_those_before_it(scope, wanted):
    assert scope.allows(wanted) is (list(Scope).index(scope) >= list(Scope).index(wanted))
