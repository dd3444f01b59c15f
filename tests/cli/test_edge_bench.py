import json
import re

import pytest
from tests.cli.commands import good, invoke
from tests.experiments.flows import QUICK, ROUTER
from tests.service.servers import Running

from bestmix import open_storage


@pytest.fixture
def running(tmp_path, monkeypatch):
    with open_storage(tmp_path / "service.db") as storage:
        made = Running(storage)
        monkeypatch.setenv("BESTMIX_TOKEN", made.token)
        yield made
        made.stop()


def test_made_up_requests_are_served_and_counted(running, tmp_path):
    live = running.connect().create("live", ROUTER, traffic=QUICK)
    words = ["edge-bench", running.url, "live", "--seconds", 0.2, "--threads", 2, "--spool", tmp_path / "spool"]
    told = json.loads(good(*words, "--json"))
    assert told["requests"] == told["reported"] == live.state.complete > 0
    before = live.state.complete
    shown = good(*words, "--rate", 200, "--units")
    assert "requests in" in shown
    assert 0 < live.state.complete - before < 200


def test_what_a_stopped_experiment_refuses_is_told(running, tmp_path):
    running.connect().create("live", ROUTER, traffic=QUICK).stop("enough")
    shown = good("edge-bench", running.url, "live", "--seconds", 0.2, "--rate", 100, "--spool", tmp_path / "spool")
    assert re.search(r"; 0 are confirmed, \d+ were refused\.", shown)


def test_an_experiment_that_there_is_not_is_an_error(running):
    result = invoke("edge-bench", running.url, "nobody")
    assert result.exit_code == 2
    assert "the server refuses" in result.stderr
