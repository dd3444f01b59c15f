"""Offers of another protocol are passed over, and whatever comes with them is answered."""

import sys
import threading
import time

import pytest
from tests.service.servers import HALF, everything

from bestmix.service.http_protocol import LONGEST_HEAD


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


@pytest.mark.parametrize("end", ["1.1\r\nHost: x\r\nConnection: close, Upgrade", "1.0\r\nConnection: upgrade"])
def test_an_offer_on_a_connection_that_is_to_be_closed_is_answered(running, end):
    found = everything(running.raw(f"GET /healthz HTTP/{end}\r\nUpgrade: h2c\r\n\r\n"))
    assert found.startswith(b"HTTP/1.1 200")
    assert found.count(b"HTTP/1.1 ") == 1


def test_a_body_behind_an_offer_is_read_on_a_connection_that_is_to_be_closed(running):
    head = f"POST /v1/experiments HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {running.token}\r\nUpgrade: h2c\r\n"
    head += "Connection: close, upgrade\r\nContent-Type: application/json\r\nContent-Length: 16\r\n\r\n"
    found = everything(running.raw(head, b'{"name": "many"}', f"{HALF}\r\n"))
    assert b"problem: field required" in found
    assert found.count(b"HTTP/1.1 ") == 1


def test_many_offers_in_one_piece_are_all_answered(running):
    offers = 2 * sys.getrecursionlimit()
    one = b"GET /healthz HTTP/1.1\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n"
    connection = running.raw()
    sender = threading.Thread(
        target=connection.sendall, args=(one * offers + f"{HALF}Connection: close\r\n\r\n".encode(),)
    )
    sender.start()
    found = everything(connection)
    sender.join(20)
    assert found.count(b"HTTP/1.1 200") == offers + 1


def test_a_long_head_with_an_offer_counts_once(running):
    one = f"{HALF}Upgrade: h2c\r\nX-Long: {'x' * (LONGEST_HEAD - 1000)}\r\nConnection: close, upgrade\r\n\r\n"
    assert everything(running.raw(one[:40_000], one[40_000:])).startswith(b"HTTP/1.1 200")
