"""Trials of an experiment from the shell: what is told, and what the exit codes of ask say."""

import json

from tests.cli.commands import answer, bad, good, invoke

from bestmix.cli import experiment_trials


def test_many_results_come_as_lines(made):
    trials = answer("ask", made, "r", "-n", 6)["trials"]
    rows = [{"trial": t["id"], "reward": t["token"], "costs": {"dollars": 0.5}} for t in trials]
    text = "\n".join(map(json.dumps, rows))
    assert good("experiment", "tell", made, "r", "--file", "-", text=text) == "6 counted\n"
    assert answer("show", made, "r")["state"]["status"] == "done"
    result = invoke("experiment", "ask", made, "r")
    assert (result.exit_code, result.stdout) == (experiment_trials.NOTHING_MORE, "")
    assert "the experiment is done" in result.stderr


def test_a_bad_line_is_named(made, tmp_path):
    (tmp_path / "lines").write_text('\n{"trial": "x"}\n')
    assert "in line 2" in bad("experiment", "tell", made, "r", "--file", tmp_path / "lines")
    (tmp_path / "lines").write_text("[" * 200_000)
    assert "in line 1" in bad("experiment", "tell", made, "r", "--file", tmp_path / "lines")


def test_nothing_now_is_not_nothing_ever(made):
    good("experiment", "ask", made, "r", "-n", 6)
    result = invoke("experiment", "ask", made, "r")
    assert result.exit_code == experiment_trials.NOTHING_NOW
    assert "out on lease; ask again in" in result.stderr
