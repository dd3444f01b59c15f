import json
import signal
import time

import pytest
from tests.cli.commands import good, invoke
from tests.processes import start_bestmix
from typer.testing import CliRunner

from bestmix import SFSR, Instance, Uniform, families, sweep
from bestmix.cli import app
from bestmix.kernels import jit

MODULE = """
import time
from pathlib import Path
from bestmix import Uniform

def work(*arrays):
    with open("begun.txt", "a") as file:
        file.write("x")
    if len(Path("begun.txt").read_text()) > 1:  # the first one is tried out before
        time.sleep(60)

class InProcesses(Uniform):
    name = "in processes"
    compiled = False

    def replicator(self, instance, budget):
        return Work(self.compiled)

class InThreads(InProcesses):
    name = "in threads"
    compiled = True

class Work:
    def __init__(self, compiled):
        self.compiled = compiled

    def __call__(self, *arrays):
        work(*arrays)

threads, processes = InThreads(), InProcesses()
"""
TINY = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], arms=["a", "b", "c"], costs=["dollars"])


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TINY.save(tmp_path / "tiny.toml")
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["compare", *map(str, words)])


def test_table_and_figure(place):
    words = ["--strategy", "sfsr", "--strategy", "uniform", "--budget", 40, "--budget", 80, "--runs", 50]
    result = run("tiny.toml", *words, "--figure", "f.svg", "--csv", "t.csv")
    assert result.exit_code == 0, result.output
    assert "tiny: wrong answers in % of 50 runs" in result.stdout
    drawn = (place / "f.svg").read_text()
    assert all(word in drawn for word in ("mean dollars", "arms of the best mix", "USLP", "error rate"))
    assert "Saved t.csv" in result.stdout
    assert len((place / "t.csv").read_text().splitlines()) == 5


def test_json_has_the_numbers_of_the_sweep():
    result = run("tiny.toml", "--strategy", "sfsr", "--strategy", "uniform", "--budget", 40, "--runs", 50, "--json")
    data = json.loads(result.stdout)
    expected = sweep({"tiny": TINY}, [SFSR(), Uniform()], [40], runs=50)
    assert [(row["strategy"], row["errors"]) for row in data["rows"]] == [(c.strategy, c.errors) for c in expected]
    assert data["instance"] == "tiny.toml"


@pytest.mark.parametrize(("by", "words"), [("loss", "mean loss of 50 runs"), ("kept", "mixes that keep all limits")])
def test_by_what_the_mix_loses_or_keeps(place, by, words):
    result = run("tiny.toml", "--strategy", "uniform", "--budget", 40, "--runs", 50, "--by", by, "--figure", "f.svg")
    assert result.exit_code == 0, result.output
    assert words in result.stdout
    assert {"loss": "mean loss", "kept": "keep all limits"}[by] in (place / "f.svg").read_text()


def test_defaults_and_names_of_the_catalog():
    data = json.loads(run("D1P", "--runs", 1, "--json").stdout)
    assert list(dict.fromkeys(row["strategy"] for row in data["rows"])) == ["Challenger", "SFSR", "SFSR-L", "USLP"]
    budgets = [row["budget"] for row in json.loads(run("tiny.toml", "--runs", 1, "--json").stdout)["rows"]]
    assert budgets[:9] == [30 * 2**k for k in range(9)]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["D9P"], "instance D9P: expected a .toml or .json file or one of D1P"),
        (["none.toml"], "none.toml: there is no such file"),
        (["D1P", "--strategy", "best"], "--strategy best: expected one of challenger, sfsr, sfsr-l, uniform, single"),
        (["D1P", "--strategy", "sfsr", "--strategy", "sfsr"], "--strategy: 'sfsr' is listed twice"),
        (["D1P", "--budget", "3"], "challenger on D1P with budget 3: budget: expected at least 24 trials"),
        (["D1P", "--budget", "100", "--budget", "100"], "budgets: 100 is listed twice"),
        (["D1P", "--budget", "0"], "--budget"),
        (["D1P", "--figure", "f.gif"], "expected a figure's name to end in"),
        (["D1P", "--rivals", "--strategy", "sfsr"], "--rivals: expected no --strategy"),
        (["D1P", "--rivals", "--strategy", "no such"], "--rivals: expected no --strategy"),
        (["D1P", "--rivals", "--arriving"], "--rivals: expected no --arriving"),
        (["D1P", "--rivals", "--by", "loss"], "--rivals: expected no --by"),
    ],
)
def test_mistakes(words, complaint):
    result = run(*words)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_an_instance_with_segments(place, monkeypatch):
    monkeypatch.setattr(jit, "machine", jit._in_python)
    families.random_segments(2, arms=3, costs=1, seed=3, margin=0.2).save(place / "two.toml")
    words = ["two.toml", "--budget", 90, "--runs", 4, "--threads", 1]
    result = run(*words, "--figure", "f.svg", "--arriving", "--by", "loss")
    assert result.exit_code == 0, result.output
    assert all(name in result.stdout for name in ("Challenger", "SFSR-L", "USLP"))
    assert "of users" in (place / "f.svg").read_text()
    refused = run(*words, "--strategy", "sfsr")
    assert refused.exit_code == 2
    assert "2 segments; use Challenger(), Uniform()" in " ".join(refused.output.split())
    assert "users arrive in segments" in " ".join(run("tiny.toml", "--arriving", "--runs", 1).output.split())


def test_states_are_served_by_challenger_and_uniform(tmp_path):
    families.random_markov(3, 2, 1, seed=2).save(tmp_path / "i.toml")
    words = ["compare", tmp_path / "i.toml", "--budget", "60", "--runs", "5", "--figure", tmp_path / "f.png"]
    text = good(*words)
    assert "Challenger" in text
    assert "SFSR" not in text
    assert (tmp_path / "f.png").stat().st_size > 10_000
    result = invoke(*words, "--strategy", "sfsr-l")
    assert "SFSR-L knows no states, got 3 states; use Challenger() or Uniform()" in " ".join(result.output.split())
    assert "with a mix for each state" in good("explain", tmp_path / "i.toml", "--figure", tmp_path / "e.png")


@pytest.mark.parametrize("where", ["threads", "processes"])
def test_ctrl_c_does_not_wait_for_runs_at_work(place, where):
    (place / "slow.py").write_text(MODULE)
    words = ["--strategy", f"slow:{where}", "--budget", 40, "--runs", 20_000, "--threads", 2, "--csv", "t.csv"]
    process = start_bestmix("compare", "tiny.toml", *words)
    begun, deadline = place / "begun.txt", time.monotonic() + 60
    while not (begun.exists() and len(begun.read_text()) > 1):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=20)  # the pipes are closed when the worker processes have ended too
    assert process.returncode == 130, error
    assert error == "Stopped before the end.\n"
    assert sorted(path.name for path in place.iterdir() if not path.name.startswith("__")) == [
        "begun.txt",
        "slow.py",
        "tiny.toml",
    ]
