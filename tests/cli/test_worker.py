import json
import os
import shlex
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.cli.commands import good, invoke
from tests.processes import start_bestmix

from bestmix import Problem, Spend, Uniform, open_storage
from bestmix.cli.process import TrialFailed
from bestmix.cli.worker import LeasedTrials
from bestmix.experiments import Closed
from bestmix.strategies.drive import drive

PROBLEM = Problem(["a", "b"], {"dollars": 1.0})


@pytest.fixture
def made(tmp_path):
    with open_storage(tmp_path / "x.db") as storage:
        storage.create("r", PROBLEM, 6, Uniform(), failures=2)
    return tmp_path / "x.db"


@pytest.fixture
def exp():
    with open_storage("memory://") as storage:
        yield storage.create("r", PROBLEM, 6, Uniform(), lease=0.3)


def pull(arm):
    return 1.0, {"dollars": 0.5}


def trial(tmp_path, body):
    path = tmp_path / "trial.py"
    path.write_text(body)
    return f"{sys.executable} {path} {{arm}}"


def test_a_worker_makes_all_trials(made, tmp_path):
    command = trial(tmp_path, 'print(\'{"reward": 1, "costs": {"dollars": 0.5}}\')')
    data = json.loads(good("worker", made, "r", "--exec", command, "-j", 2, "--json"))
    assert (data["told"], data["state"]["status"]) == (6, "done")
    assert "told 0 trials" in good("worker", made, "r", "--exec", command)


def test_the_command_that_shows_the_answer_can_be_pasted(tmp_path):
    with open_storage(tmp_path / "x.db") as storage:
        storage.create("my run; ls", PROBLEM, 6, Uniform())
    command = trial(tmp_path, 'print(\'{"reward": 1, "costs": {"dollars": 0.5}}\')')
    result = invoke("worker", tmp_path / "x.db", "my run; ls", "--exec", command)
    shown = result.stderr.strip().splitlines()[-1].partition("See the answer with: bestmix ")[2]
    assert "my run; ls: done" in good(*shlex.split(shown))


def test_a_worker_whose_trials_fail_ends_with_the_reason(made, tmp_path):
    result = invoke("worker", made, "r", "--exec", trial(tmp_path, "raise SystemExit('no luck')"))
    assert result.exit_code == 2
    assert "2 trials failed" in result.stderr
    assert "no luck" in result.stderr


def test_a_worker_whose_failures_took_a_hard_budget_of_money_says_so(tmp_path):
    with open_storage(tmp_path / "x.db") as storage:
        storage.create("r", PROBLEM, Spend(3.0, "dollars", most=0.5), Uniform())
    result = invoke("worker", tmp_path / "x.db", "r", "--exec", trial(tmp_path, "raise SystemExit('no luck')"))
    assert result.exit_code == 2
    told = " ".join(result.stderr.split())
    assert "The budget ended early: 0 of 3 dollars spent, 3 left, 3 of it set aside for trials that failed" in told
    assert "6 trials of this worker failed, the last one because:" in told
    assert "no luck" in told
    works = trial(tmp_path, 'print(\'{"reward": 1, "costs": {"dollars": 0.5}}\')')
    good("experiment", "extend", tmp_path / "x.db", "r", "--budget", "6 dollars")
    assert "told 6 trials" in good("worker", tmp_path / "x.db", "r", "--exec", works)


def test_what_a_failed_trial_wrote_is_kept_whatever_its_bytes(made, tmp_path):
    result = invoke(
        "worker", made, "r", "--exec", trial(tmp_path, "print('no' + chr(0) + 'luck'); raise SystemExit(1)")
    )
    assert "2 trials failed" in result.stderr
    with open_storage(made) as storage:
        notes = [t.note for t in storage.open("r").trials() if t.state == "failed"]
    assert len(notes) == 2
    assert all("no\\x00luck" in note for note in notes)


def test_a_worker_that_is_stopped_gives_its_trials_back(made, tmp_path):
    command = trial(tmp_path, "import time; time.sleep(60)")
    process = start_bestmix("worker", made, "r", "--exec", command)
    with open_storage(made) as storage:
        exp = storage.open("r")
        for _ in range(600):
            if exp.state.leased:
                break
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        out, _ = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "told 0 trials" in out
        assert (exp.state.leased, exp.state.failed, exp.state.waiting) == (0, 0, 6)


