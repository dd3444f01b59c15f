"""Connections that wait, drip or pile up do not keep others out."""

import resource
import socket
import threading
import time

import pytest
from tests.service.servers import Running

from bestmix import open_storage
from bestmix.service import connections
from bestmix.service.connections import LONGEST_HEAD, MOST_GATHERED, RESERVED, Connections, Gathered, ceiling

HALF = "GET /healthz HTTP/1.1\r\nHost: x\r\n"


@pytest.fixture
def quick(monkeypatch):
    """Seconds become tenths."""
    for name in ("HEAD_SECONDS", "REST_SECONDS", "WRITE_SECONDS"):
        monkeypatch.setattr(connections, name, 0.3)
    monkeypatch.setattr(connections, "SWEEP", 0.05)


@pytest.fixture
def small(tmp_path):
    """A server for few connections."""
    with open_storage(tmp_path / "small.db") as storage:
        made = Running(storage, connections=Connections(most=40, of_address=20))
        yield made
        made.stop()


def everything(connection):
    found = b""
    while part := connection.recv(65536):
        found += part
    return found


def test_a_slow_head_is_answered_408(quick, running):
    assert everything(running.raw(HALF)).startswith(b"HTTP/1.1 408")


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


@pytest.mark.parametrize(
    "offer", ["Connection: Upgrade, HTTP2-Settings", "Connection: keep-alive\r\nConnection: upgrade"]
)
@pytest.mark.parametrize("cut", [None, 30, -20, -3])
def test_an_offer_of_another_protocol_is_passed_over_with_its_body_read(running, offer, cut):
    body = b'{"name": "many"}'
    head = f"POST /v1/experiments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {running.token}\r\n{offer}\r\n"
    head += "Upgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAA\r\nContent-Type: application/json\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    whole = head.encode() + body
    connection = running.raw(whole[:cut])
    if cut is not None:
        time.sleep(0.1)
        connection.sendall(whole[cut:])
    connection.sendall(f"{HALF}Connection: close\r\n\r\n".encode())
    found = everything(connection)
    assert found.startswith(b"HTTP/1.1 422")
    assert b"problem: field required" in found  # the body was read
    assert found.count(b"HTTP/1.1 200") == 1


def test_a_tunnel_is_refused_and_the_server_goes_on(running):
    everything(running.raw("CONNECT x:1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"))
    assert everything(running.raw(f"{HALF}Connection: close\r\n\r\n")).startswith(b"HTTP/1.1 200")


def test_idle_connections_of_one_address_make_room_for_a_new_one(small):
    idle = [small.raw() for _ in range(60)]
    assert small.send("GET", "/healthz", token=None)[0] == 200
    assert sum(everything(one) == b"" for one in idle[:40]) == 40  # the oldest went first
    assert len(small.server.server_state.connections) <= 21


@pytest.mark.parametrize("what", [HALF, "POST /login HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nt"])
def test_slow_connections_of_many_addresses_make_room_too(small, what):
    for k in range(120):
        small.raw(what, source=f"127.0.0.{2 + k % 30}")
    assert small.send("GET", "/healthz", token=None)[0] == 200
    assert small.send("GET", "/v1/experiments")[0] == 200


def test_when_all_are_at_work_a_new_one_is_turned_away(tmp_path):
    with open_storage(tmp_path / "x.db") as storage:
        running = Running(storage, connections=Connections(most=3))
        try:
            exp = running.create()
            for client in running.clients:
                client.close()
            path = f"GET /v1/experiments/{exp.record.key}/stream HTTP/1.1\r\nHost: x\r\n"
            for _ in range(3):
                assert running.raw(f"{path}Authorization: Bearer {running.token}\r\n\r\n").recv(9) == b"HTTP/1.1 "
            assert running.raw().recv(100) == b""
        finally:
            running.stop()


def test_the_connections_of_a_proxy_are_not_counted(tmp_path):
    with open_storage(tmp_path / "x.db") as storage:
        running = Running(storage, connections=Connections(most=40, proxies="127.0.0.0/8", of_address=5))
        try:
            idle = [running.raw() for _ in range(20)]
            running.send("GET", "/healthz", token=None)
            assert len(running.server.server_state.connections) >= len(idle)
        finally:
            running.stop()


def test_unfinished_heads_share_their_memory(running, monkeypatch):
    monkeypatch.setattr(connections, "MOST_HEADS", 100_000)
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


def test_more_descriptors_are_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, 8192))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: asked.append(limits))
    assert ceiling() == 8192 - RESERVED
    assert asked == [(8192, 8192)]
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (256, 256))
    with pytest.raises(ValueError, match="open files: the system allows 256"):
        ceiling()


class Sent:
    """A transport that keeps what is written to it."""

    def __init__(self):
        self.packets, self.closed = [], False
        self.get_extra_info = self.pause_reading = self.resume_reading = None

    def is_closing(self):
        return self.closed

    def write(self, data):
        self.packets.append(data)

    def close(self):
        self.closed = True

    abort = close


def test_head_and_body_go_out_at_once():
    sent, turns = Sent(), []
    loop = type("Loop", (), {"call_soon": lambda self, call: turns.append(call)})()
    transport = Gathered(sent, loop)
    transport.write(b"head")
    transport.write(b"body")
    assert sent.packets == []
    turns.pop()()
    assert sent.packets == [b"headbody"]
    assert not turns
    transport.write(b"x" * (MOST_GATHERED + 1))  # what is long does not wait, so that its reader can slow it down
    assert len(sent.packets) == 2
    transport.write(b"last words")
    transport.close()
    assert sent.packets[2:] == [b"last words"]
    assert sent.closed
    for turn in turns:
        turn()
    assert len(sent.packets) == 3
