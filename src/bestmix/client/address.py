"""A server's address, taken apart, and where its token is found; by the standard library alone, as edges need it."""

from typing import NamedTuple
from urllib.parse import urlsplit

VARIABLE = "BESTMIX_TOKEN"  # where the token is looked for when none is given
TOKEN_REMEDY = f"set the variable {VARIABLE}; bestmix token create makes one"  # the shell says it too


class Address(NamedTuple):
    """Where a server is."""

    secure: bool
    host: str
    port: int | None
    path: str  # before the API's own, without a slash at its end
    url: str  # for people: without a path, a user and a password


def parse_address(url: str) -> Address:
    """The parts of an address; ``ValueError`` where it is none.

    >>> parse_address("https://ann:secret@[::1]:8765/mixes/")
    Address(secure=True, host='::1', port=8765, path='/mixes', url='https://[::1]:8765')
    """
    parts = urlsplit(url if isinstance(url, str) else "")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("no address of HTTP")
    parts.hostname.encode("idna")  # as a connection will: no part of a name may be empty or too long
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
    return Address(parts.scheme == "https", parts.hostname, parts.port, parts.path.rstrip("/"), shown)
