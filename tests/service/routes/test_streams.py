"""Streams of events: who may have how many, and when they end."""

import time
from http.client import HTTPConnection

import pytest

from bestmix.service.pools import Slots
from bestmix.service.routes.streams import Feed


@pytest.fixture
def follow(running):
    """A function that opens a stream."""
    opened = []

    def one(path, token=None, **headers):
        connection = HTTPConnection("127.0.0.1", running.port, timeout=10)
        opened.append(connection)
        connection.request("GET", path, headers={"Authorization": f"Bearer {token or running.token}", **headers})
        return connection.getresponse()

    yield one
    for connection in opened:
        connection.close()


def wait_until(true, seconds=10.0):
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    assert true()


@pytest.mark.parametrize("how", ["token", "cookie"])
def test_a_stream_ends_within_a_second_after_its_token_was_revoked(running, follow, how):
    exp = running.create()
    token, text = running.tokens.create("read")
    path = f"/v1/experiments/{exp.record.key}/stream"
    stream = follow(path, text) if how == "token" else follow(path, "none", **running.log_in(text), Authorization="")
    assert stream.status == 200
    stream.readline()
    running.tokens.revoke(token.prefix)
    began = time.monotonic()
    stream.read()
    assert time.monotonic() - began < 1.0


def test_a_stream_ends_within_a_second_though_a_look_takes_longer(running, follow, monkeypatch):
    exp = running.create()
    token, text = running.tokens.create("read")
    monkeypatch.setattr(Feed, "look", lambda feed: time.sleep(2.5) or [])
    stream = follow(f"/v1/experiments/{exp.record.key}/stream", text)
    stream.readline()
    running.tokens.revoke(token.prefix)
    began = time.monotonic()
    stream.read()
    assert time.monotonic() - began < 1.0


def test_a_stream_begins_with_figures_that_are_not_older_than_itself(running, follow):
    exp = running.create()
    path = f"/v1/experiments/{exp.record.key}/stream?seconds=0.000001"
    assert b'"status": "running"' in follow(path).read()
    exp.stop("enough")
    assert b'"status": "stopped"' in follow(path).read()


def test_one_token_cannot_have_all_streams(running, follow):
    running.app.state.streams = Slots(most=4, of_caller=2)
    exp = running.create()
    path = f"/v1/experiments/{exp.record.key}/stream"
    texts = [running.tokens.create("read")[1] for _ in range(3)]
    assert [follow(path, texts[0]).status for _ in range(3)] == [200, 200, 503]
    assert follow(path, texts[1]).status == 200
    assert [follow(path, texts[2]).status for _ in range(2)] == [200, 503]


def test_a_stream_that_is_left_gives_its_place_back(running, follow):
    exp = running.create()
    token = f"Authorization: Bearer {running.token}\r\n"
    stream = running.raw(f"GET /v1/experiments/{exp.record.key}/stream HTTP/1.1\r\nHost: x\r\n{token}\r\n")
    assert stream.recv(9) == b"HTTP/1.1 "
    assert len(running.app.state.streams) == 1
    stream.close()
    wait_until(lambda: len(running.app.state.streams) == 0)


def test_a_browser_follows_several_experiments_in_one_stream(running, follow):
    one, two = running.create("one"), running.create("two")
    _, only = running.tokens.create("read", experiment="one")
    path = f"/follow?experiment={one.record.key}&experiment={two.record.key}"
    assert follow(path, only).status == 403
    stream = follow(path)
    found = b""
    while found.count(b"event: state") < 2:
        found += stream.readline()
    two.delete()
    while b"deleted" not in found:
        found += stream.readline()
    assert stream.readline().decode() == f'data: {{"id": "{two.record.key}"}}\n'
    one.tell(one.ask()[0], 1.0, [1.0])
    while b'"complete": 1' not in found:
        found += stream.readline()
