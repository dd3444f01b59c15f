import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from tests.service.servers import PROBLEM

from bestmix import SFSR, Uniform, connect, open_storage
from bestmix.client import RemoteExperiment
from bestmix.experiments import Closed, Conflict, Experiment, StorageError, UnknownTrial


def names(kind):
    return {name for name in vars(kind) if not name.startswith("_")}


def test_it_has_the_methods_of_a_local_experiment():
    # An attribute, and what the service itself answers from.
    assert names(Experiment) - names(RemoteExperiment) <= {"problem", "picture", "snapshot", "contents", "answer"}
    for name in names(Experiment) & names(RemoteExperiment):
        local, remote = getattr(Experiment, name), getattr(RemoteExperiment, name)
        if inspect.isfunction(local):
            assert list(inspect.signature(local).parameters) == list(inspect.signature(remote).parameters), name


def test_answers_are_those_of_the_local_experiment(running):
    exp = running.create(budget=40, strategy=SFSR(), notes="n")
    local = running.storage.open("router")
    assert (exp.problem, exp.strategy, exp.record) == (PROBLEM, SFSR(), local.record)
    assert exp.recommend().to_dict() == local.recommend().to_dict()
    while given := exp.ask(7, worker="w"):
        assert given == local.trials("leased")
        exp.tell_many([(t, 0.1 * t.token, [0.3 * (t.arm == "large")]) for t in given])
    assert exp.done
    assert (exp.state, exp.name, exp.notes) == (local.state, "router", "n")
    assert (exp.history, exp.mixtures) == (local.history, local.mixtures)
    assert exp.recommend().to_json() == local.recommend().to_json()
    assert str(exp.recommend()) == str(local.recommend())
    assert list(exp.iter_trials()) == list(local.iter_trials()) == exp.trials()
    assert exp.trials("complete", "small", "w", limit=3, newest_first=True) == local.trials(
        "complete", "small", "w", limit=3, newest_first=True
    )
    assert exp.events(3, 5) == local.events(3, 5)
    assert exp.trial(exp.trials(limit=1)[0]) == exp.trials(limit=1)[0]


def test_errors_are_those_of_the_local_experiment(running):
    exp = running.create()
    trial = exp.ask()[0]
    exp.tell(trial, 1.0, [0.5])
    with pytest.raises(Conflict, match="the first result stands"):
        exp.tell(trial, 2.0, [0.5])
    with pytest.raises(UnknownTrial, match="there is no trial 99"):
        exp.tell(f"{exp.record.key}-99", 1.0, [0.5])
    with pytest.raises(Closed, match="was told already"):
        exp.renew(trial)
    with pytest.raises(ValueError, match="reward: expected a finite number"):
        exp.tell(trial, float("nan"), [0.5])
    with pytest.raises(ValueError, match="there is no experiment 'none'"):
        running.connect().open("none")
    with pytest.raises(ValueError, match="of that name already"):
        running.create(budget=9)
    with pytest.raises(ValueError, match="token: the token is not known here"):
        running.connect("bm_00000000_x").open("router")
    with pytest.raises(ValueError, match="expected http://HOST:PORT"):
        connect("ftp://x")
    with pytest.raises(StorageError, match="the server cannot be reached"):
        connect("http://127.0.0.1:1", patience=0.1).open("x")


def test_an_ask_whose_answer_was_lost_hands_out_nothing_more(running, monkeypatch):
    exp = running.create()
    attempt, lost = exp._transport._attempt, []

    def lose(method, target, body):
        answer = attempt(method, target, body)
        if not lost:
            lost.append(answer)
            raise ConnectionResetError("lost on the way")
        return answer

    monkeypatch.setattr(exp._transport, "_attempt", lose)
    given = exp.ask(3)
    assert len(given) == 3
    assert exp.state.leased == 3


def test_patience_is_not_stretched_by_what_a_server_asks_for(running, monkeypatch):
    exp = running.create()
    exp._transport._patience = 0.5
    monkeypatch.setattr(exp._transport, "_attempt", lambda *_: (503, b"{}", 3600.0))
    began = time.monotonic()
    with pytest.raises(StorageError):
        exp.recommend()
    assert time.monotonic() - began < 5.0


def test_more_events_than_a_page_are_read(running, monkeypatch):
    from bestmix.client import experiment as module

    exp = running.create()
    exp.tell_many([(trial, 1.0, [0.5]) for trial in exp.ask(4)])
    monkeypatch.setattr(module, "PAGE", 2)
    assert [event.number for event in exp.events(limit=5000)] == [event.number for event in exp.events(limit=2)] + [3]
    assert len(exp.events(limit=1)) == 1


BESTMIX = [sys.executable, "-c", "from bestmix.cli import main; main()"]


@pytest.fixture
def served(tmp_path):
    """``bestmix serve`` as a user starts it, on a database with one experiment; ends with SIGTERM."""
    with open_storage(tmp_path / "x.db") as storage:
        storage.create("r", PROBLEM, 12, Uniform())
    words = [*BESTMIX, "serve", "--storage", str(tmp_path / "x.db"), "--port", "0", "--no-warm-up"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first, second = process.stdout.readline(), process.stdout.readline()
    url, token = re.search(r"at (http://127\.0\.0\.1:\d+)", first)[1], re.search(r"token=(\S+)", second)[1]
    yield url, token, process
    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()


def test_a_server_a_worker_and_a_report_from_the_shell(served, tmp_path):
    url, token, server = served
    script = tmp_path / "trial.py"
    script.write_text('print(\'{"reward": 1, "costs": {"dollars": 0.5}}\')')
    environment = {**os.environ, "BESTMIX_TOKEN": token}
    words = [*BESTMIX, "worker", url, "r", "--exec", f"{sys.executable} {script} {{arm}}", "-j", "2", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["told"] == 12
    words = [*BESTMIX, "report", url, "r", "-o", str(tmp_path / "r.html")]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "r.html").read_text()
    assert "How the trials went" in page
    with connect(url, token) as client:
        assert client.open("r").recommend().sentence() in page.replace("&lt;", "<")
    assert not re.search(r"https?://", page)
    server.send_signal(signal.SIGTERM)
    out, err = server.communicate(timeout=30)
    assert server.returncode == 0
    assert "everything that was acknowledged is on disk" in out
    assert token not in err
    lines = [json.loads(line) for line in err.splitlines()]
    assert {line["message"] for line in lines} >= {"request"}
    assert all("at" in line for line in lines)


def test_a_stream_does_not_hold_the_server_up_when_it_ends(served):
    url, token, server = served
    from http.client import HTTPConnection

    with connect(url, token) as client:
        exp = client.open("r")
    connection = HTTPConnection(url.removeprefix("http://"), timeout=30)
    headers = {"Authorization": f"Bearer {token}"}
    connection.request("GET", f"/v1/experiments/{exp.record.key}/stream", headers=headers)
    assert connection.getresponse().readline()
    began = time.monotonic()
    server.send_signal(signal.SIGTERM)
    server.communicate(timeout=30)
    assert time.monotonic() - began < 25  # it would wait for 30 s
    connection.close()


def test_it_does_not_listen_to_others_without_tokens(tmp_path):
    words = [*BESTMIX, "serve", "--storage", str(tmp_path / "x.db"), "--host", "0.0.0.0", "--port", "0", "--no-warm-up"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "there is no valid token yet; run bestmix token create" in done.stderr
