import json
import shlex

import pytest
from tests.cli.commands import answer, bad, good, invoke

from bestmix import Problem, Uniform, open_storage
from bestmix.cli import experiment

GROUP = ["create", "list", "show", "ask", "tell", "fail", "renew", "pause", "resume", "stop", "extend", "change"]
GROUP += ["rename", "notes", "delete", "export", "trials", "weights", "tell-sums"]
COMMANDS = [*(f"experiment {name}" for name in GROUP), "worker", "storage upgrade", "doctor"]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example_and_json(command):
    shown = good(*command.split(), "--help")
    assert f"Example: bestmix {command}" in shown
    assert "--json" in shown


def test_every_command_of_the_group_is_tested_for_help():
    names = {c.name or c.callback.__name__ for c in experiment.app.registered_commands}
    assert {f"experiment {name}" for name in names} <= set(COMMANDS)


def test_an_experiment_from_the_shell(made):
    lines = good("experiment", "ask", made, "r", "-n", 2, "--worker", "w1").splitlines()
    (first, arm), (second, _) = [line.split("\t") for line in lines]
    assert arm == "a"
    assert good("experiment", "tell", made, "r", first, "--reward", 1, "--cost", "dollars=0.5") == "1 counted\n"
    assert good("experiment", "tell", made, "r", first, "--reward", 1, "--cost", "dollars=0.5") == "1 repeated\n"
    assert "the first result stands" in bad(
        "experiment", "tell", made, "r", first, "--reward", 2, "--cost", "dollars=1"
    )
    assert "leased until" in good("experiment", "renew", made, "r", second)
    assert "1 failed" in good("experiment", "fail", made, "r", second, "--reason", "no luck")
    assert "1 of 6 trials" in good("experiment", "show", made, "r")
    assert "no luck" not in good("experiment", "trials", made, "r", "--state", "complete")
    assert [t["note"] for t in answer("trials", made, "r", "--state", "failed")] == ["no luck"]
    assert "running" in good("experiment", "list", made)
    assert answer("show", made, "r")["state"]["complete"] == 1


