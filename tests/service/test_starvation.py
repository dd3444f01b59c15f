"""Nobody with a small token can starve the others; ``make soak`` does more of it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from bestmix.experiments import Experiment
from bestmix.service import dashboard


def test_reports_are_made_once_and_keep_no_worker_waiting(running, monkeypatch):
    exp = running.create(budget=100)
    made, at_once, most = [], [], []
    lock = threading.Lock()

    def slow(experiment):
        with lock:
            at_once.append(1)
            most.append(len(at_once))
        time.sleep(0.3)
        with lock:
            at_once.pop()
        made.append(experiment.record.key)
        return "<p>report</p>"

    monkeypatch.setattr(dashboard, "experiment_report", slow)
    others = [running.create(f"other {k}") for k in range(6)]
    _, text = running.tokens.create("read")
    with ThreadPoolExecutor(60) as pool:
        keys = [exp.record.key] * 30 + [one.record.key for one in others] * 5
        waiting = [pool.submit(running.send, "GET", f"/experiments/{key}/report", token=text) for key in keys]
        time.sleep(0.1)
        began = time.monotonic()
        for trial in exp.ask(20):
            exp.tell(trial, 1.0, [1.0])
        took = time.monotonic() - began
        assert {one.result()[0] for one in waiting} == {200}
    assert took < 3.0
    assert max(most) <= 2
    assert made.count(exp.record.key) <= 3
    assert len(made) <= 10


@pytest.mark.parametrize(
    ("path", "method"),
    [("snapshot", "snapshot"), ("recommendation", "recommend"), ("trials?limit=1000", "trials"), ("events", "events")],
)
def test_whoever_reads_keeps_no_worker_waiting(running, monkeypatch, path, method):
    exp = running.create(budget=100)
    at_once, most, real = [], [], getattr(Experiment, method)

    def slow(*words, **options):
        at_once.append(1)
        most.append(len(at_once))
        time.sleep(0.02)
        at_once.pop()
        return real(*words, **options)

    monkeypatch.setattr(Experiment, method, slow)
    readers = [running.tokens.create("read")[1] for _ in range(3)]
    with ThreadPoolExecutor(45) as pool:
        address = f"/v1/experiments/{exp.record.key}/{path}"
        waiting = [pool.submit(running.send, "GET", address, token=readers[k % 3]) for k in range(45)]
        for trial in exp.ask(5):
            exp.tell(trial, 1.0, [1.0])
        assert {one.result()[0] for one in waiting} == {200}
    assert max(most) <= 2
