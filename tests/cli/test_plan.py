import json

import numpy as np
import pytest
from typer.testing import CliRunner

from bestmix import Instance, Uniform, plan
from bestmix.cli import app

GUESS = Instance([1.7, 2.6, 0.5], [[0.0, 1.8, 0.8]], [1.0], arms=["a", "b", "c"], costs=["dollars"])
QUICK = ("--strategy", "uniform", "--runs", 200, "--draws", 2)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    GUESS.save(tmp_path / "guess.toml")
    return tmp_path


def run(*words):
    return CliRunner().invoke(app, ["plan", *map(str, words)])


def test_a_table_and_a_figure(place):
    result = run("guess.toml", "--error", "10%", "--strategy", "uniform", "--strategy", "sfsr", "--runs", 200)
    assert result.exit_code == 0, result.output
    words = (
        "Plan ",
        "Trials for an error of 0.1",
        "USLP",
        "by Theorem 1",
        "Hard because",
        "Guesses a little off",
    )
    assert all(word in result.stdout for word in words)
    assert "Saved guess-plan.png" in result.stdout
    assert (place / "guess-plan.png").stat().st_size > 10_000


def test_json_has_the_numbers_of_the_plan(place):
    result = run("guess.toml", *QUICK, "--no-figure", "--json", "--seed", 3)
    data = json.loads(result.stdout)
    wanted = plan(GUESS, 0.05, [Uniform()], runs=200, draws=2, seed=3).to_dict()
    assert data == {**json.loads(json.dumps(wanted)), "files": []}
    assert not (place / "guess-plan.png").exists()


def test_a_pilot_log(place):
    rng = np.random.default_rng(0)
    rows = [f"{n},{r},{c}" for a, n in enumerate("abc") for r, c in GUESS.draw(a, 30, rng)]
    (place / "pilot.csv").write_text("\n".join(["model,quality,dollars", *rows]))
    words = ["--arm", "model", "--reward", "quality", "--bound", "dollars=1", "--figure", "p.svg"]
    result = run("pilot.csv", *QUICK, *words)
    assert result.exit_code == 0, result.output
    assert "trials" in (place / "p.svg").read_text()
    assert result.stdout.startswith("Means of a pilot may be luck: in 2 draws around them USLP needs about ")
    assert "from the least to the most" in " ".join(result.stdout.split())


def test_what_each_theoretical_number_is_about():
    told = " ".join(run("guess.toml", *QUICK, "--no-figure").stdout.split())
    assert "promise the error whatever the means is more than a fixed budget does. An algorithm" in told
    assert "With a fixed budget, as here, any consistent algorithm needs at least about" in told


def test_the_default_strategy_is_among_those_that_help_names():
    assert "challenger, sfsr," in " ".join(run("--help").stdout.replace("│", " ").split())


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["none.toml"], "there is no such file"),
        (["D9P"], "expected a .toml or .json file or one of D1P"),
        (["none.csv"], "there is no file none.csv"),
        (["guess.toml", "--bound", "dollars=1"], "--bound: expected with a log of trials only"),
        (["guess.toml", "--feature", "model"], "--feature: expected with a log of trials only"),
        (["guess.toml", "--discount", "0.9"], "--discount: expected with a log of trials only"),
        (["guess.toml", "--start", "idle"], "--start: expected --discount with it"),
        (["guess.toml", "--error", "2"], "error: expected a probability"),
        (["guess.toml", "--strategy", "best"], "--strategy best: expected one of challenger, sfsr"),
        (["guess.toml", "--figure", "f.gif"], "expected a figure's name to end in"),
        (["guess.toml", "--pilot", "0"], "pilot: expected a positive number"),
    ],
)
def test_mistakes(words, complaint):
    result = run(*words)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_money(place):
    prices = ["--price", "a=1", "--price", "b=20", "--price", "c=5"]
    result = run("guess.toml", *QUICK, "--in", "cents", *prices, "--error", 0.3, "--runs", 20, "--threads", 1)
    assert result.exit_code == 0, result.output
    assert "Cents for an error of 0.3" in result.stdout
    assert " cents with USLP, about " in " ".join(result.stdout.split())
    assert (place / "guess-plan.png").exists()
    wrong = run("guess.toml", *QUICK, "--in", "euros")
    assert wrong.exit_code == 2
    assert "one of the costs: dollars" in wrong.output
