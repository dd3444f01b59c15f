"""Running the service: where it listens, what it prints, how it ends."""

import asyncio
import functools
import ipaddress
import logging
import signal
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, TextIO, cast

import uvicorn
from fastapi import FastAPI
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from bestmix.checks import InvalidInput
from bestmix.service.connections import Connections, ceiling
from bestmix.service.http_protocol import Limited
from bestmix.service.logs import GatheredLines, JsonLines, Sampled
from bestmix.service.tokens import Tokens
from bestmix.service.whole_requests import Take, TakeBody

GRACE = 30  # seconds that calls at work have to end
BACKLOG = 256  # connections that wait to be accepted, fewer than the descriptors that are kept free
LOGGERS = "bestmix.service", "uvicorn.error", "asyncio"
SWITCH = 0.001  # seconds after which a thread that computes lets others go on, such as those of workers' calls


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address.

    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("0.0.0.0")
    (True, True, False)
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def check_reach(host: str, tokens: Tokens) -> None:
    """Refuse to listen to other machines before there is a token that keeps strangers out."""
    if not is_loopback(host) and not tokens.any_valid():
        raise ValueError(
            f"--host: {host} can be reached by others and there is no valid token yet; run bestmix token create, "
            "or leave --host out"
        )


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol by name: without it asyncio leaves Nagle's algorithm on, and every answer waits for 40 ms.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host.strip("[]"), port))
    except (OSError, OverflowError) as error:
        made.close()
        said = getattr(error, "strerror", None) or str(error)
        raise InvalidInput("--port", f"cannot listen on {host}:{port} ({said.lower()})", "choose another one") from None
    made.set_inheritable(True)
    return made


class Graceful(uvicorn.Server):
    """Tells open streams to end when it is asked to stop, so that nothing else has to wait for them."""

    def __init__(self, config: uvicorn.Config, stopping: Callable[[], None]) -> None:
        super().__init__(config)
        self._stopping = stopping

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """On SIGTERM and Ctrl-C."""
        self._stopping()
        super().handle_exit(sig, frame)


def behind_proxies(take: Take, proxies: str) -> Take:
    """The same for requests whose client is told by headers of these proxies."""

    async def end(*_: object) -> None:
        pass

    headers = ProxyHeadersMiddleware(end, proxies)

    def take_behind(scope: Any) -> TakeBody | None:
        seen = dict(scope)
        with suppress(StopIteration):  # it never waits
            headers(cast(Any, seen), cast(Any, None), cast(Any, None)).send(None)
        return take(seen)

    return take_behind


def configure(app: FastAPI, proxies: str | None = None, connections: Connections | None = None) -> uvicorn.Config:
    """How uvicorn runs the application."""
    logging.getLogger("uvicorn.access").disabled = True  # addresses may hold tokens; the middleware's lines do not
    registry = Connections(ceiling(), proxies) if connections is None else connections
    take: Take | None = getattr(app, "take", None)
    if take is not None and proxies is not None:
        take = behind_proxies(take, proxies)
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        proxy_headers=proxies is not None,
        forwarded_allow_ips=proxies,
        backlog=BACKLOG,
        ws="none",
        http=cast("type[asyncio.Protocol]", functools.partial(Limited, registry, take)),
    )


def write_log(stream: TextIO) -> None:
    """Write all that is logged as lines of JSON, also what the event loop has to say of errors that nobody caught."""
    handler = GatheredLines(stream)
    handler.setFormatter(JsonLines())
    handler.addFilter(Sampled())
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(logging.INFO)
    # Of threads, processes and tasks no line tells; finding them out takes a good part of the time of a line.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False


def serve(app: FastAPI, listener: socket.socket, proxies: str | None = None) -> None:
    """Serve until SIGTERM or Ctrl-C; calls at work are answered first."""
    write_log(sys.stderr)
    for number in (signal.SIGTERM, signal.SIGINT):  # uvicorn raises it once more when all is done
        signal.signal(number, lambda *_: None)
    sys.setswitchinterval(SWITCH)
    Graceful(configure(app, proxies), app.state.stopping.set).run(sockets=[listener])
