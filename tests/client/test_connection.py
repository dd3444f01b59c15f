"""A kept connection: answers however they are cut into packets, and connections that must not be used again."""

import socket
import threading
import time

import pytest

from bestmix.client.connection import Connection

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-Note: Content-Length: 9\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nhel\r\n2\r\nlo\r\n0\r\nX-Trailer: 1\r\n\r\n"


class Canned:
    """Answers the first request on each connection with given bytes, then the next one, ..."""

    def __init__(self):
        self.answers, self.requests = [], []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pause = 0.0
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while self.answers and (request := connection.recv(65536)):
                    self.requests.append(request)
                    for part in self.answers.pop(0):
                        connection.sendall(part)
                        time.sleep(self.pause)

    def connect(self):
        return Connection("127.0.0.1", self.port, False, 5.0)


@pytest.fixture
def canned():
    made = Canned()
    yield made
    made.listener.close()


@pytest.mark.parametrize("whole", [PLAIN, CHUNKED, b"HTTP/1.1 100 Continue\r\n\r\n" + PLAIN])
def test_an_answer_is_read_however_it_is_cut(canned, whole):
    canned.pause = 0.0005
    canned.answers = [[whole], [bytes([byte]) for byte in whole], [whole[:20], whole[20:]]]
    connection = canned.connect()
    for _ in range(3):
        answer = connection.call("POST", "/x", "A: b\r\n", b"{}")
        assert (answer.status, answer.content, connection.open) == (200, b"hello", True)
    connection.close()


def test_a_request_goes_out_whole(canned):
    canned.answers = [[PLAIN], [PLAIN], [PLAIN]]
    connection = canned.connect()
    connection.call("POST", "/x?y=1", "A: b\r\n", b"{}")
    connection.call("POST", "/x", "", None)
    connection.call("GET", "/x", "", None)
    first, second, third = canned.requests
    host = b"Host: 127.0.0.1:%d\r\nAccept-Encoding: identity\r\n" % canned.port
    assert first == b"POST /x?y=1 HTTP/1.1\r\n" + host + b"Content-Length: 2\r\nA: b\r\n\r\n{}"
    assert b"Content-Length: 0\r\n" in second
    assert b"Content-Length" not in third
    connection.close()


def test_an_answer_without_a_body_has_none(canned):
    canned.answers = [[b"HTTP/1.1 204 No Content\r\nRetry-After: 3\r\n\r\n"], [PLAIN]]
    connection = canned.connect()
    answer = connection.call("DELETE", "/x", "", None)
    assert (answer.status, answer.content, answer.header(b"retry-after")) == (204, b"", b"3")
    assert connection.call("GET", "/x", "", None).content == b"hello"
    connection.close()


@pytest.mark.parametrize(
    "last",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nConnection: x\r\nContent-Length: 5\r\nConnection: Close\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\n\r\nhello",
        PLAIN + b"HTTP/1.1 408 ",
        CHUNKED + b"\r\n",
    ],
)
def test_a_connection_that_is_closed_or_out_of_step_is_not_used_again(canned, last):
    canned.answers = [[last]]
    connection = canned.connect()
    assert connection.call("GET", "/x", "", None).content == b"hello"
    assert not connection.open
    connection.close()


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (b"", "closed the connection"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "closed the connection"),
        (b"SSH-2.0-OpenSSH\r\n\r\n", "not one of HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: " + b"1" * 5000 + b"\r\n\r\nhello", "too many digits"),
        *[
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%b\r\nhello\r\n0\r\n\r\n" % size, "no length")
            for size in (b"zz", b"", b"-5", b"+5", b"0_5", b"0x5", b"0" * 5000)
        ],
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 50_000, "too long"),
        *[
            (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%b\r\n0\r\n\r\n" % part, "as long as it says")
            for part in (b"4\r\nhello", b"5\r\nhello, you", b"5\r\nhello\n\n")
        ],
    ],
)
def test_what_is_no_answer_is_an_error_of_the_connection(canned, said, words):
    canned.answers = [[said]]
    connection = canned.connect()
    with pytest.raises(ConnectionError, match=words):
        connection.call("GET", "/x", "", None)
    assert not connection.open
    connection.close()


def test_an_interrupted_call_does_not_leave_its_answer_to_the_next(canned, monkeypatch):
    canned.answers = [[PLAIN]]
    connection = canned.connect()
    monkeypatch.setattr(connection, "_read", lambda: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        connection.call("GET", "/x", "", None)
    assert not connection.open
    connection.close()
