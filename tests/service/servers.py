"""A real server of every test's own: a socket, a thread, a database."""

import json
import os
import socket
import threading
import time
from http.client import HTTPConnection
from urllib.parse import urlencode

import pytest

from bestmix import Problem, Uniform

fastapi = pytest.importorskip("fastapi", reason="the service needs bestmix[service]")

from bestmix.client import connect  # noqa: E402
from bestmix.service.app import Settings, create_app  # noqa: E402
from bestmix.service.server import configure, listen  # noqa: E402
from bestmix.service.tokens import Scope, Tokens, new_token  # noqa: E402

PROBLEM = Problem(["small", "large"], {"dollars": 1.0})


class Running:
    """A server in a thread of this process."""

    def __init__(self, storage, settings=None, connections=None):
        import uvicorn

        self.storage = storage
        self.sockets = []
        self.clients = []  # closed in the end: in a cycle of garbage a socket may go before what would close it
        self.tokens = Tokens(storage)
        self.own, self.token = new_token(Scope.admin)
        self.app = create_app(storage, settings or Settings(remember=0.0), self.own)
        self.socket = listen("127.0.0.1", 0)
        self.port = self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.server = uvicorn.Server(configure(self.app, connections=connections))
        self.thread = threading.Thread(target=self.server.run, kwargs={"sockets": [self.socket]})
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)

    def connect(self, token=None):
        self.clients.append(connect(self.url, token=token or self.token, patience=20.0))
        return self.clients[-1]

    def create(self, name="router", problem=PROBLEM, budget=8, strategy=None, **terms):
        return self.connect().create(name, problem, budget, strategy or Uniform(), **terms)

    def send(self, method, path, body=None, token="own", headers=None, **query):
        """Status, headers and body of one request."""
        given = dict(headers or {})
        text = self.token if token == "own" else token
        if text:
            given["Authorization"] = f"Bearer {text}"
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
            given.setdefault("Content-Type", "application/json")
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path + (f"?{urlencode(query)}" if query else ""), body, given)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()
        finally:
            connection.close()

    def json(self, method, path, body=None, **options):
        status, _, content = self.send(method, path, body, **options)
        return status, json.loads(content) if content else None

    def log_in(self, token=None):
        """The header with a browser's cookie, after the form was sent."""
        headers = self.send("POST", "/login", urlencode({"token": token or self.token}), token=None)[1]
        return {"Cookie": headers["set-cookie"].partition(";")[0]}

    def raw(self, *parts, source="127.0.0.1"):
        """A connection on which some bytes were sent."""
        made = socket.create_connection(("127.0.0.1", self.port), timeout=20, source_address=(source, 0))
        self.sockets.append(made)
        for part in parts:
            made.sendall(part if isinstance(part, bytes) else part.encode())
        return made

    def stop(self):
        for connection in self.sockets:
            connection.close()
        for client in self.clients:
            client.close()
        self.app.state.stopping.set()
        self.server.should_exit = True
        self.thread.join(30)
        self.socket.close()


def require(found, what):
    """Skip with a sentence where something is not installed; fail where everything must be."""
    if not found:
        if os.environ.get("BESTMIX_REQUIRE_ALL") == "1":
            pytest.fail(f"{what} is missing, and BESTMIX_REQUIRE_ALL=1 says that it must be there")
        pytest.skip(f"{what} is not installed, so this cannot be tested here")
