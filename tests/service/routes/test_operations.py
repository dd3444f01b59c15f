"""For those who run the server: alive, ready, metrics."""

from bestmix.experiments import StorageError


def test_operations(running):
    running.create()
    assert running.json("GET", "/readyz", token=None) == (200, {"status": "ok", "version": running.app.version})
    text = running.send("GET", "/metrics")[2].decode()
    assert 'bestmix_experiments{status="running"} 1' in text
    assert 'bestmix_requests_total{method="POST",route="/v1/experiments",status="201"} 1' in text
    assert all(line.startswith(("#", "bestmix_", "process_")) for line in text.splitlines())
    running.app.state.stopping.set()
    assert running.json("GET", "/readyz", token=None)[0] == 503


def test_a_database_that_does_not_answer_is_not_ready(running, monkeypatch):
    def lost(patience):
        assert patience <= 2.0
        raise StorageError("out of reach")

    monkeypatch.setattr(running.storage.store, "ping", lost)
    assert running.json("GET", "/readyz", token=None)[0] == 503
    assert running.json("GET", "/healthz", token=None)[0] == 200
