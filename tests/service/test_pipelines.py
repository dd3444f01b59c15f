"""Requests that are sent before the last one was answered: all are answered, and few are in memory."""

import threading
import time

import pytest
from tests.service.servers import HALF, everything

from bestmix.service.http_protocol import Limited
from bestmix.service.pipelines import AT_ONCE, MOST_PIPELINED

SHORTEST = b"GET /healthz HTTP/1.1\r\n\r\n"
LAST = f"{HALF}Connection: close\r\n\r\n".encode()
MOST_WAITING = MOST_PIPELINED + AT_ONCE // len(SHORTEST) + 1


@pytest.fixture
def waiting(monkeypatch):
    """How many requests waited whenever another one came."""
    found, complete = [], Limited.on_headers_complete

    def count(self):
        found.append(len(self.pipeline))
        complete(self)

    monkeypatch.setattr(Limited, "on_headers_complete", count)
    return found


def answers(connection, data):
    """All that a client receives that sends everything at once."""
    sender = threading.Thread(target=connection.sendall, args=(data,))
    sender.start()
    found = everything(connection)
    sender.join(20)
    return found


def test_many_requests_at_once_are_all_answered_and_few_wait(running, waiting):
    found = answers(running.raw(), SHORTEST * 5_000 + LAST)
    assert found.count(b"HTTP/1.1 200") == 5_001
    assert max(waiting) < MOST_WAITING


def test_whoever_sends_on_and_on_without_reading_is_not_read(running, waiting):
    connection = running.raw()
    connection.settimeout(2.0)
    with pytest.raises(TimeoutError):  # more than the systems on both sides hold
        connection.sendall(SHORTEST * 2_000_000)
    assert max(waiting) < MOST_WAITING
    assert running.send("GET", "/healthz", token=None)[0] == 200


def test_answers_keep_the_order_of_their_requests(running):
    wanted = [200 if k % 7 in (0, 1, 4) else 404 for k in range(150)]
    paths = ["/healthz" if status == 200 else "/none" for status in wanted]
    found = answers(running.raw(), "".join(f"GET {path} HTTP/1.1\r\n\r\n" for path in paths).encode() + LAST)
    assert [int(part[:3]) for part in found.split(b"HTTP/1.1 ")[1:]] == [*wanted, 200]


def test_a_long_body_behind_other_requests_waits_on_its_way(running, monkeypatch):
    """What has come of it stays below some buffers of the system, however many answers come before its turn."""
    bodies, came = [], Limited.on_body

    def count(self, body):
        came(self, body)
        bodies.append(len(self.cycle.body) if self.pipeline else 0)

    monkeypatch.setattr(Limited, "on_body", count)
    body = b" " * 4_000_000
    head = f"POST /v1/experiments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {running.token}\r\n"
    head += f"Content-Type: application/json\r\nConnection: close\r\nContent-Length: {len(body)}\r\n\r\n"
    found = answers(running.raw(), SHORTEST * (MOST_PIPELINED - 1) + head.encode() + body)
    assert found.count(b"HTTP/1.1 200") == MOST_PIPELINED - 1
    assert b"HTTP/1.1 400" in found
    assert max(bodies) < 100_000


def test_a_stream_ends_with_its_connection_though_a_request_waits_behind_it(running):
    path = f"/v1/experiments/{running.create().record.key}/stream"
    connection = running.raw(f"GET {path} HTTP/1.1\r\nAuthorization: Bearer {running.token}\r\n\r\n", SHORTEST)
    assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    assert len(running.app.state.streams) == 1
    connection.close()
    deadline = time.monotonic() + 10
    while len(running.app.state.streams) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(running.app.state.streams) == 0


def test_a_connection_is_read_again_when_its_requests_were_answered(running):
    connection = running.raw(SHORTEST * 200)
    for _ in range(3):
        found = b""
        while found.count(b"HTTP/1.1 200") < 200:
            found += connection.recv(65536)
        time.sleep(0.05)
        connection.sendall(SHORTEST * 200)
    connection.sendall(LAST)
    assert everything(connection).count(b"HTTP/1.1 200") == 201
