import json

import pytest
from tests.cli.commands import invoke

from bestmix import Instance

pytestmark = pytest.mark.usefixtures("place")


def test_a_table_and_a_figure_with_challenger_beside(place):
    result = invoke("limit", "A1", "--runs", 1, "--figure", "l.svg")
    assert result.exit_code == 0, result.output
    words = " ".join(result.stdout.split())
    assert "makes at least 3,241 trials here on average" in words
    assert "Challenger's share" in words
    assert "attains the limit" in (place / "l.svg").read_text()


def test_what_the_table_shows_stands_above_it_in_one_line():
    lines = invoke("limit", "A1").stdout.splitlines()
    assert any(line.startswith("Shares of trials that attain it; characteristic time") for line in lines)
    assert any("proven up to" in line and line.startswith("Shares") for line in lines)


def test_a_log_with_an_arm_that_never_varies(place):
    rows = ["arm,reward", *(f"steady,2.0\nloud,{1.0 + (-1) ** k}\nnear,{1.2 + (-1) ** k}" for k in range(20))]
    (place / "pilot.csv").write_text("\n".join(rows) + "\n")
    data = json.loads(invoke("limit", "pilot.csv", "--json").stdout)
    variance = (20 + 5 * 40 / 57) / 24  # an arm's own, blended with that of all
    assert data["characteristic_time"] == pytest.approx((2 / 1 + 2 / 0.64) * variance, rel=1e-3)
    assert set(data["shares"]) == {"loud", "near"}


def test_as_json():
    data = json.loads(invoke("limit", "A1", "--delta", 0.01, "--json").stdout)
    assert data["proven"]
    assert sum(data["shares"].values()) == pytest.approx(1.0)
    assert data["characteristic_time"] <= data["characteristic_time_upper"]
    assert data["challenger"] is None


def test_with_a_tolerance_there_are_two_bounds(place):
    Instance([1.0, 0.0], [[0.0, 0.5]], [2.0]).save(place / "two.toml")
    words = "limit", "two.toml", "--tolerance", 0.25, "--limit-tolerance", "cost0=0.1"
    result = invoke(*words, "--figure", "t.svg")
    assert result.exit_code == 0, result.output
    told = " ".join(result.stdout.split())
    assert "earns 0.25 less or one that exceeds a limit by 0.1 is as good" in told
    assert "characteristic time between" in told
    assert "are enough" in (place / "t.svg").read_text()
    data = json.loads(invoke(*words, "--json").stdout)
    assert data["limit_tolerance"] == {"cost0": 0.1}
    share = json.loads(invoke("limit", "two.toml", "--tolerance", "10%", "--json").stdout)
    assert share["tolerance"] == pytest.approx(0.1)  # of the best mix, which earns 1
    assert data["trials"] <= data["trials_upper"] < json.loads(invoke("limit", "two.toml", "--json").stdout)["trials"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["limit", "D9P"], "expected a .toml or .json file or one of D1P"),
        (["limit", "A1", "--delta", "50%"], "delta: expected a number between 0 and 0.5"),
        (["limit", "A1", "--tolerance", "-1"], "tolerance: expected a positive amount of reward, or a share"),
        (["limit", "A1", "--limit-tolerance", "euros=1"], "limit_tolerance: expected one of"),
        (["limit", "A1", "--limit-tolerance", "much"], "--limit-tolerance: expected name=number"),
        (["limit", "A1", "--figure", "p.gif"], "expected a figure's name to end in"),
    ],
)
def test_mistakes(words, complaint):
    result = invoke(*words)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_a_log_is_taken_for_the_truth(place):
    rows = ["a,0.0,0.0", "a,2.0,0.2", "b,0.5,0.8", "b,-0.5,1.2"]
    (place / "pilot.csv").write_text("\n".join(["model,quality,dollars", *rows]))
    words = "limit", "pilot.csv", "--arm", "model", "--reward", "quality", "--bound", "dollars=5"
    result = invoke(*words)
    assert result.exit_code == 0, result.output
    assert "here on average" in " ".join(result.stdout.split())
    assert "got guessed means" in invoke("limit", "A1", "--bound", "dollars=5").stderr