def test_a_worker_whose_command_is_not_there_loses_nothing(made, tmp_path):
    link, script = tmp_path / "program", tmp_path / "vanish.py"
    link.symlink_to(sys.executable)
    answer = json.dumps({"reward": 1, "costs": {"dollars": 0.5}})
    script.write_text(f"import os\nos.unlink({str(link)!r})\nprint({answer!r})\n")
    result = invoke("worker", made, "r", "--exec", f"{link} {script} {{arm}}")
    assert result.exit_code != 0
    with open_storage(made) as storage:
        state = storage.open("r").state
    assert (state.complete, state.leased) == (1, 0)


def test_leases_are_renewed_while_trials_run(exp):
    work = LeasedTrials(exp)

    def slow(arm):
        time.sleep(0.8)  # longer than a lease
        return pull(arm)

    with ThreadPoolExecutor(6) as pool:
        drive(work, slow, pool, 6)
    assert (work.told, work.surplus, exp.state.expired, exp.state.status) == (6, 0, 0, "done")


def test_what_was_told_may_bring_new_trials_so_that_it_asks_at_once(exp):
    """Else a worker with several jobs would wait for a second at the end of every round."""
    work = LeasedTrials(exp)
    given = work.next(6)
    assert work.next(6) == []  # nothing more is owed now, and it does not ask again at once
    assert work._next > 0.0
    work.tell([(trial, pull(trial.arm)) for trial in given])
    assert work._next == 0.0


def test_a_failed_trial_is_reported_and_another_made(exp):
    work, calls = LeasedTrials(exp), []

    def flaky(arm):
        calls.append(arm)
        if len(calls) == 2:
            raise TrialFailed("no luck", "what it wrote")
        return pull(arm)

    with ThreadPoolExecutor(1) as pool:
        drive(work, flaky, pool, 1)
    assert (work.told, work.failed, exp.state.failed, exp.state.status) == (6, 1, 1, "done")
    assert "no luck: what it wrote" in next(t for t in exp.trials() if t.state == "failed").note


def test_any_other_error_ends_the_worker_and_gives_its_trials_back(exp):
    def broken(arm):
        raise RuntimeError("no such program")

    with ThreadPoolExecutor(3) as pool, pytest.raises(RuntimeError, match="no such program"):
        drive(LeasedTrials(exp), broken, pool, 3)
    assert (exp.state.leased, exp.state.failed) == (0, 0)


def test_an_experiment_that_is_stopped_meanwhile_ends_the_worker(exp):
    def stopping(arm):
        exp.stop("enough")
        return pull(arm)

    with ThreadPoolExecutor(1) as pool, pytest.raises(Closed):
        drive(LeasedTrials(exp), stopping, pool, 1)
    assert exp.state.status == "stopped"


def test_trials_of_two_workers_make_up_the_whole(exp):
    both = [LeasedTrials(exp, who) for who in ("one", "two")]
    with ThreadPoolExecutor(2) as pool, ThreadPoolExecutor(2) as threads:
        for done in [threads.submit(drive, work, pull, pool, 1) for work in both]:
            done.result(30)
    assert sum(work.told for work in both) == 6
    assert all(work.over for work in both)


def test_a_worker_tells_what_trials_cost_and_measures_their_time(tmp_path):
    problem, db = tmp_path / "problem.toml", tmp_path / "m.db"
    PROBLEM.save(problem)
    command = trial(tmp_path, 'print(\'{"reward": 1, "dollars": 0.5, "tokens": 3}\')')
    create = ("experiment", "create", db)
    good(*create, "t", problem, "--budget", "30 tokens", "--most", 4, "--strategy", "uniform")
    good("worker", db, "t", "--exec", command, "-j", 2)
    shown = good("experiment", "show", db, "t")
    assert "27 of 30 tokens spent, 3 left" in shown
    good(*create, "s", problem, "--budget", "0.4 seconds", "--strategy", "uniform")
    data = json.loads(good("worker", db, "s", "--exec", command, "--json"))
    assert data["state"]["status"] == "done"
    account = json.loads(good("experiment", "show", db, "s", "--json"))["recommendation"]["account"]
    assert account["spent"] > 0.1
    assert account["budget"]["unit"] == "seconds"
    assert good("experiment", "extend", db, "t", "--budget", "40 tokens").startswith("t: running")
    assert "expected one in tokens" in invoke("experiment", "extend", db, "t", "--budget", 40).stderr
    good("experiment", "list", db)
