import csv
import json

import pytest
from tests.cli.commands import invoke

from bestmix import Instance

pytestmark = pytest.mark.usefixtures("place")


@pytest.fixture
def trials(place):
    with open("trials.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["model", "quality", "dollars"])
        for step in (-0.1, 0.0, 0.1, 0.05, -0.05):
            for k, name in enumerate(("s", "m", "l")):
                table.writerow([name, 1 + k**0.5 + step, 1 + 3 * k + step])
    return ("trials.csv", "--arm", "model", "--reward", "quality", "--bound", "dollars=5")


def run(*words):
    return invoke("tradeoff", *words)


def test_sentences_a_table_and_a_figure(place, trials):
    result = run(*trials, "--cost", "dollars", "--figure", "f.png")
    assert result.exit_code == 0, result.output
    text = " ".join(result.stdout.split())
    assert "Kept with 95% certainty, a limit on dollars that is 20% higher (6 instead of 5) would mean " in text
    assert "at the estimated means" in text
    assert "at the given means" in run("A2").stdout
    assert "stimate" not in run("A2").stdout
    assert "limit on dollars" in text
    assert (place / "f.png").stat().st_size > 1000


def test_json_and_nothing_else(trials):
    data = json.loads(run(*trials, "--json").stdout)
    assert (data["cost"], data["bound"], data["safety"], data["files"]) == ("dollars", 5.0, 0.95, [])
    assert [piece["support"] for piece in data["pieces"]] == [["s", "m"], ["m", "l"], ["l"]]


def test_instances_by_name_and_by_file(place):
    assert "limit on cost1 of 1" in run("D3P", "--cost", "cost1").stdout
    Instance([1.0, 2.0], [[0.0, 2.0]], [1.0], costs=["euros"]).save("mine.toml")
    assert "euros" in run("mine.toml").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("D3P", "--cost", "euros"), "expected one of cost0, cost1"),
        (("D3P", "--bound", "cost0=2"), "an instance has its own bounds"),
        (("none.csv", "--bound", "dollars=2"), "none.csv"),
        (("nonsense",), "check the spelling"),
    ],
)
def test_mistakes_are_one_line(words, message):
    result = run(*words)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output