def test_steering(made, tmp_path):
    assert "paused" in good("experiment", "pause", made, "r")
    assert "running" in good("experiment", "resume", made, "r")
    assert answer("extend", made, "r", "--budget", 8)["budget"] == 8
    assert "second: running" in good("experiment", "rename", made, "r", "second")
    assert good("experiment", "notes", made, "second", "remember") == "remember\n"
    assert answer("notes", made, "second") == "remember"
    assert "Saved" in good("experiment", "export", made, "second", tmp_path / "t.csv")
    assert "Saved" in good("experiment", "export", made, "second", "-o", tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text() == (tmp_path / "t.csv").read_text()
    assert "stopped" in good("experiment", "stop", made, "second", "--reason", "enough")
    assert invoke("experiment", "delete", made, "second", text="n\n").exit_code == 1
    assert good("experiment", "delete", made, "second", "--yes") == "Deleted second.\n"
    assert answer("list", made) == []


def test_the_problem_changes_while_it_runs(made):
    arms = answer("show", made, "r")["recommendation"]["problem"]["arms"]
    good("experiment", "change", made, "r", "--bound", "dollars=0.5", "--arm", "new", "--retire", arms[0])
    found = answer("show", made, "r")["recommendation"]["problem"]
    assert found["arms"] == [*arms[1:], "new"]
    assert found["bounds"]["dollars"] == 0.5
    assert "Changed in round 1: dollars <= 0.5 instead of dollars <= " in good("experiment", "show", made, "r")
    assert "--retire: expected one of" in bad("experiment", "change", made, "r", "--retire", arms[0])
    told = bad("experiment", "change", made, "r", "--bound", "euros=2")
    assert (
        "--bound: expected one of dollars, got 'euros'; check the spelling, and change limits of other kinds by --lim"
        in told
    )
    assert f"{arms[0]} is back." in good("experiment", "change", made, "r", "--arm", arms[0])


@pytest.mark.parametrize(
    ("limits", "these"), [(["dollars <= 1", "p(seconds > 2) <= 50%"], "one of dollars"), (["quality >= 1"], "none")]
)
def test_only_bounds_are_offered_for_a_new_bound(db, limits, these):
    Problem(["a", "b"], limits=limits).save(db.with_name("limits.json"))
    good("experiment", "create", db, "l", db.with_name("limits.json"), "--budget", 6, "--strategy", "uniform")
    for name in ("seconds", "quality", limits[-1]):
        told = bad("experiment", "change", db, "l", "--bound", f"{name}=3")
        assert f"--bound: expected {these}, got {name!r}; check the spelling, and change limits of other" in told


def test_a_smaller_budget_that_ends_it_says_so(made):
    for line in good("experiment", "ask", made, "r", "-n", 4).splitlines():
        good("experiment", "tell", made, "r", line.split("\t")[0], "--reward", 1, "--cost", "dollars=0.5")
    shown = invoke("experiment", "change", made, "r", "--budget", 3)
    assert shown.exit_code == 0, shown.stderr
    assert "The experiment is over with that" in shown.stderr


def test_money_arms_and_prices_change_while_it_runs(db):
    Problem(["a", "b"], {"seconds": 1.0}).save(db.with_name("two.toml"))
    prices = ["--price", "a=0.5", "--price", "b=1"]
    good("experiment", "create", db, "m", db.with_name("two.toml"), "--budget", "20 dollars", *prices)
    assert "0 of 20 dollars spent, 20 left" in good("experiment", "show", db, "m")
    assert "--price c=..." in bad("experiment", "change", db, "m", "--arm", "c")
    words = ["--arm", "c", "--retire", "b", "--price", "c=0.25", "--budget", "15 dollars"]
    shown = good("experiment", "change", db, "m", *words)
    assert "0 of 15 dollars spent, 15 left" in shown
    assert "c is new; b is retired; a budget of 15 dollars instead of 20 dollars." in shown
    assert "12 dollars" in good("experiment", "change", db, "m", "--budget", "12 dollars")
    assert "expected at least 0.75 dollars" in bad("experiment", "change", db, "m", "--budget", "0.5 dollars")
    assert "expected one in dollars" in bad("experiment", "change", db, "m", "--budget", "100")


def test_arms_with_features_come_and_go(db):
    features = {"a": {"model": "s", "heat": 0.0}, "b": {"model": "l", "heat": 1.0}, "c": {"model": "l", "heat": 0.0}}
    Problem(list(features), {"cents": 1.0}, features=features).save(db.with_name("three.toml"))
    good("experiment", "create", db, "f", db.with_name("three.toml"), "--budget", 40)
    assert "'d' has no features as the others have" in bad("experiment", "change", db, "f", "--arm", "d")
    for wrong in ("d", "d:", "d:model", "e:model=s", "d:=s"):
        assert "as in tiny:model=small,heat=0.5" in bad(
            "experiment", "change", db, "f", "--arm", "d", "--feature", wrong
        )
    good("experiment", "change", db, "f", "--arm", "d", "--feature", "d:model=s, heat=0.5", "--retire", "a")
    found = answer("show", db, "f")["recommendation"]["problem"]
    assert found["features"] == {name: features[name] for name in "bc"} | {"d": {"model": "s", "heat": 0.5}}


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["list", "none.db"], "there is no file none.db"),
        (["show", "DB", "other"], "there is no experiment 'other' (there is 'r')"),
        (["create", "DB", "r", "PROBLEM", "--budget", "6"], "there is an experiment 'r' already"),
        (["create", "DB", "s", "PROBLEM", "--budget", "0"], "budget"),
        (["create", "DB", "s", "none.toml", "--budget", "6"], "there is no such file"),
        (["tell", "DB", "r", "nonsense", "--reward", "1"], "expected the id of a trial"),
        (["tell", "DB", "r"], "give one of them"),
        (["tell", "DB", "r", "x", "--reward", "1", "--cost", "dollars"], "--cost: expected name=number"),
        (["tell", "DB", "r", "0123456789ab-1", "--reward", "1"], "belongs to another experiment"),
        (["extend", "DB", "r", "--budget", "3"], "expected more than the present 6"),
        (["export", "DB", "r"], "--output: expected the name of a file, as PATH or with -o, got none; give one"),
        (["export", "DB", "r", "x.csv", "-o", "y.csv"], "as PATH or with -o, got both; give one"),
        (["export", "DB", "r", "x.txt"], "expected a file name that ends in .csv, .parquet or .json"),
        (["list", "mysql://x/y"], "url: expected sqlite:///FILE"),
    ],
)
def test_mistakes_are_one_line(made, words, part):
    places = {"DB": made, "PROBLEM": made.with_name("problem.toml")}
    assert part in bad("experiment", *(places.get(word, word) for word in words))


def test_the_next_command_can_be_pasted_whatever_the_name(made):
    problem, name = made.with_name("problem.toml"), "two words; rm"
    said = invoke("experiment", "create", made, name, problem, "--budget", 6).stderr
    assert shlex.split(said.split("bestmix worker ")[1])[:2] == [str(made), name]


