"""Bodies are read after the rule has let the request in, within limits."""

import asyncio
import json
import time

import pytest

from bestmix.service import bodies
from bestmix.service.bodies import Buffers, receive
from bestmix.service.errors import Refusal


def head(path, length, token=None, method="POST"):
    access = f"Authorization: Bearer {token}\r\n" if token else ""
    kind = "Content-Type: application/json\r\n"
    return f"{method} {path} HTTP/1.1\r\nHost: x\r\n{access}{kind}Content-Length: {length}\r\n\r\n"


@pytest.mark.parametrize("token", [None, "bm_01234567_wrong", "nonsense"])
def test_a_stranger_is_answered_before_the_body_comes(running, token):
    connection = running.raw(head("/v1/experiments", 5_000_000, token))
    assert connection.recv(100).startswith(b"HTTP/1.1 401")


def test_nobody_is_told_to_send_a_body_that_is_not_wanted(running):
    text = head("/v1/experiments", 5_000_000).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n")
    assert running.raw(text).recv(100).startswith(b"HTTP/1.1 401")
    text = head("/v1/experiments", 2, running.token).replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n")
    assert running.raw(text).recv(100).startswith(b"HTTP/1.1 100")


@pytest.mark.parametrize(
    ("path", "most"),
    [
        ("/login", 4096),
        ("/logout", 4096),
        ("/v1/experiments/router/ask", 16 * 1024),
        ("/v1/experiments/router/tell", 256 * 1024),
        ("/v1/experiments/router/tell_many", 8_000_000),
    ],
)
def test_every_route_has_a_limit_of_its_own(running, path, most):
    running.create()
    assert running.raw(head(path, most + 1, running.token)).recv(100).startswith(b"HTTP/1.1 413")
    chunked = f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {running.token}\r\n"
    chunked += "Transfer-Encoding: chunked\r\n\r\n"
    connection = running.raw(chunked, f"{most + 1:x}\r\n", b"1" * (most + 1))
    assert connection.recv(100).startswith(b"HTTP/1.1 413")


def test_an_intricate_body_is_refused_before_it_is_parsed(running):
    running.create()
    text = '{"results": [' + "[]," * 1_500_000 + "[]]}"
    began = time.monotonic()
    headers = {"Content-Type": "application/json"}
    status, told = running.json("POST", "/v1/experiments/router/tell_many", text, headers=headers)
    assert (status, told["error"]["code"]) == (413, "too_large")
    assert time.monotonic() - began < 2.0


def test_a_body_that_does_not_come_is_answered_408(running, monkeypatch):
    monkeypatch.setattr(bodies, "STALL_SECONDS", 0.2)
    running.create()
    connection = running.raw(head("/v1/experiments/router/ask", 100, running.token), b"{")
    answer = connection.recv(1000)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"connection: close" in answer.lower()
    while answer:
        answer = connection.recv(1000)  # and it is closed


def test_a_body_that_drips_is_answered_408(running, monkeypatch):
    monkeypatch.setattr(bodies, "BODY_SECONDS", 0.5)
    connection = running.raw(head("/login", 100))
    for _ in range(20):
        connection.sendall(b"t")
        time.sleep(0.1)
        connection.settimeout(0.01)
        try:
            assert connection.recv(100).startswith(b"HTTP/1.1 408")
            return
        except TimeoutError:
            continue
    pytest.fail("it was not answered")


def test_a_form_with_many_fields_is_refused(running):
    assert running.send("POST", "/login", "a&" * 2000, token=None)[0] == 422


def test_one_caller_cannot_fill_the_memory():
    buffers = Buffers(most=100, of_caller=60)
    with buffers.share("a") as mine, buffers.share("b") as other:
        mine(50)
        with pytest.raises(Refusal, match="too much at once"), buffers.share("a") as again:
            again(20)
        other(40)
        assert buffers.total == 90
        with pytest.raises(Refusal), buffers.share("c") as third:
            third(20)
    assert buffers.total == 0


def test_stalled_uploads_hold_no_more_than_the_limit(running):
    running.app.state.buffers = buffers = Buffers(most=2_000_000, of_caller=1_000_000)
    running.create()
    body = b" " * 300_000
    waiting = [running.raw(head("/v1/experiments/router/tell_many", 8_000_000, running.token), body) for _ in range(10)]
    answers = [b""] * len(waiting)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and sum(a.startswith(b"HTTP/1.1 503") for a in answers) < 6:
        for k, connection in enumerate(waiting):
            connection.settimeout(0.02)
            try:
                answers[k] = answers[k] or connection.recv(100)
            except TimeoutError:
                continue
    assert sum(a.startswith(b"HTTP/1.1 503") for a in answers) >= 6
    assert buffers.total <= 1_000_000
    assert running.json("GET", "/v1/experiments/router")[0] == 200


def test_large_bodies_are_parsed_outside_of_the_event_loop():
    import threading

    where = []

    def parser(content):
        where.append(threading.current_thread())
        return json.loads(content)

    async def both():
        await bodies.parse(parser, b"1")
        await bodies.parse(parser, b" " * bodies.LARGE + b"1")

    asyncio.run(both())
    assert [thread is threading.current_thread() for thread in where] == [True, False]


def test_a_nonsense_length_is_refused():
    from starlette.requests import Request

    scope = {"type": "http", "method": "POST", "headers": [(b"content-length", b"9" * 30)]}
    with pytest.raises(Refusal, match="larger"):
        asyncio.run(receive(Request(scope), 100, lambda size: None))
