"""The server killed while workers use it, and sent nonsense; ``make soak`` does more of both."""

import pytest
from tests.service.servers import require

from soak import service


def postgres():
    """A server of this test's own, or a skip with a sentence."""
    try:
        from soak.postgres import Server
    except ImportError:
        require(False, "PostgreSQL")
    return Server()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_killed_server_loses_nothing(kind, tmp_path):
    server = postgres() if kind == "postgres" else None
    try:
        found = service.kill(server.url if server else f"sqlite:///{tmp_path / 'x.db'}", tmp_path / "journals", 3, 4)
    finally:
        if server:
            server.stop()
    assert found["problems"] == []
    assert found["results"] > 0


def test_made_up_requests_are_answered_as_the_document_says(running):
    from soak.nonsense import send

    found = send(running.url, running.token, 4)
    assert found["problems"] == []
    assert found["operations"] > 20
    assert found["answers"][200] > 10  # it reaches the experiments, and is not merely turned away
    assert found["answers"][422] > 0
