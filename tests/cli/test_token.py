import json
import shlex
import subprocess
import sys

import pytest
from tests.cli.commands import invoke

from bestmix import Problem, Uniform, open_storage


@pytest.fixture
def db(tmp_path):
    path = tmp_path / "x.db"
    with open_storage(path) as storage:
        storage.create("r", Problem(["a", "b"], {"dollars": 1.0}), 6, Uniform())
    return path


def test_tokens_are_made_listed_and_revoked(db):
    made = invoke("token", "create", db, "--scope", "read", "--experiment", "r", "--days", 1, "--label", "ann")
    text = made.stdout.strip()
    assert text.startswith("bm_")
    assert "the only time that it is shown" in made.stderr
    assert f"revoke it with: bestmix token revoke {db} {text[:11]}" in made.stderr
    shown = invoke("token", "list", db).stdout
    prefix = text[:11]
    assert all(part in shown for part in (prefix, "read", "valid", "ann"))
    assert text not in shown
    assert invoke("token", "revoke", db, prefix).stdout == f"Revoked {prefix}.\n"
    (token,) = json.loads(invoke("token", "list", db, "--json").stdout)
    assert (token["state"], token["scope"]) == ("revoked", "read")
    assert "digest" not in token


BARE = """
import sys
sys.modules |= dict.fromkeys(["fastapi", "uvicorn", "httptools", "starlette"])  # not to be imported
from bestmix.cli import main
main()
"""


def test_tokens_need_the_database_alone(db):
    def told(*words):
        line = [sys.executable, "-c", BARE, "token", *map(str, words)]
        return subprocess.run(line, capture_output=True, text=True, check=True).stdout

    prefix = told("create", db).strip()[:11]
    assert prefix in told("list", db)
    assert told("revoke", db, prefix) == f"Revoked {prefix}.\n"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["create", "DB", "--scope", "all"], "scope: expected one of 'read', 'work', 'admin'"),
        (["create", "DB", "--experiment", "none"], "there is no experiment 'none'"),
        (["create", "DB", "--days", "-1"], "days: expected more than 0"),
        (["create", "memory://"], "tokens are kept in a database"),
        (["revoke", "DB", "bm_0"], "there is no token 'bm_0'"),
    ],
)
def test_mistakes_are_one_line(db, words, part):
    result = invoke("token", *(db if word == "DB" else word for word in words))
    assert result.exit_code == 2
    assert part in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize("command", ["create", "list", "revoke"])
def test_every_command_has_help_with_an_example(command):
    assert f"Example: bestmix token {command}" in invoke("token", command, "--help").stdout


def test_the_command_that_revokes_a_token_can_be_pasted(db):
    path = db.rename(db.with_name("my tokens; ls.db"))
    command = invoke("token", "create", path).stderr.strip().partition("revoke it with: bestmix ")[2]
    assert invoke(*shlex.split(command)).exit_code == 0
