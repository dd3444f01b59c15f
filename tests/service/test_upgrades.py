"""Offers of another protocol are passed over, and whatever comes with them is answered."""

import time

import pytest
from tests.service.servers import HALF, everything


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
