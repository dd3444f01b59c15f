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


ROWS = "model;quality;dollars;tier\n" + "".join(
    f"{arm};{quality + 0.1 * k};{dollars + 0.2 * k};{tier}\n"
    for tier, more in (("free", 0.0), ("paid", 1.0))
    for arm, quality, dollars in (("small", 0.3, 0.5), ("large", 0.9 + more, 4.0))
    for k in range(3)
)
TIERS = "tier=free", "tier=paid"
LOG = ["--arm", "model", "--reward", "quality", "--bound", "dollars=2"]


def test_a_log_is_explained_by_its_estimates(place):
    (place / "log.csv").write_text(ROWS)
    data = json.loads(invoke("explain", "log.csv", *LOG, "--json").stdout)
    assert data["binding"] == ["dollars"]
    values = [json.loads(invoke("explain", "log.csv", *LOG, "--segment", tier, "--json").stdout) for tier in TIERS]
    assert (
        values[0]["shadow_prices"]["dollars"] < data["shadow_prices"]["dollars"] < values[1]["shadow_prices"]["dollars"]
    )


def test_a_log_with_all_its_segments_and_an_instance_of_segments(place):
    (place / "log.csv").write_text(ROWS)
    data = json.loads(invoke("explain", "log.csv", *LOG, "--segment", "tier", "--json").stdout)
    assert set(data["by_segment"]) == {"free", "paid"}
    result = invoke("explain", "S3L1", "--figure", "e.png", "--report", "e.html")
    assert result.exit_code == 0
    assert "segment1: arm0." in result.stdout
    assert "more than the best mix for all segments alike" in (place / "e.html").read_text()
    assert (place / "e.png").stat().st_size > 10_000


def test_a_log_of_steps(place):
    rows = [
        f"{state},{action},{reward + step},{euros + step},{then}"
        for state, action, reward, euros in (
            ("on", "a", 1, 1),
            ("on", "b", 2, 3),
            ("off", "a", 0.5, 1),
            ("off", "b", 2, 4),
        )
        for step, then in ((0.0, "on"), (0.1, "off"), (0.2, "on"))
    ]
    (place / "steps.csv").write_text("\n".join(["state,action,reward,euros,next", *rows]))
    steps = ("--arm", "action", "--segment", "state", "--discount", "0.9", "--start", "on", "--bound", "euros=2")
    assert "with a mix for each state" in invoke("explain", "steps.csv", *steps).stdout
    moved = json.loads(invoke("tradeoff", "steps.csv", *steps, "--json").stdout)
    assert (moved["cost"], len(moved["pieces"]) > 1) == ("euros", True)


def test_a_log_of_arms_with_features(place):
    lines = [f"{row};{row.split(';')[0]}" for row in ROWS.splitlines()[1:] * 2]
    (place / "log.csv").write_text("\n".join([ROWS.splitlines()[0] + ";kind", *lines]))
    data = json.loads(invoke("explain", "log.csv", *LOG, "--feature", "kind", "--json").stdout)
    plain = json.loads(invoke("explain", "log.csv", *LOG, "--json").stdout)
    assert data["mixture"] == pytest.approx(plain["mixture"])  # a name for each arm says nothing of the others


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["explain", "A1", "--segment", "tier=free"], "--segment: expected with a log of trials only"),
        (
            ["explain", "log.csv", *LOG, "--segment", "tier="],
            "expected a column, or one segment as in tier=free, got 'tier='",
        ),
        (["explain", "log.csv", *LOG, "--segment", "tier=x"], "expected one of ['free', 'paid'], got 'x'"),
        (["explain", "log.csv", "--arm", "model"], "there is no column 'reward'"),
        (["explain", "D9P"], "expected a .toml or .json file or one of D1P"),
        (["explain", "A1", "--report", "p.txt"], "expected a report's name to end in .html"),
    ],
)
def test_mistakes(place, words, complaint):
    (place / "log.csv").write_text(ROWS)
    result = invoke(*words)
    assert result.exit_code == 2
    assert complaint in result.stderr
