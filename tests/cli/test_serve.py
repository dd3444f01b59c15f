"""``bestmix serve`` as a user starts it."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

import pytest
from tests.service.servers import PROBLEM
from typer.testing import CliRunner

from bestmix import Uniform, connect, open_storage
from bestmix.cli import app

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
    open_storage(tmp_path / "x.db").close()
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "there is no valid token yet; run bestmix token create" in done.stderr


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (
            ["--host", "0.0.0.0"],
            "x.db is not there yet, with a token that keeps strangers out; run bestmix token create",
        ),
        (["--port", "BUSY"], "cannot listen on 127.0.0.1"),
    ],
)
def test_a_server_that_cannot_start_makes_no_database(tmp_path, words, part):
    with socket.create_server(("127.0.0.1", 0)) as busy:
        given = [str(busy.getsockname()[1]) if word == "BUSY" else word for word in words]
        result = CliRunner().invoke(app, ["serve", "--storage", f"sqlite:///{tmp_path}/x.db", *given])
    assert result.exit_code == 2
    assert part in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--storage", "memory://"], "tokens are kept in a database"),
        (["--storage", "DB", "--host", "0.0.0.0"], "there is no valid token yet"),
        (["--storage", "DB", "--host", "no.such.host.invalid"], "cannot listen on no.such.host.invalid"),
    ],
)
def test_mistakes_are_one_line(tmp_path, words, part):
    open_storage(tmp_path / "x.db").close()
    given = [str(tmp_path / "x.db") if word == "DB" else word for word in words]
    result = CliRunner().invoke(app, ["serve", *given, "--no-warm-up"])
    assert result.exit_code == 2
    assert part in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_help_has_an_example():
    assert "Example: bestmix serve" in CliRunner().invoke(app, ["serve", "--help"]).stdout