def test_an_experiment_created_in_python_is_there_for_the_shell(db):
    with open_storage(db) as storage:
        storage.create("r", Problem(["a", "b"]), 4, Uniform(), notes="hello")
    assert answer("notes", db, "r") == "hello"


EVIL = "\x1b[2J\x1b]0;mine\x07 \x9b31m \u202eon\r [red]x[/]"


def raw(result):
    """Whether something reached the terminal that could do things to it."""
    return any(letter in result.stdout + result.stderr for letter in "\x1b\x07\x9b\u202e\r")


def test_a_worker_shows_what_failed(made):
    with open_storage(made) as storage:
        exp = storage.open("r")
        exp.notes = EVIL
        exp.stop(EVIL)
    assert not raw(invoke("worker", made, "r", "--exec", "true {arm}"))
    fails = ["python", "-c", "import sys; sys.stderr.write(chr(27) + '[2J'); sys.exit(1)", "{arm}"]
    new = ["experiment", "create", made, "s", made.with_name("problem.toml"), "--budget", 6, "--failures", 1]
    good(*new, "--strategy", "uniform")
    result = invoke("worker", made, "s", "--exec", shlex.join(fails))
    assert result.exit_code == 2
    assert not raw(result)
    assert "\\x1b[2J" in result.stderr


def test_escapes_in_notes_names_and_reasons_do_not_reach_the_terminal(made):
    evil = "\x1b[2J\u202egone\x07"
    with open_storage(made) as storage:
        exp = storage.open("r")
        exp.notes = f"first\n{evil}"
        exp.tell_failed(exp.ask(1, worker="w")[0], evil)
        exp.stop(evil)
    for words in (
        ("show", made, "r"),
        ("list", made),
        ("notes", made, "r"),
        ("trials", made, "r"),
        ("stop", made, "r"),
    ):
        text = good("experiment", *words)
        assert not set(text) & set("\x1b\u202e\x07")
    assert "\\x1b[2J\\u202egone" in good("experiment", "show", made, "r")
    assert not set(bad("experiment", "show", made, f"r{evil}")) & set("\u202e\x07")


def test_goal_and_limits_from_the_shell(db):
    problem = db.with_name("problem.toml")
    asked = ["--goal", "minimise seconds", "--limit", "quality >= 0.5", "--bound", "dollars=2"]
    good("experiment", "create", db, "m", problem, "--budget", 4, "--strategy", "uniform", *asked)
    first, second = (line.split("\t")[0] for line in good("experiment", "ask", db, "m", "-n", 2).splitlines())
    metrics = ["--metric", "seconds=1", "--metric", "quality=1", "--metric", "dollars=0.5"]
    assert good("experiment", "tell", db, "m", first, *metrics) == "1 counted\n"
    lines = db.with_name("results.jsonl")
    lines.write_text(json.dumps({"trial": second, "metrics": {"seconds": 2, "quality": 0, "dollars": 1}}))
    assert good("experiment", "tell", db, "m", "--file", lines) == "1 counted\n"
    assert "expected none beside --metric" in bad("experiment", "tell", db, "m", first, *metrics, "--cost", "dollars=1")
    header = good("experiment", "trials", db, "m").splitlines()[1]
    assert [name in header for name in ("seconds", "dollars", "quality", "reward")] == [True, True, True, False]
    good("experiment", "export", db, "m", db.with_name("t.csv"))
    assert "worker,seconds,dollars,quality,asked" in db.with_name("t.csv").read_text()


def test_segments_from_the_shell(db):
    made = ("experiment", "create", db, "s", db.with_name("problem.toml"), "--budget", 8, "--strategy", "uniform")
    good(*made, "--segments", "free=0.7,paid=0.3")
    rows = [line.split("\t") for line in good("experiment", "ask", db, "s", "-n", 4).splitlines()]
    assert {(arm, segment) for _, arm, segment in rows} == {(a, s) for a in ("a", "b") for s in ("free", "paid")}
    told = [{"trial": t, "reward": 1, "costs": {"dollars": 0.5}} for t, *_ in rows]
    db.with_name("r.jsonl").write_text("\n".join(map(json.dumps, told)))
    good("experiment", "tell", db, "s", "--file", db.with_name("r.jsonl"))
    good("experiment", "export", db, "s", db.with_name("t.csv"), "--state", "complete")
    again = ("--segments", "free=0.7,paid=0.3", "--log", db.with_name("t.csv"), "--segment", "segment")
    assert answer("create", db, "again", *made[4:], *again)["complete"] == 4
    assert "--exec: expected {segment}" in bad("worker", db, "s", "--exec", "echo {arm}")
    assert "segment" in good("experiment", "trials", db, "s").splitlines()[1]
