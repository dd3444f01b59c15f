"""Offers to go on in another protocol, such as HTTP 2, which a server may pass over.

A parser stops behind the head of a request with an offer: what follows could be of the other protocol. So the head is
written once more without the offer, for a parser that is new: the one that stopped reads nothing more on a connection
that the client closes after the answer.
"""

import contextlib
from collections.abc import Iterable

import httptools

OFFER = b"upgrade", b"http2-settings"  # headers, and words of the header "connection", that offer another protocol


def without_offer(method: bytes, url: bytes, version: str, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    r"""The head of a request as it would be without the offer.

    >>> without_offer(b"GET", b"/x", "1.1", [(b"upgrade", b"h2c"), (b"connection", b"close, Upgrade")])
    b'GET /x HTTP/1.1\r\nconnection: close\r\n\r\n'
    """
    head = [b"%b %b HTTP/%b" % (method, url, version.encode())]
    for name, value in headers:
        words = [word.strip() for word in value.split(b",")] if name == b"connection" else [value]
        kept = [word for word in words if word.lower() not in OFFER]
        if kept and name not in OFFER:
            head.append(b"%b: %b" % (name, b", ".join(kept)))
    return b"\r\n".join([*head, b"", b""])


def new_parser(protocol: object) -> httptools.HttpRequestParser:
    """A parser as uvicorn makes one for a connection."""
    made = httptools.HttpRequestParser(protocol)
    with contextlib.suppress(AttributeError):  # httptools before 0.6.3
        made.set_dangerous_leniencies(lenient_data_after_close=True)
    return made
