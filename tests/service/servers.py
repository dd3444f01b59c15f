"""A real server of every test's own: a socket, a thread, a database."""

import json
import os
import socket
import subprocess
import threading
import time
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlencode

import pytest

from bestmix import Problem, Uniform

fastapi = pytest.importorskip("fastapi", reason="the service needs bestmix[service]")

from bestmix.client import connect  # noqa: E402
from bestmix.service.app import Settings, create_app  # noqa: E402
from bestmix.service.server import configure, listen  # noqa: E402
from bestmix.service.tokens import Scope, Tokens, new_token  # noqa: E402

PROBLEM = Problem(["small", "large"], {"dollars": 1.0})
HALF = "GET /healthz HTTP/1.1\r\nHost: x\r\n"  # a request's head without its end
SETTINGS = Settings(remember=0.0, strangers=1e6)  # tests send bad tokens faster than anybody may


def everything(connection):
    """All that is sent on a connection until it is closed."""
    found = b""
    while part := connection.recv(65536):
        found += part
    return found


class Running:
    """A server in a thread of this process."""

    def __init__(self, storage, settings=None, connections=None, proxies=None):
        import uvicorn

        self.storage = storage
        self.sockets = []
        self.clients = []  # closed in the end: in a cycle of garbage a socket may go before what would close it
        self.tokens = Tokens(storage)
        self.own, self.token = new_token(Scope.admin)
        self.app = create_app(storage, settings or SETTINGS, self.own)
        self.socket = listen("127.0.0.1", 0)
        self.port = self.socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.server = uvicorn.Server(configure(self.app, proxies, connections))
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
        connection = HTTPConnection("127.0.0.1", self.port, timeout=300)  # the first call may compile
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


class Nginx:
    """nginx with the configuration of deploy/, in front of a server of this machine."""

    def __init__(self, folder, *ports):
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"https://127.0.0.1:{self.port}"
        self.configure(ports)

    def configure(self, ports):
        key, certificate = self.folder / "key.pem", self.folder / "certificate.pem"
        words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=127.0.0.1"]
        subprocess.run([*words, "-keyout", key, "-out", certificate], check=True, capture_output=True)
        text = (Path(__file__).resolve().parents[2] / "deploy" / "nginx.conf").read_text()
        for there, here in {
            "/etc/ssl/bestmix.pem": certificate,
            "/etc/ssl/bestmix.key": key,
            "/var/log/nginx/bestmix.log": self.folder / "access.log",
            "listen 443 ": f"listen 127.0.0.1:{self.port} ",
            "10.0.0.11:8765": f"127.0.0.1:{ports[0]}",
            "10.0.0.12:8765": f"127.0.0.1:{ports[-1]}",
        }.items():
            assert there in text
            text = text.replace(there, str(here))
        (self.folder / "site.conf").write_text(text)
        parts = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        temporary = " ".join(f"{part}_temp_path {self.folder / part};" for part in parts)
        self.file = self.folder / "nginx.conf"
        log = f"pid {self.folder}/pid; error_log {self.folder}/error.log;"
        self.file.write_text(f"{log}\nevents {{}}\nhttp {{ {temporary} include {self.folder}/site.conf; }}\n")

    def check(self):
        return subprocess.run(["nginx", "-t", "-c", self.file], capture_output=True, text=True)

    def __enter__(self):
        self.process = subprocess.Popen(["nginx", "-c", self.file, "-g", "daemon off;"])
        for _ in range(200):
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.05)
        raise AssertionError("nginx does not listen")

    def __exit__(self, *error):
        self.process.terminate()
        self.process.wait(20)


def require(found, what):
    """Skip with a sentence where something is not installed; fail where everything must be."""
    if not found:
        if os.environ.get("BESTMIX_REQUIRE_ALL") == "1":
            pytest.fail(f"{what} is missing, and BESTMIX_REQUIRE_ALL=1 says that it must be there")
        pytest.skip(f"{what} is not installed, so this cannot be tested here")
