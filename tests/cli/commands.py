"""Commands as users type them, in this process."""

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
