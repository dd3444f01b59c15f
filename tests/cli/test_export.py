import json

import pytest
from typer.testing import CliRunner

from bestmix import Policy
from bestmix.cli import app

POLICY = Policy({"small": 0.62, "large": 0.38}, {"dollars": 5.0})


def export(*words):
    return CliRunner().invoke(app, ["export", *map(str, words)])


@pytest.fixture
def saved(tmp_path):
    POLICY.save(tmp_path / "p.json")
    return tmp_path / "p.json"


WORDS = {
    "json": ([], {}),
    "nginx": (["--key", "$request_id", "--variable", "arm"], {"key": "$request_id", "variable": "arm"}),
    "envoy": (["--prefix", "/v1"], {"prefix": "/v1"}),
    "litellm": (["--group", "chat", "--model", "small=a/b=c"], {"group": "chat", "models": {"small": "a/b=c"}}),
}


@pytest.mark.parametrize("form", WORDS)
def test_output_is_that_of_the_policy(saved, form):
    words, options = WORDS[form]
    result = export(saved, "--as", form, *words)
    assert result.exit_code == 0, result.stderr
    assert result.stdout == POLICY.export(form, **options)


def test_a_file_is_written(saved, tmp_path):
    result = export(saved, "--as", "envoy", "-o", tmp_path / "new" / "route.json")
    assert result.exit_code == 0, result.stderr
    assert json.loads((tmp_path / "new" / "route.json").read_text()) == json.loads(POLICY.export("envoy"))


def test_a_policy_that_breaks_its_bounds_is_exported_with_a_warning(tmp_path):
    Policy({"a": 1.0}, {"x": 1.0}, feasible=False).save(tmp_path / "p.toml")
    result = export(tmp_path / "p.toml", "--as", "nginx")
    assert result.exit_code == 0
    assert "does not keep its bounds" in result.stderr
    assert "Warning" not in result.stdout


BAD = [
    (["--as", "envoy", "--key", "$x"], "--key: goes with --as nginx, got --as envoy"),
    (["--as", "nginx", "--model", "small=x"], "--model: goes with --as litellm, got --as nginx"),
    (["--as", "litellm", "--model", "small"], "--model: expected arm=model"),
    (["--as", "litellm", "--model", "small=x", "--model", "small=y"], "--model: 'small' is given twice"),
    (["--as", "litellm", "--model", "other=x"], "models: expected arms of the policy"),
    (["--as", "haproxy"], "Invalid value"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=lambda x: x if isinstance(x, str) else "")
def test_mistakes_get_one_line(saved, words, message):
    result = export(saved, *words)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr


def test_a_log_is_no_policy(tmp_path):
    result = export(tmp_path / "calls.csv", "--as", "nginx")
    assert (
        "expected a policy, as --policy and save() write it, in a file whose name ends in .toml or .json"
        in result.stderr
    )


def test_a_missing_file_is_named(tmp_path):
    result = export(tmp_path / "none.json")
    assert result.exit_code == 2
    assert "there is no such file" in result.stderr
