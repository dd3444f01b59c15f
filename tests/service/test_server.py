"""The server below the application: its socket, and heads of requests that never end."""

import asyncio
import io
import json
import logging
import socket

import pytest

from bestmix.service.http_protocol import LONGEST_HEAD
from bestmix.service.server import LOGGERS, listen, write_log


@pytest.fixture
def log():
    """What the loggers of a server write."""
    loggers, stream = [logging.getLogger(name) for name in LOGGERS], io.StringIO()
    before = [(logger, logger.handlers, logger.propagate, logger.level) for logger in loggers]
    flags = logging.logThreads, logging.logProcesses, logging.logMultiprocessing
    write_log(stream)
    yield stream
    logging.logThreads, logging.logProcesses, logging.logMultiprocessing = flags
    for logger, handlers, propagate, level in before:
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)


def test_an_error_that_nobody_caught_is_a_line_like_all_others(log):
    async def turn():
        asyncio.get_running_loop().call_soon(lambda: 1 / 0)
        await asyncio.sleep(0)

    asyncio.run(turn())
    (line,) = map(json.loads, log.getvalue().splitlines())
    assert (line["level"], line["logger"]) == ("error", "asyncio")
    assert "ZeroDivisionError" in line["error"]


def test_answers_are_sent_at_once():
    # asyncio turns Nagle's algorithm off only on sockets that name their protocol.
    with listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_a_head_without_end_is_cut_off(running):
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * LONGEST_HEAD)
        connection.sendall(b"a")
        assert connection.recv(100).startswith(b"HTTP/1.1 400")


def test_a_long_head_and_a_longer_body_are_read(running):
    body = b'{"name": "' + b"b" * 2 * LONGEST_HEAD + b'"}'
    with socket.create_connection(("127.0.0.1", running.port), timeout=10) as connection:
        head = (
            f"POST /v1/experiments HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-Long: {'a' * 60_000}\r\n"
        )
        head += f"Authorization: Bearer {running.token}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode())
        connection.sendall(body)
        assert connection.recv(100).startswith(b"HTTP/1.1 422")
