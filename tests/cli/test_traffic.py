import json

import numpy as np
import pytest
from tests.cli.commands import good, invoke
from tests.experiments.flows import ROUTER, drawn, row


@pytest.fixture
def live(tmp_path):
    ROUTER.save(tmp_path / "problem.toml")
    db, options = tmp_path / "x.db", ["--explore", "10%", "--serve", "small", "--round-requests", 60]
    good("experiment", "create", db, "live", db.with_name("problem.toml"), *options, "--round-seconds", 3600)
    return db


def rows(version, n=40):
    rng = np.random.default_rng(0)
    return "\n".join(json.dumps(row(version, arm, drawn(arm, n, rng))) for arm in ROUTER.arms)


def test_traffic_from_the_shell(live):
    shown = good("experiment", "weights", live, "live")
    assert "95.00%" in shown
    assert "Alarm: nothing is certain before every arm has 10 trials" in shown
    assert good("experiment", "tell-sums", live, "live", "--key", "web:1", text=rows(1)) == "counted\n"
    assert good("experiment", "tell-sums", live, "live", "--key", "web:1", text=rows(1)) == "repeated\n"
    document = json.loads(good("experiment", "weights", live, "live", "--json"))
    assert document["version"] == 2
    assert document["explore"] == 0.1
    assert sum(document["segments"][""].values()) == pytest.approx(1.0)
    shown = good("experiment", "show", live, "live")
    assert "round 2, 80 requests." in shown
    assert "All requests so far: mean dollars 0." in shown
    assert ", limit dollars <= 1." in shown
    assert "not finished" not in shown
    shown = good("experiment", "change", live, "live", "--bound", "dollars=0.5", "--arm", "tiny")
    assert "round 3, 80 requests." in shown
    assert "Changed in round 2: dollars <= 0.5 instead of dollars <= 1; tiny is new." in shown
    changed = json.loads(good("experiment", "weights", live, "live", "--json"))
    assert (changed["version"], changed["segments"][""]["tiny"]) == (3, pytest.approx(0.1))
    assert "not finished" not in good("experiment", "stop", live, "live")


def test_rows_come_from_a_file(live, tmp_path):
    (tmp_path / "sums.jsonl").write_text(rows(1) + "\n\n")
    answer = good("experiment", "tell-sums", live, "live", "--key", "k", "--file", tmp_path / "sums.jsonl", "--json")
    assert json.loads(answer) == "counted"
    for text in ("{", "[" * 200_000):
        (tmp_path / "sums.jsonl").write_text(text)
        result = invoke("experiment", "tell-sums", live, "live", "--key", "k:2", "--file", tmp_path / "sums.jsonl")
        assert result.exit_code == 2
        assert "expected a row in line 1" in result.stderr


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "--budget: a new experiment needs one"),
        (["--serve", "small", "--budget", 9], "--explore: expected with --serve"),
        (["--explore", "5%", "--budget", 9], "takes the place of budget"),
        (["--explore", "5%", "--strategy", "uniform"], "takes the place of budget"),
        (["--explore", "90%"], "from 0% to 50%"),
        (["--explore", "5%", "--serve", "huge"], "serve: expected one of"),
    ],
)
def test_options_that_contradict_each_other_are_refused(tmp_path, options, words):
    ROUTER.save(tmp_path / "problem.toml")
    result = invoke("experiment", "create", tmp_path / "y.db", "r", tmp_path / "problem.toml", *options)
    assert result.exit_code == 2
    assert words in result.stderr
    assert not (tmp_path / "y.db").exists()


def test_a_segment_that_there_is_not_is_refused(live):
    result = invoke("experiment", "weights", live, "live", "--segment", "gold")
    assert result.exit_code == 2
    assert "has no segments" in result.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("worker", "DB", "live", "--exec", "x {arm}"),
        ("experiment", "ask", "DB", "live"),
        ("experiment", "tell", "DB", "live", "t-1", "--reward", 1),
        ("experiment", "fail", "DB", "live", "t-1"),
        ("experiment", "renew", "DB", "live", "t-1"),
    ],
)
def test_live_traffic_has_no_single_trials(live, words):
    result = invoke(*(live if word == "DB" else word for word in words))
    assert result.exit_code == 2
    assert "live is on live traffic: its requests are the trials" in result.stderr
    assert f"bestmix experiment weights {live} live" in result.stderr


def test_a_list_of_trials_says_that_live_traffic_has_none(live):
    told = good("experiment", "trials", live, "live")
    assert told.startswith("There are no single trials: live is on live traffic: its requests are the trials")
    assert good("experiment", "trials", live, "live", "--json") == "[]\n"
