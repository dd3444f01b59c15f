"""A connection that waits or drips comes to an end, and what is at work does not."""

import json
import socket
import threading
import time

import pytest
from tests.service.servers import HALF, everything

from bestmix.service import connections, http_protocol
from bestmix.service.http_protocol import LONGEST_HEAD


@pytest.fixture
def quick(monkeypatch):
    """Seconds become tenths."""
    for name in ("HEAD_SECONDS", "REST_SECONDS", "WRITE_SECONDS"):
        monkeypatch.setattr(http_protocol, name, 0.3)
    monkeypatch.setattr(connections, "SWEEP", 0.05)


def test_a_slow_head_is_answered_408(quick, running):
    assert everything(running.raw(HALF)).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(("sent", "code"), [(HALF, "too_slow"), (b"GARBAGE\r\n\r\n", "bad_request")])
def test_what_is_no_request_has_the_body_of_every_error(quick, running, sent, code):
    head, body = everything(running.raw(sent)).split(b"\r\n\r\n", 1)
    assert b"content-type: application/json" in head
    error = json.loads(body)["error"]
    assert (error["code"], error["field"], bool(error["message"])) == (code, None, True)


def test_a_head_that_drips_is_answered_408(quick, running):
    connection = running.raw(HALF)
    for _ in range(8):
        time.sleep(0.1)
        try:
            connection.sendall(b"X: y\r\n")
        except OSError:
            break
    assert everything(connection).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize("text", ["", "\r\n"])
def test_an_idle_connection_is_closed(quick, running, text):
    assert everything(running.raw(text)) == b""


def test_a_connection_that_is_kept_idle_by_an_empty_line_is_closed(quick, running):
    running.server.config.timeout_keep_alive = 1
    connection = running.raw(f"{HALF}\r\n")
    assert connection.recv(1000).startswith(b"HTTP/1.1 200")
    connection.sendall(b"\r\n")
    assert everything(connection) == b""


def test_the_rest_of_a_body_that_nobody_wants_is_not_waited_for(quick, running):
    connection = running.raw("POST /v1/experiments HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n")
    assert everything(connection).startswith(b"HTTP/1.1 401")


def test_an_answer_that_nobody_reads_is_given_up(quick, running):
    connection = running.raw()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for _ in range(200):
        connection.sendall(b"GET /static/uPlot.iife.min.js HTTP/1.1\r\nHost: x\r\n\r\n")
    deadline = time.monotonic() + 10
    while running.server.server_state.connections and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not running.server.server_state.connections


@pytest.mark.parametrize("trailer", [b"X: y\r\n" * 100, b"X: " + b"y" * 1000])
def test_endless_trailers_are_cut_off(running, trailer):
    head = "POST /login HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    connection = running.raw(head)
    sent = 0
    try:
        while sent < 100 * LONGEST_HEAD:
            connection.sendall(trailer)
            sent += len(trailer)
    except OSError:
        return
    pytest.fail("it was read on and on")


def test_a_trailer_is_no_header(running):
    head = "GET /v1/experiments HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
    connection = running.raw(head, f"Authorization: Bearer {running.token}\r\n\r\n")
    assert connection.recv(100).startswith(b"HTTP/1.1 401")


def test_a_long_body_and_the_next_head_in_one_piece(running):
    body = b'{"n": 1}' + b" " * 10_000
    first = f"POST /v1/experiments/none/ask HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {running.token}\r\n"
    first += f"Content-Length: {len(body)}\r\n\r\n"
    connection = running.raw(first.encode() + body + f"{HALF}Connection: close\r\n\r\n".encode())
    found = everything(connection)
    assert found.startswith(b"HTTP/1.1 404")
    assert found.count(b"HTTP/1.1 200") == 1


def test_unfinished_heads_share_their_memory(running, monkeypatch):
    monkeypatch.setattr(http_protocol, "MOST_HEADS", 100_000)
    many = [running.raw(HALF, b"X: " + b"y" * 30_000) for _ in range(6)]
    refused = 0
    for connection in many:
        connection.settimeout(0.3)
        try:
            refused += connection.recv(100).startswith(b"HTTP/1.1 503")
        except TimeoutError:
            continue
    assert 2 <= refused <= 4
    assert running.send("GET", "/healthz", token=None)[0] == 200


def test_stopping_waits_for_calls_at_work_alone(running, monkeypatch):
    exp = running.create()
    token = f"Authorization: Bearer {running.token}\r\n"
    path = f"/v1/experiments/{exp.record.key}"
    running.raw(f"GET {path}/stream HTTP/1.1\r\nHost: x\r\n{token}\r\n").recv(10)
    running.raw(f"POST {path}/tell_many HTTP/1.1\r\nHost: x\r\n{token}Content-Length: 100000\r\n\r\n", b" " * 9999)
    running.raw(HALF)
    running.raw()
    at_work, done = threading.Event(), []

    def slow(*args, **options):
        at_work.set()
        time.sleep(1.0)
        done.append(True)
        return []

    monkeypatch.setattr(running.storage.store, "entries", slow)
    caller = threading.Thread(target=lambda: done.append(running.json("GET", "/v1/experiments")[0]))
    caller.start()
    at_work.wait(10)
    began = time.monotonic()
    running.app.state.stopping.set()
    running.server.should_exit = True
    running.thread.join(20)
    assert 0.8 < time.monotonic() - began < 4.0
    caller.join(10)
    assert done == [True, 200]
