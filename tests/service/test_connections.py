"""Connections that pile up do not keep others out."""

import resource

import pytest
from tests.service.servers import HALF, Running, everything

from bestmix import open_storage
from bestmix.service.connections import RESERVED, Connections, ceiling


@pytest.fixture
def small(tmp_path):
    """A server for few connections."""
    with open_storage(tmp_path / "small.db") as storage:
        made = Running(storage, connections=Connections(most=40, of_address=20))
        yield made
        made.stop()


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


def test_more_descriptors_are_asked_for(monkeypatch):
    asked = []
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, 8192))
    monkeypatch.setattr(resource, "setrlimit", lambda kind, limits: asked.append(limits))
    assert ceiling() == 8192 - RESERVED
    assert asked == [(8192, 8192)]
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (256, 256))
    with pytest.raises(ValueError, match="open files: the system allows 256"):
        ceiling()
