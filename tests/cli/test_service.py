import json

import pytest
from typer.testing import CliRunner

from bestmix import Problem, Uniform, open_storage
from bestmix.cli import app


def invoke(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def db(tmp_path):
    path = tmp_path / "x.db"
    with open_storage(path) as storage:
        exp = storage.create("r", Problem(["a", "b"], {"dollars": 1.0}), 6, Uniform(), notes="Ask Ann.")
        exp.tell_failed(exp.ask(1, worker="w1")[0], "no <luck>")
        exp.tell_many([(t, 1.0 + t.token, [0.5]) for t in exp.ask(9, worker="w2")])
    return path


@pytest.mark.parametrize("command", ["serve", "token create", "token list", "token revoke", "report"])
def test_every_command_has_help_with_an_example(command):
    result = invoke(*command.split(), "--help")
    assert result.exit_code == 0
    assert f"Example: bestmix {command}" in result.stdout


def test_tokens_are_made_listed_and_revoked(db):
    made = invoke("token", "create", db, "--scope", "read", "--experiment", "r", "--days", 1, "--label", "ann")
    text = made.stdout.strip()
    assert text.startswith("bm_")
    assert "the only time that it is shown" in made.stderr
    shown = invoke("token", "list", db).stdout
    prefix = text[:11]
    assert all(part in shown for part in (prefix, "read", "valid", "ann"))
    assert text not in shown
    assert invoke("token", "revoke", db, prefix).stdout == f"Revoked {prefix}.\n"
    (token,) = json.loads(invoke("token", "list", db, "--json").stdout)
    assert (token["state"], token["scope"]) == ("revoked", "read")
    assert "digest" not in token


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["token", "create", "DB", "--scope", "all"], "scope: expected one of 'read', 'work', 'admin'"),
        (["token", "create", "DB", "--experiment", "none"], "there is no experiment 'none'"),
        (["token", "create", "DB", "--days", "-1"], "days: expected more than 0"),
        (["token", "create", "memory://"], "tokens are kept in a database"),
        (["token", "revoke", "DB", "bm_0"], "there is no token 'bm_0'"),
        (["serve", "--storage", "memory://", "--no-warm-up"], "tokens are kept in a database"),
        (["serve", "--storage", "DB", "--host", "0.0.0.0", "--no-warm-up"], "there is no valid token yet"),
        (["serve", "--storage", "DB", "--host", "no.such.host.invalid", "--no-warm-up"], "there is no valid token yet"),
        (["report", "DB", "r", "-o", "x.pdf"], "expected a report's name to end in .html"),
        (["report", "http://127.0.0.1", "r", "-o", "x.pdf"], "expected a report's name to end in .html"),
    ],
)
def test_mistakes_are_one_line(db, words, part):
    result = invoke(*(db if word == "DB" else word for word in words))
    assert result.exit_code == 2
    assert part in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_report_tells_what_the_page_tells(db, tmp_path):
    assert invoke("report", db, "r", "-o", tmp_path / "r.html").exit_code == 0
    page = (tmp_path / "r.html").read_text()
    for part in ("Ask Ann.", "How the trials went", "Round by round", "w2", "no &lt;luck&gt;", "<svg"):
        assert part in page
    assert "<script" not in page
