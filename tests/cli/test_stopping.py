import json

import pytest
from typer.testing import CliRunner

from bestmix import Instance, Problem, open_storage
from bestmix.cli import app, stopping
from bestmix.strategies import Challenger

GOOD = ["--confidence", "0.95", "--tolerance", "0.5"]
TRIAL = """sh -c 'echo "{\\"reward\\": 1.0, \\"dollars\\": 0.5}"' {arm}"""


def invoke(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Problem(["a", "b"], {"dollars": 1.0}).save("problem.toml")
    Instance([1.0, 2.0], [[0.5, 2.0]], [1.0], sigma_reward=0.1, sigma_cost=0.1).save("instance.toml")
    return tmp_path


def test_scales_and_ranges_are_for_all_metrics_or_each():
    assert stopping.parse_scales([]) is None
    assert stopping.parse_scales(["0.25"]) == 0.25
    assert stopping.parse_scales(["reward=1", "dollars=0.5"]) == {"reward": 1.0, "dollars": 0.5}
    assert stopping.parse_ranges([]) is None
    assert stopping.parse_ranges(["a=b=-1,1e3"]) == {"a=b": (-1.0, 1000.0)}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--tolerance", "1%"], "--tolerance: expected a confidence"),
        ([*GOOD, "--proven"], "--proven: expected a confidence, and the scale of the noise"),
        ([*GOOD, "--proven", "--sigma", "1", "--range", "reward=0,1"], "either as --sigma or as --range"),
        (["--proven", "--sigma", "1"], "--proven: expected a confidence"),
        ([*GOOD, "--sigma", "1"], "only --proven uses the scale"),
        ([*GOOD, "--proven", "--sigma", "x"], "--sigma: expected name=number"),
        ([*GOOD, "--proven", "--sigma", "reward=1"], "sigma: expected one value for each metric"),
        ([*GOOD, "--proven", "--range", "reward=1"], "--range: expected name=low,high"),
        ([*GOOD, "--proven", "--range", "=0,1"], "--range: expected every metric's name once"),
        ([*GOOD, "--proven", "--range", "reward=0,1"], "ranges: expected"),
        ([*GOOD, "--proven", "--range", "reward=1,0", "--range", "dollars=0,1"], "ranges: expected the lowest"),
    ],
)
def test_mistakes_are_told_before_any_trial(place, words, complaint):
    result = invoke("run", "problem.toml", "--budget", 50, "--exec", "false {arm}", *words)
    assert result.exit_code == 2
    assert complaint in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert not list(place.glob("*.db")) + list(place.glob("*.run.json"))


def test_the_last_trials_may_go_to_the_margin(place):
    made = invoke("experiment", "create", "x.db", "x", "problem.toml", "--budget", 500, "--margin-share", 0.3)
    assert made.exit_code == 0, made.output
    with open_storage("x.db") as storage:
        assert storage.open("x").strategy == Challenger(margin_share=0.3)
    for words in (["--margin-share", 1.5], ["--margin-share", 0.3, "--confidence", 0.9]):
        result = invoke("experiment", "create", "x.db", "y", "problem.toml", "--budget", 500, *words)
        assert "margin_share: expected a share between 0 and 1 of a fixed budget" in result.stderr
    words = ["--margin-share", 0.3, "--strategy", "uniform"]
    result = invoke("experiment", "create", "x.db", "y", "problem.toml", "--budget", 500, *words)
    assert "--margin-share: only challenger has it, got --strategy uniform" in result.stderr


def test_a_range_alone_is_for_rare_events(place):
    words = ["experiment", "create", "x.db", "x", "problem.toml", "--budget", 500, "--range"]
    assert invoke(*words, "reward=0,50").exit_code == 0
    with open_storage("x.db") as storage:
        assert storage.open("x").strategy.to_dict()["ranges"] == {"reward": [0.0, 50.0]}
    result = invoke("experiment", "create", "x.db", "y", "problem.toml", "--budget", 500, "--range", "sales=0,50")
    assert "ranges: expected names of metrics: 'reward', 'dollars', got 'sales'" in result.stderr


def test_a_proven_run_stops_and_recommends_what_it_proved(place):
    words = ["run", "problem.toml", "--budget", 500, "--exec", TRIAL, "--json"]
    proven = invoke(*words, *GOOD, "--proven", "--range", "reward=0.9,1.1", "--range", "dollars=0.4,0.6")
    assert proven.exit_code == 0, proven.output
    answer = json.loads(proven.stdout)
    assert answer["trials"] < 100
    assert answer["strategy"] == "Challenger[0.95, within 0.5, proven]"
    assert answer["certified"]
    outside = invoke(*words, *GOOD, "--proven", "--range", "reward=2,3", "--range", "dollars=0,1", "--fresh")
    assert outside.exit_code == 2
    assert "reward: expected values from 2 to 3" in outside.stderr


def test_an_experiment_and_a_comparison_can_be_proven(place):
    scale = ["--proven", "--sigma", "reward=0.1", "--sigma"]
    made = invoke("experiment", "create", "x.db", "x", "problem.toml", "--budget", 500, *GOOD, *scale, "dollars=0.2")
    assert made.exit_code == 0, made.output
    with open_storage("x.db") as storage:
        strategy = storage.open("x").strategy
    sigma = {"reward": 0.1, "dollars": 0.2}
    assert strategy == Challenger(confidence=0.95, tolerance="0.5", proven=True, sigma=sigma)
    words = ["compare", "instance.toml", "--strategy", "challenger", "--budget", 2000, "--runs", 2, "--json"]
    result = invoke(*words, *GOOD, *scale, "cost0=0.1")
    assert result.exit_code == 0, result.output
    (cell,) = json.loads(result.stdout)["rows"]
    assert cell["strategy"] == "Challenger[0.95, within 0.5, proven]"
    assert cell["pulls_mean"] < 2000


def test_chances_may_be_percentages(place):
    words = "run", "problem.toml", "--budget", 100, "--exec", TRIAL
    assert invoke(*words, "--confidence", "95%").exit_code == 0
    assert json.loads((place / "problem.run.json").read_text())["strategy"]["confidence"] == 0.95
    result = invoke(*words, "--confidence", "x%")
    assert result.exit_code == 2
    assert "'--confidence': expected a number such as 0.95, or 95%, got 'x%'" in result.stderr
    assert "confidence: expected a number between 0 and 1" in invoke(*words, "--confidence", "95").stderr
    made = invoke("experiment", "create", "x.db", "x", "problem.toml", "--budget", 500, "--margin-share", "30%")
    assert made.exit_code == 0, made.output
