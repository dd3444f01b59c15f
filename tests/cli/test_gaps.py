import json
import math
from types import SimpleNamespace

import pytest
from tests.cli.commands import invoke

from bestmix.cli import gaps

pytestmark = pytest.mark.usefixtures("place")


def test_gaps_bounds_and_their_figure(place):
    words = ["--bases", "--budget", 100_000, "--figure", "g.svg", "--runs", 100]
    result = invoke("gaps", "A1", *words)
    assert result.exit_code == 0, result.output
    assert "support infeasible" in result.stdout
    assert "the 40 nearest of 135" in " ".join(result.stdout.split())
    assert "With 100,000 trials SFSR is wrong in at most" in result.stdout
    assert "makes at least 3,241 trials here on average" in " ".join(result.stdout.split())
    assert "Theorem 1" in (place / "g.svg").read_text()


def test_gaps_as_json():
    data = json.loads(invoke("gaps", "A1", "--bases", "--budget", 1000, "--json").stdout)
    assert len(data["bases"]) == 136
    assert data["bounds"]["upper"] == 1.0
    assert data["delta0"]["proven"]
    assert data["limit"]["trials"] > 3000


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["gaps", "D9P"], "expected a .toml or .json file or one of D1P"),
        (["gaps", "A1", "--budget", "3"], "budget: expected a whole number of at least 17"),
        (["gaps", "A1", "--figure", "p.gif"], "expected a figure's name to end in"),
    ],
)
def test_mistakes(words, complaint):
    result = invoke(*words)
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_gaps_that_are_proven_are_not_said_to_be_the_best_found():
    known = SimpleNamespace(proven=False, upper=1.0, budget=100, noise="n", sfsr_exponent=0.0, any_exponent=math.inf)
    assert "best found" not in gaps._bounds(known, gaps_proven=True)
    assert "best found" in gaps._bounds(known, gaps_proven=False)


def test_a_log_has_the_gaps_of_its_estimates(place):
    rows = [
        f"{arm},{r + step},{c + step}"
        for arm, r, c in (("s", 1, 0), ("m", 1.6, 1), ("l", 2, 2))
        for step in (-0.2, 0.0, 0.2)
    ]
    (place / "pilot.csv").write_text("\n".join(["model,quality,dollars", *rows]))
    result = invoke("gaps", "pilot.csv", "--arm", "model", "--reward", "quality", "--bound", "dollars=1.5", "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert data["basis"] == ["m", "l"]
    assert "expected with a log of trials only" in invoke("gaps", "A1", "--bound", "dollars=1").stderr
