import subprocess
import sys

import pytest
import typer
from tests.cli.commands import invoke
from typer.testing import CliRunner

from bestmix import __version__
from bestmix.cli import common

HEAVY = ("numba", "numpy", "scipy", "matplotlib", "pandas")


def raiser(error):
    made = typer.Typer(cls=common.Commands)

    @made.callback()
    def root():
        pass

    @made.command()
    def go():
        raise error

    return CliRunner().invoke(made, ["go"])


@pytest.mark.parametrize("words", [["--help"], ["demo", "--help"], ["run", "--help"], ["--version"]])
def test_help_loads_nothing_heavy(words):
    code = f"""
import sys
sys.argv = ["bestmix", *{words!r}]
from bestmix.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code
print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


@pytest.mark.parametrize("command", ["demo", "solve", "run", "instances"])
def test_every_command_has_help_with_an_example(command):
    result = invoke(command, "--help")
    assert result.exit_code == 0
    assert f"Example: bestmix {command}" in result.stdout
    assert "--json" in result.stdout


def test_version_and_bare_command():
    assert invoke("--version").stdout.strip() == f"bestmix {__version__}"
    assert "Usage" in invoke().stdout


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["bogus"], "No such command 'bogus'"),
        (["--bogus"], "No such option: --bogus"),
        (["solve"], "Missing argument"),
        (["run", "p.toml", "--exec", "x {arm}"], "Missing option '--budget'"),
        (["demo", "--budget", "few"], "--budget"),
        (["demo", "--strategy", "best"], "'sfsr', 'sfsr-l', 'uniform'"),
    ],
)
def test_wrong_usage_is_one_line(words, part):
    result = invoke(*words)
    assert result.exit_code == 2
    assert part in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stderr.startswith("Error: ")


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (ValueError("reward: expected\n a number"), 2, "Error: reward: expected a number\n"),
        (RuntimeError("call ask"), 2, "Error: call ask\n"),
        (ArithmeticError("did not settle"), 2, "Error: did not settle\n"),
        (FileNotFoundError(2, "No such file or directory", "a.csv"), 2, "Error: a.csv: No such file"),
        (KeyboardInterrupt(), 130, "Stopped before the end.\n"),
    ],
)
def test_errors_become_one_line(error, code, text):
    result = raiser(error)
    assert result.exit_code == code
    assert result.stderr.startswith(text)
    assert "Traceback" not in result.output


def test_markup_in_an_error_is_shown_as_it_is():
    assert "[red]x[/red]" in raiser(ValueError("[red]x[/red]")).stderr


@pytest.mark.parametrize("text", ["dollars", "dollars=", "=5", "dollars=five", "dollars=nan", "dollars=-inf"])
def test_bad_bounds_are_refused(text):
    with pytest.raises(ValueError, match="expected name=number"):
        common.parse_bounds([text])


def test_bounds_take_odd_names_and_numbers():
    assert common.parse_bounds(["a=b=1e-3", "loss=-2"]) == {"a=b": 1e-3, "loss": -2.0}
    with pytest.raises(ValueError, match="given twice"):
        common.parse_bounds(["a=1", "a=2"])
