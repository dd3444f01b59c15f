import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from bestmix import plots, reproduction
from bestmix.cli import app
from bestmix.cli import reproduce as command


def run(*words):
    return CliRunner().invoke(app, ["reproduce", *map(str, words)])


def test_all_figures(tmp_path, monkeypatch):
    def make(name, folder, runs, seed, **options):
        files = tuple(folder / f"{name}.{kind}" for kind in ("png", "csv"))
        return reproduction.Made(name, f"caption of {name}", files, 0.1)

    monkeypatch.setattr(reproduction, "reproduce", make)
    result = run("--output", tmp_path / "r", "--runs", 2000)
    assert result.exit_code == 0, result.output
    for name in reproduction.FIGURES:
        assert f"{name}: {command.DOING[name]}" in result.stdout
        assert f"caption of {name}" in result.stdout
        assert f"{name}.png  {name}.csv" in result.stdout
    assert "A: SFSR, SFSR-L and USLP on A1 to A3, 2,000 runs a cell" in result.stdout
    assert "Done in" in result.stdout


def test_json(tmp_path):
    result = run("--figure", "a", "--output", tmp_path, "--runs", 2, "--seed", 5, "--json")
    data = json.loads(result.stdout)
    (made,) = data["figures"]
    assert made["name"] == "A"
    assert "seed 5" in made["caption"]
    assert made["files"] == [str(tmp_path / f"A.{kind}") for kind in ("png", "svg", "csv", "txt")]
    assert data["seconds"] >= made["seconds"] > 0


def test_every_figure_can_be_asked_for():
    assert {name.value for name in command.Name} == {*reproduction.FIGURES, *reproduction.BEYOND, "all"}
    assert set(command.DOING) == set(reproduction.FIGURES)
    assert set(command.MORE) == set(reproduction.BEYOND)


def test_the_long_figures_are_made_only_when_asked_for(tmp_path, monkeypatch):
    asked = []

    def make(name, folder, runs, seed, **options):
        asked.append((name, runs, options["instances"]))
        return reproduction.Made(name, f"caption of {name}", (), 0.1, f"| table of {name} [bold] |")

    monkeypatch.setattr(reproduction, "reproduce", make)
    assert run("--output", tmp_path).exit_code == 0
    assert [name for name, _, _ in asked] == list(reproduction.FIGURES)
    asked.clear()
    result = run("--output", tmp_path, "--figure", "beyond", "--instances", 3, "--runs", 9)
    assert asked == [("beyond", 9, 3)]
    assert "| table of beyond [bold] |" in result.stdout
    assert "calibration" in run("--help").stdout
    assert "beyond" in run("--help").stdout


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--figure", "B"], "'B'"),
        (["--runs", "0"], "--runs"),
        (["--figure", "beyond", "--instances", "0"], "--instances"),
        (["--figure", "D", "--instances", "5"], "expected --figure beyond or rivals with it, got D"),
        (["--output", "FILE"], "expected a folder, got the file"),
    ],
)
def test_mistakes(tmp_path, words, complaint):
    (tmp_path / "file").write_text("")
    result = run(*(str(tmp_path / "file") if word == "FILE" else word for word in words))
    assert result.exit_code == 2
    assert complaint in result.stderr


def test_without_matplotlib_the_remedy_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(plots.theme, "available", lambda: False)
    result = run("--output", tmp_path / "r")
    assert result.exit_code == 2
    assert "install bestmix[plots]" in result.stderr
    assert not (tmp_path / "r").exists()


def test_ctrl_c_is_a_sentence(tmp_path, monkeypatch):
    def stop(*given, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduction, "reproduce", stop)
    result = run("--output", tmp_path)
    assert result.exit_code == 130
    assert "the same command goes on from there" in result.stderr


def test_help_is_light():
    heavy = ["numba", "numpy", "scipy", "matplotlib", "distributed"]
    code = f"import sys; import bestmix.cli; print(*(m for m in {heavy} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []
