import sys
import threading
import time

import pytest

from bestmix import Problem
from bestmix.cli import process


def test_the_arm_is_one_argument():
    words = process.parse_command("go --arm={arm} '{arm} again'")
    assert [word.replace("{arm}", "a b") for word in words] == ["go", "--arm=a b", "a b again"]


def test_results_by_name_or_under_costs():
    problem = Problem(["a"], {"x": 1.0, "y": 1.0})
    wanted = (0.5, {"x": 1.0, "y": 2.0})
    assert process.parse_result('noise\n{"reward": 0.5, "x": 1, "y": 2, "id": 7}\n\n', problem) == wanted
    assert process.parse_result('{"reward": 0.5, "costs": {"y": 2, "x": 1}}', problem) == wanted


CHEAP = Problem(["a"], goal="minimise dollars", limits=["quality >= 0.9", "p(seconds > 2) <= 5%"])


@pytest.mark.parametrize(
    "line",
    [
        '{"quality": 1, "dollars": 0.2, "seconds": 3, "tokens": 17}',
        '{"reward": 0.2, "costs": {"quality": 1, "seconds": 3}}',
        '{"reward": 9, "costs": {"quality": 1, "dollars": 0.2, "seconds": 3}}',
    ],
)
def test_metrics_by_name(line):
    assert process.parse_result(line, CHEAP) == (0.2, {"quality": 1.0, "seconds": 3.0})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"quality": 1, "seconds": 3}', 'such as {"dollars": 0.7, "quality": 0.1, "seconds": 0.1}'),
        ('{"dollars": 1, "seconds": 3}', "expected the metric 'quality' in the last line"),
        ('{"dollars": 1, "seconds": "x", "quality": 1}', "metric 'seconds': expected a finite number"),
        ('{"dollars": 1, "costs": 3}', "costs: expected a mapping"),
    ],
)
def test_a_metric_that_is_missing_is_named(line, message):
    with pytest.raises(ValueError, match=message):
        process.parse_result(line, CHEAP)


def test_with_segments_the_command_names_both():
    with pytest.raises(
        ValueError, match=r"--exec: expected \{segment\} where the segment's name goes, got 'go \{arm\}'"
    ):
        process.parse_command("go {arm}", ("arm", "segment"))
    with pytest.raises(ValueError, match="but there are no items; give some, or take it out"):
        process.parse_command("go {segment} {arm} {item}", ("arm", "segment"))
    words = process.parse_command("go {segment} {arm} {other}", ("arm", "segment"))
    assert [process.fill(word, {"arm": "{segment}", "segment": "a b"}) for word in words] == [
        "go",
        "a b",
        "{segment}",
        "{other}",
    ]


def trials(script, retries=0, timeout=None):
    return process.Trials(f"{sys.executable} -c '{script}' {{arm}}", Problem(["a"]), retries, timeout)


def test_a_trial_is_the_last_line_of_a_process():
    assert trials('print(1); print("{\\"reward\\": 2}")')("a") == (2.0, {})


def test_a_trial_that_fails_says_how_often_and_what_it_wrote():
    with pytest.raises(process.TrialFailed, match="failed 3 times, the last time: it ended with exit code 4") as failed:
        trials("print(7); raise SystemExit(4)", retries=2)("a")
    assert failed.value.written == "7"


def test_stopping_ends_what_runs_and_starts_no_more():
    running, errors = trials("import time; time.sleep(60)", retries=5), []

    def run():
        try:
            running("a")
        except process.TrialFailed as error:
            errors.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    while not running._running:
        time.sleep(0.01)
    running.stop()
    thread.join(20)
    assert not thread.is_alive()
    assert "ended by signal" in errors[0]
    with pytest.raises(process.TrialFailed, match="the run was stopped"):
        running("a")


def test_a_last_line_too_deep_to_be_read_is_no_result():
    with pytest.raises(ValueError, match="expected a last line such as"):
        process.parse_result("[" * 100_000, CHEAP)
