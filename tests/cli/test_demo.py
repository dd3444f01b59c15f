import json

import pytest
from typer.testing import CliRunner

from bestmix import Policy, from_log
from bestmix.cli import app, codecs, demo


@pytest.fixture
def texts(tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    for i in range(4):
        (folder / f"{i}.txt").write_text("".join(f"line {j * j % (97 + i)} of text\n" for j in range(4000)))
    return folder


def run_demo(*words):
    return CliRunner().invoke(app, ["demo", *map(str, words)])


def test_results_are_saved_and_told(tmp_path, texts):
    out = tmp_path / "out"
    result = run_demo("--output", out, "--files", texts, "--budget", 60, "--strategy", "sfsr-l")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in out.iterdir()) == [
        "figure.png", "figure.svg", "policy.json", "recommendation.json", "report.html", "trials.csv",
    ]  # fmt: skip
    for part in ("a third of the slowest codec", "half-way between", "bestmix solve", "Saved in"):
        assert part in " ".join(result.stdout.split())
    assert "rejected" in result.stderr
    rec = json.loads((out / "recommendation.json").read_text())
    assert from_log(out / "trials.csv", reward="saved").trials == rec["trials"] <= 60
    assert Policy.load(out / "policy.json").weights == pytest.approx(rec["mixture"])
    assert "The bounds come from a pilot" in (out / "report.html").read_text()


def test_json(tmp_path, texts):
    result = run_demo("--output", tmp_path / "out", "--files", texts, "--budget", 18, "--strategy", "uniform", "--json")
    data = json.loads(result.stdout)
    assert data["recommendation"]["trials"] == 18
    assert set(data) == {"recommendation", "rule", "comparison", "files"}


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--files", "/no/such/file"], "there is no /no/such/file"),
        (["--budget", "3"], "expected at least 9 trials"),
        (["--budget", "0"], "--budget"),
    ],
)
def test_mistakes(tmp_path, words, part):
    result = run_demo("--output", tmp_path / "out", *words)
    assert result.exit_code == 2
    assert part in result.stderr


def test_too_little_to_compress(tmp_path):
    (tmp_path / "small").write_text("x")
    assert "expected at least" in run_demo("--files", tmp_path / "small").stderr


class Pretend:
    """Codecs with set means, to see which bounds they lead to."""

    def __init__(self, means):
        self.codecs = means

    def __call__(self, arm):
        reward, *costs = self.codecs[arm]
        return reward, dict(zip(codecs.COSTS, costs, strict=True))


def test_the_bounds_call_for_a_true_mix():
    from rich.console import Console

    means = {"fast": (0.7, 30.0, 3.0), "block": (0.76, 65.0, 26.0), "strong": (0.77, 300.0, 15.0)}
    limits = demo.set_bounds(Pretend(means), Console(quiet=True))
    assert limits.bounds["compress_ms"] == 100
    columns = {name: [row[i] for row in means.values()] for i, name in enumerate(["reward", *codecs.COSTS])}
    rec = from_log({"arm": list(means), **columns}, bounds=limits.bounds)
    assert len(rec.support) >= 2
    assert min(rec.mixture.values()) > 0.05
    assert "No single codec" in demo.compare(rec)  # one trial each is too little to be sure of any
