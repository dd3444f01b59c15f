"""Requests that are repeated until they are answered, and what is no server of ours."""

import http.server
import socket
import threading
import time

import pytest

from bestmix import connect
from bestmix.client.transport import Transport, failure
from bestmix.experiments import StorageError


def test_an_ask_whose_answer_was_lost_hands_out_nothing_more(running, monkeypatch):
    exp = running.create()
    attempt, lost = exp._transport._attempt, []

    def lose(method, target, body):
        answer = attempt(method, target, body)
        if not lost:
            lost.append(answer)
            raise ConnectionResetError("lost on the way")
        return answer

    monkeypatch.setattr(exp._transport, "_attempt", lose)
    given = exp.ask(3)
    assert len(given) == 3
    assert exp.state.leased == 3


def test_patience_is_not_stretched_by_what_a_server_asks_for(running, monkeypatch):
    exp = running.create()
    exp._transport._patience = 0.5
    monkeypatch.setattr(exp._transport, "_attempt", lambda *_: (503, b"{}", 3600.0))
    began = time.monotonic()
    with pytest.raises(StorageError):
        exp.recommend()
    assert time.monotonic() - began < 5.0


@pytest.fixture
def odd_server():
    """A server that answers every request with the same words."""

    class Odd(http.server.BaseHTTPRequestHandler):
        answer = (200, b"<html>")

        def do_GET(self):
            status, content = self.answer
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *words):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Odd) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", Odd
        server.shutdown()
        thread.join()


def test_an_error_that_is_not_of_bestmix_is_said_to_be_one(odd_server):
    url, odd = odd_server
    odd.answer = (404, b"nothing here")
    with connect(url, "x", patience=1.0) as server, pytest.raises(StorageError, match="status 404; check that it is"):
        server.open("router")


class Forgetful:
    """Answers a request on each connection, or none, and closes it without a word."""

    def __init__(self, answers):
        self.answers, self.connections = answers, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            with connection:
                self.connections += 1
                if not connection.recv(65536):
                    return
                if self.answers:
                    connection.sendall(self.answers.pop(0))

    def stop(self):
        socket.create_connection(self.listener.getsockname()).close()
        self.thread.join(10)
        self.listener.close()


@pytest.fixture
def forgetful():
    made = Forgetful([b'HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n{"a":1}'] * 3)
    yield made
    made.stop()


def test_a_kept_connection_that_was_closed_meanwhile_is_no_server_out_of_reach(forgetful):
    transport = Transport(forgetful.url, "t", patience=0.0)
    assert [transport.call("GET", "/x") for _ in range(3)] == [(200, {"a": 1})] * 3
    assert forgetful.connections == 3
    with pytest.raises(StorageError, match="cannot be reached"):
        transport.call("GET", "/x")
    assert forgetful.connections == 4  # where a new one fails as well, it is the server
    with pytest.raises(StorageError, match="cannot be reached"):
        transport.call("GET", "/x")
    assert forgetful.connections == 5
    transport.close()


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x",
        "http://",
        "router.db",
        "",
        "http://a..b",
        "http://a:99999",
        "http://a:x",
        "http://[::1",
        f"http://{'x' * 70}.org",
    ],
)
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(ValueError, match="url: expected http://HOST:PORT"):
        connect(url)


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "ümlaut"])
def test_a_token_that_would_break_the_header_is_refused(token):
    with pytest.raises(ValueError, match="token: expected one line"):
        connect("http://127.0.0.1:1", token)


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"{}", "has no 'experiments'"), (b'{"experiments": [{}]}', "has no"), (b"[1]", "is no JSON object")],
)
def test_an_answer_of_another_shape_is_no_traceback(odd_server, content, words):
    url, server = odd_server
    server.answer = (200, content)
    with pytest.raises(StorageError, match=words):
        connect(url, "t").open("x")


def test_an_error_nested_too_deep_is_no_traceback():
    assert "status 500; check that it is one of bestmix" in str(failure(500, b"[" * 200_000))
