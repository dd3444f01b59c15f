"""Commands as users type them, in this process."""

import json

from typer.testing import CliRunner

from bestmix.cli import app


def invoke(*words, text=None):
    """What came of a command that is given this text to read."""
    return CliRunner().invoke(app, [str(word) for word in words], input=text)


def good(*words, text=None):
    """What a command printed, which must do its work."""
    result = invoke(*words, text=text)
    assert result.exit_code == 0, result.output
    return result.stdout


def bad(*words):
    """The one line that a command says of a mistake."""
    result = invoke(*words)
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.strip().splitlines()) == 1
    return result.stderr


def answer(*words):
    """What a command for experiments answers, as JSON."""
    return json.loads(good("experiment", *words, "--json"))
