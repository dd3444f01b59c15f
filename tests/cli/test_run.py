import csv
import json
import os
import signal
import sys
import time

import pytest
from tests.cli.commands import good, invoke
from tests.processes import start_bestmix
from typer.testing import CliRunner

from bestmix import MarkovProblem, Problem
from bestmix.cli import app

TRIAL = """
import json, os, sys, time
arm = sys.argv[1]
time.sleep(float(os.environ.get("SLOW", "0")))
number = len(open("calls.txt").readlines()) if os.path.exists("calls.txt") else 0
with open("calls.txt", "a") as calls:
    calls.write(arm + "\\n")
reward, cost = {"small": (1.7, 0.0), "the large": (2.6, 1.8), "tiny": (0.5, 0.1)}[arm]
print("working")
print(json.dumps({"reward": reward + 0.01 * (number % 3), "dollars": cost + 0.01 * (number % 2)}))
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trial.py").write_text(TRIAL)
    Problem(["small", "the large"], {"dollars": 1.0}).save(tmp_path / "problem.toml")
    return tmp_path


def words(command=f"{sys.executable} trial.py {{arm}}", budget=12, strategy="uniform"):
    return ["run", "problem.toml", "--budget", str(budget), "--strategy", strategy, "--exec", command]


def run(*more, **options):
    return CliRunner().invoke(app, [*words(**options), *map(str, more)])


def start(*more, **options):
    """The real command, with trials that take their time."""
    return start_bestmix(*words(**options), *more, env=os.environ | {"SLOW": "0.05"})


def calls(place):
    return len((place / "calls.txt").read_text().splitlines()) if (place / "calls.txt").exists() else 0


def kept(place, name="problem.run.json"):
    return sum(m["count"] for m in json.loads((place / name).read_text())["moments"])


@pytest.mark.parametrize(
    ("strategy", "further"), [("uniform", "A larger --budget goes on with it, and --fresh"), ("sfsr", "Only --fresh")]
)
def test_a_run_that_is_over_says_that_nothing_was_run(place, strategy, further):
    first = run(strategy=strategy)
    assert "Nothing was run" not in first.stderr
    made = calls(place)
    again = run(strategy=strategy)
    assert calls(place) == made
    assert again.stdout == first.stdout
    told = f"Nothing was run: the run in problem.run.json is over, with {made} of 12 trials. {further} starts over.\n"
    assert again.stderr == told
    assert "Nothing was run" not in run("--fresh", strategy=strategy).stderr


def test_a_run_that_stopped_by_itself_needs_no_larger_budget(place):
    words = "--confidence", "0.6"
    assert run(*words, strategy="challenger", budget=500).exit_code == 0
    assert "Only --fresh starts over." in run(*words, strategy="challenger", budget=500).stderr


def test_answer_and_files(place):
    result = run("-j", 3, "--policy", "p.json", "--report", "r.html", "--figure", "f.png", strategy="sfsr-l")
    assert result.exit_code == 0, result.output
    assert "small with" in result.stdout
    assert "the large" in result.stdout
    assert all((place / name).exists() for name in ("p.json", "r.html", "f.png", "problem.run.json"))
    assert not list(place.glob(".*"))


def test_a_finished_run_answers_again_without_trials(place):
    first = json.loads(run("--json").stdout)
    assert calls(place) == first["trials"] == 12
    assert json.loads(run("--json").stdout) == first
    assert calls(place) == 12
    run("--fresh")
    assert calls(place) == 24


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_interrupted_and_gone_on_with(place, number, code):
    running = start("-j", "2", budget=60)
    limit = time.monotonic() + 60
    while calls(place) < 6:
        assert time.monotonic() < limit
        assert running.poll() is None, running.communicate()
        time.sleep(0.02)
    running.send_signal(number)
    out, err = running.communicate(timeout=20)
    assert running.returncode == code, err
    assert out == ""
    assert "goes on from there" in err
    assert "Traceback" not in err
    before, made = kept(place), calls(place)
    assert 0 < before < 60
    assert made - 2 <= before <= made  # only what was in flight may be lost
    time.sleep(0.2)
    assert calls(place) == made  # no process was left behind
    result = run("--json", "-j", 2, budget=60)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["trials"] == 60
    assert calls(place) - made == 60 - before
    assert f"Going on after {before} of 60 trials" in result.stderr


def test_killed_without_warning_loses_nothing(place):
    running = start(budget=400)
    limit = time.monotonic() + 60
    while calls(place) < 12:
        assert time.monotonic() < limit
        time.sleep(0.02)
    running.kill()
    running.communicate()
    rows = len((place / "problem.run.csv").read_text().splitlines()) - 1
    assert calls(place) - 1 <= rows <= calls(place)  # only what was in flight may be lost
    missed = rows - kept(place)
    assert 0 <= missed < 60  # the state is saved now and then
    again = run("--json", budget=400, command="false {arm}")
    assert again.exit_code == 2
    assert missed < 2 or f"Counting {missed} trials of problem.run.csv" in " ".join(again.stderr.split())
    assert kept(place) == rows
    assert json.loads((place / "problem.run.json").read_text())["rows"] == rows


def test_files_of_others_are_kept(place):
    (place / "mine.csv").write_text("month,sales\n1,2\n")
    assert "it is kept as mine.1.csv" in " ".join(run("--state", "mine.json").stderr.split())
    assert (place / "mine.1.csv").read_text() == "month,sales\n1,2\n"
    first = (place / "mine.csv").read_text()
    refused = run("--state", "mine.json", "--fresh", "--log", "mine.csv")
    assert "choose another --state" in refused.stderr
    assert (place / "mine.csv").read_text() == first
    assert run("--state", "mine.json", "--fresh", command="false {arm}").exit_code == 2
    assert (place / "mine.csv").read_text() == first
    state = (place / "mine.json").read_text()
    run("--state", "mine.json", "--fresh")
    assert (place / "mine.2.csv").read_text() == first
    assert (place / "mine.1.json").read_text() == state
    assert json.loads(run("--state", "other.json", "--log", "mine.csv", "--json").stdout)["trials"] == 24


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("false {arm}", "it ended with exit code 1"),
        ("echo {arm}", "expected a last line such as"),
        ("true {arm}", "got no output"),
        ("""echo '{"reward": NaN, "dollars": 1, "arm": "{arm}"}'""", "expected a finite number, got nan"),
        ("""echo '{"reward": 1, "arm": "{arm}"}'""", "expected the metric 'dollars'"),
        ("""echo '{"reward": 1, "costs": {"dollars": "x"}, "arm": "{arm}"}'""", "expected a finite number, got 'x'"),
        ("""echo '{"reward": 1, "costs": 3, "arm": "{arm}"}'""", "expected a mapping"),
        ("""echo '[1, "{arm}"]'""", "expected a last line such as"),
        ("sh -c 'kill -9 $$; {arm}'", "ended by signal 9"),
    ],
)
def test_a_bad_trial_is_never_counted(place, command, part):
    result = run("--retries", 1, command=command)
    assert result.exit_code == 2
    assert "failed 2 times" in result.stderr
    assert part in result.stderr
    assert "no trial was made" in result.stderr
    assert not (place / "problem.run.json").exists()


def test_what_a_failing_trial_wrote_is_shown(place):
    result = run("--retries", 0, command="sh -c 'echo before; echo oops >&2; exit 3' {arm}")
    assert "failed once: it ended with exit code 3" in result.stderr
    assert result.stderr.rstrip().endswith("before\noops")


def test_a_slow_trial_is_ended_with_its_children(place):
    began = time.monotonic()
    result = run("--retries", 0, "--timeout", 0.2, command="sh -c 'sleep 30; echo {arm}'")
    assert "it took longer than 0.2 s" in result.stderr
    assert time.monotonic() - began < 30


def test_trials_that_fail_now_and_then_are_made_again(place):
    (place / "flaky.sh").write_text(
        'if [ -e "down" ]; then rm down; echo \'{"reward": 1, "costs": {"dollars": 0}}\'; else touch down; exit 1; fi\n'
    )
    result = run("--json", command="sh flaky.sh {arm}", budget=6)
    assert json.loads(result.stdout)["trials"] == 6


@pytest.mark.parametrize(
    ("more", "options", "part"),
    [
        (["--state", "x.txt"], {}, "ends in .json"),
        (["-j", "0"], {}, "--jobs"),
        (["--retries", "-1"], {}, "--retries"),
        (["--timeout", "0"], {}, "--timeout"),
        (["--figure", "x"], {}, "end in .png"),
        ([], {"command": "x"}, "expected {arm}"),
        ([], {"command": "x '{arm}"}, "no closing quotation"),
        ([], {"command": "no-such-program {arm}"}, "cannot start 'no-such-program'"),
        ([], {"budget": 1}, "expected at least 2 trials"),
    ],
)
def test_mistakes(place, more, options, part):
    result = run(*more, **options)
    assert result.exit_code == 2
    assert part in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_a_larger_budget_goes_on(place):
    run()
    assert json.loads(run("--json", budget=20).stdout)["trials"] == 20
    assert calls(place) == kept(place) == 20
    other = ["--state", "other.json"]
    run(*other, strategy="sfsr-l")
    before = kept(place, "other.json")
    refused = run(*other, strategy="sfsr-l", budget=20)
    assert refused.exit_code == 2
    assert "SFSR-L lays out its rounds from the budget at the start" in refused.stderr
    assert "choose another --state, or use --fresh" in refused.stderr
    assert kept(place, "other.json") == before


def test_the_state_of_other_work_is_refused(place):
    run()
    assert "a larger budget (12, not 10)" in run(budget=10).stderr
    assert "another strategy (USLP, not SFSR-L)" in run(strategy="sfsr-l").stderr
    Problem(["small", "the large"], goal="minimise dollars").save(place / "problem.toml")
    assert "another problem, with a goal, costs, segments or known arms of its own" in run().stderr
    (place / "problem.run.json").write_text('{"format": "bestmix search 1"}')
    assert "not the state of a run" in run().stderr


def test_a_fresh_start_that_fails_keeps_the_old_state(place):
    run()
    assert run("--fresh", command="false {arm}").exit_code == 2
    assert kept(place) == 12


def test_two_runs_do_not_share_a_state(place):
    running = start(budget=400)
    try:
        limit = time.monotonic() + 60
        while not calls(place):
            assert time.monotonic() < limit
            time.sleep(0.02)
        assert "another run is using this state" in run(budget=400).stderr
    finally:
        running.terminate()
        running.communicate(timeout=20)


def test_an_absent_problem(place):
    (place / "problem.toml").unlink()
    assert "there is no such file" in run().stderr


def test_a_run_with_limits_and_segments(place):
    """A trial prints its metrics, and gets the segment's name beside the arm's."""
    script = "import json, sys; json.dump({'reward': 1, 'quality': float(sys.argv[1] == 'free')}, sys.stdout)"
    asked = ("--limit", "quality >= 0.2", "--segments", "free=0.5,paid=0.5", "--strategy", "uniform", "--json")
    command = f'{sys.executable} -c "{script}" {{segment}} {{arm}}'
    (place / "plain.toml").write_text('arms = ["a", "b"]')
    result = invoke("run", place / "plain.toml", "--budget", 8, "--exec", command, *asked)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert [e["costs"] for e in found["estimates"]] == [{"quality >= 0.2": 1.0}] * 2 + [{"quality >= 0.2": 0.0}] * 2
    assert found["limits"]["quality >= 0.2"]["mean"] == pytest.approx(0.5)


def test_a_run_starts_from_a_log_and_its_budget_is_for_further_trials(place):
    rows = "\n".join(f"{arm},{1.7 + k % 2},{k % 2}" for k in range(5) for arm in ("small", "the large"))
    (place / "pilot.csv").write_text(f"model,score,dollars\n{rows}\n")
    log = ["--log", "pilot.csv", "--arm", "model", "--reward", "score"]
    first = run(*log, "--json")
    assert "Starting from 10 trials of pilot.csv." in first.stderr
    assert "Going on" not in first.stderr
    assert first.exit_code == 0, first.output
    assert json.loads(first.stdout)["trials"] == 22
    assert calls(place) == 12
    assert json.loads(run(*log, "--json", budget=20).stdout)["trials"] == 30
    assert "has 10 trials of a log; ask for the same, or start over with --fresh" in run(budget=20).stderr
    assert "counts 1, not 0.5; ask for the same" in run(*log, "--log-weight", 0.5, budget=20).stderr
    (place / "other.csv").write_text(f"model,score,dollars\n{rows}5\n")
    other = run("--log", "other.csv", *log[2:], budget=20)
    assert "it started from another log" in other.stderr
    assert json.loads(run(*log, "--json", "--fresh", "--log-weight", 0.5).stdout)["trials"] == 4 + 12
    placed = json.loads(run(*log, "--json", "--fresh", strategy="sfsr-l").stdout)
    assert 10 <= placed["trials"] <= 12  # its budget is a schedule in which the log has places


def test_a_budget_in_dollars_is_never_exceeded(place):
    result = run("--json", "--most", "2", budget="9 dollars")
    assert result.exit_code == 0, result.output
    account = json.loads(result.stdout)["account"]
    assert 7.0 < account["spent"] <= 9.0
    assert account["hard"]
    made = calls(place)
    again = run("--most", "2", budget="9 dollars")  # it was over already
    assert "of 9 dollars spent" in again.stdout
    assert calls(place) == made
    assert json.loads(run("--json", "--most", "2", budget="14 dollars").stdout)["account"]["spent"] > 12.0
    assert "are spent), got 9 dollars" in run("--most", "2", budget="9 dollars").stderr
    assert "expected one in dollars, as the run has" in run(budget=20).stderr


def test_a_budget_with_prices_or_in_time(place):
    prices = "--price", "small=1", "--price", "the large=4"
    assert json.loads(run("--json", *prices, budget="20 tokens").stdout)["account"]["spent"] == 20.0
    soft = run("--json", "--state", "t.json", "-j", 2, budget="1.5 seconds")
    assert "is soft" in soft.stderr
    assert json.loads(soft.stdout)["account"]["budget"]["unit"] == "seconds"
    asked = run(
        "--state", "u.json", budget="20 tokens", command="""echo '{"reward": 1, "dollars": 1, "arm": "{arm}"}'"""
    )
    assert asked.exit_code == 2
    assert "'tokens'" in asked.stderr


def test_a_run_with_another_bound_goes_on_with_its_trials(place):
    assert run(strategy="challenger").exit_code == 0
    made = calls(place)
    Problem(["small", "the large"], {"dollars": 2.0}).save(place / "problem.toml")
    again = run("--json", strategy="challenger", budget=16)
    assert "the problem has changed (dollars <= 2 instead of dollars <= " in again.stderr
    assert "going on with its 12 trials" in again.stderr
    assert (json.loads(again.stdout)["trials"], calls(place)) == (16, made + 4)
    assert json.loads(again.stdout)["problem"]["bounds"] == {"dollars": 2.0}


def test_a_run_with_other_arms_and_another_amount_goes_on_with_its_money(place):
    prices = ["--price", "small=1", "--price", "the large=2"]
    first = run("--json", *prices, budget="15 dollars", strategy="challenger")
    assert json.loads(first.stdout)["account"]["spent"] == 15.0
    Problem(["small", "the large", "tiny"], {"dollars": 2.0}).save(place / "problem.toml")
    missing = run(*prices, budget="19 dollars", strategy="challenger")
    assert "tiny is new, and what a trial of it costs is not known" in missing.stderr
    again = run("--json", *prices, "--price", "tiny=1", budget="19 dollars", strategy="challenger")
    assert "tiny is new; a budget of 19 dollars instead of 15 dollars" in again.stderr
    account = json.loads(again.stdout)["account"]
    assert (account["spent"], account["left"]) == (19.0, 0.0)
    less = run(*prices, "--price", "tiny=1", budget="9 dollars", strategy="challenger")
    assert "expected at least 19 dollars (19 are spent), got 9 dollars" in less.stderr


def test_every_trial_is_written_to_a_file_that_is_a_log(place):
    assert run().exit_code == 0
    path = place / "problem.run.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    assert set(rows[0]) == {"arm", "reward", "dollars"}
    assert {row["arm"] for row in rows} == {"small", "the large"}
    assert json.loads(invoke("solve", path, "--bound", "dollars=1", "--json").stdout)["trials"] == 12
    run(budget=16)
    assert len(path.read_text().splitlines()) == 17


STEP = """
import json, random, sys
action, state = sys.argv[1:]
reward, dollars, idle = {"wait idle": (0.1, 0.0, 0.5), "serve idle": (0.4, 0.3, 1.0),
                         "wait busy": (0.0, 0.1, 0.0), "serve busy": (1.0, 0.9, 0.6)}[f"{action} {state}"]
after = "idle" if random.random() < idle else "busy"
print(json.dumps({"reward": random.gauss(reward, 0.1), "dollars": random.gauss(dollars, 0.1), "next": after}))
"""


def test_steps_between_states_are_run_written_and_taken_up_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "step.py").write_text(STEP)
    MarkovProblem(["idle", "busy"], ["wait", "serve"], 0.9, "idle", ["dollars <= 0.35"]).save("problem.toml")
    run = words(f"{sys.executable} step.py {{arm}} {{segment}}", budget=16)
    assert "The mix of each state" in good(*run)
    with open("problem.run.csv") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 16
    assert {row["next"] for row in rows} == {"idle", "busy"}
    run[run.index("16")] = "24"
    assert "The mix of each state" in good(*run)
    with open("problem.run.csv") as file:
        assert len(list(csv.DictReader(file))) == 24
    (tmp_path / "step.py").write_text('print(\'{"reward": 1, "dollars": 0, "next": "full"}\')')
    run[run.index("24")] = "32"
    result = invoke(*run)
    assert result.exit_code != 0
    assert "next: expected one of ['idle', 'busy'], or its number" in " ".join(result.output.split())
