import json

import pytest
from tests.cli.commands import invoke

pytestmark = pytest.mark.usefixtures("place")


def test_the_text_the_figure_and_the_page(place):
    result = invoke("explain", "A2", "--figure", "e.svg", "--report", "e.html")
    assert result.exit_code == 0, result.output
    heads = ("The best mix", "The bounds", "What could change it", "What can be dropped at once")
    assert all(head in result.stdout for head in heads)
    assert "margin (standard deviations of one trial)" in (place / "e.svg").read_text()
    assert all(head in (place / "e.html").read_text() for head in heads[1:])


def test_json():
    data = json.loads(invoke("explain", "A2", "--json").stdout)
    assert data["binding"] == ["cost0"]
    assert data["gaps"]["basis"] == ["arm9", "arm11"]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["explain", "D9P"], "expected a .toml or .json file or one of D1P"),
        (["explain", "A1", "--report", "p.txt"], "expected a report's name to end in .html"),
    ],
)
def test_mistakes(words, complaint):
    result = invoke(*words)
    assert result.exit_code == 2
    assert complaint in result.stderr
