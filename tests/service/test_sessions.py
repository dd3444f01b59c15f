"""A browser's session: random, bound to a token, known to every server of the database."""

import pytest
from tests.service.servers import Running

from bestmix import open_storage
from bestmix.service import sessions
from bestmix.service.tokens import Scope, new_token


def test_a_session_holds_nothing_of_the_tokens_secret(running):
    token, text = running.tokens.create("read")
    (cookie,) = running.log_in(text).values()
    secret = text.split("_", 2)[2]
    assert secret not in cookie
    assert token.digest not in cookie
    assert cookie != running.log_in(text)["Cookie"]  # each is another
    assert cookie.startswith(f"bestmix-{running.port}={token.prefix}.")


@pytest.mark.parametrize("change", ["prefix", "until", "random", "signature", "token", "empty"])
def test_a_session_that_was_changed_is_refused(running, change):
    _, text = running.tokens.create("read")
    other, _ = running.tokens.create("admin")
    name, _, session = running.log_in(text)["Cookie"].partition("=")
    assert running.send("GET", "/v1/experiments", token=None, headers={"Cookie": f"{name}={session}"})[0] == 200
    parts = session.split(".")
    changed = {
        "prefix": [other.prefix, *parts[1:]],
        "until": [parts[0], str(int(parts[1]) + 1), *parts[2:]],
        "random": [*parts[:2], "x", parts[3]],
        "signature": [*parts[:3], "0" * 64],
        "token": [text],
        "empty": ["", "", "", ""],
    }[change]
    headers = {"Cookie": f"{name}={'.'.join(changed)}"}
    assert running.send("GET", "/v1/experiments", token=None, headers=headers)[0] == 401


def test_a_session_ends():
    token, _ = new_token(Scope.read)
    session = sessions.new_session(token, now=1000.0)
    assert sessions.is_of(session, token, 1000.0)
    assert not sessions.is_of(session, token, 1000.0 + sessions.LASTS)
    assert not sessions.is_of(session, new_token(Scope.read)[0], 1000.0)
    assert not sessions.is_of("é.1.x.y", token, 1000.0)


def test_a_session_ends_with_its_token(running):
    token, text = running.tokens.create("read")
    cookie = running.log_in(text)
    running.tokens.revoke(token.prefix)
    status, _, page = running.send("GET", "/", token=None, headers=cookie | {"Accept": "text/html"})
    assert status == 401
    assert b"is revoked" in page


def test_two_servers_of_a_database_know_a_session_and_keep_their_cookies_apart(running, tmp_path):
    with open_storage(tmp_path / "service.db") as storage:
        second = Running(storage)
        try:
            _, text = running.tokens.create("read")
            first_cookie, second_cookie = running.log_in(text)["Cookie"], second.log_in(text)["Cookie"]
            assert first_cookie.partition("=")[0] != second_cookie.partition("=")[0]
            both = {"Cookie": f"{first_cookie}; {second_cookie}"}
            assert [one.send("GET", "/v1/experiments", token=None, headers=both)[0] for one in (running, second)] == [
                200,
                200,
            ]
            moved = {"Cookie": f"bestmix-{second.port}={first_cookie.partition('=')[2]}"}
            assert second.send("GET", "/v1/experiments", token=None, headers=moved)[0] == 200
        finally:
            second.stop()


def test_the_cookie_of_the_first_version_is_not_taken_and_goes(running):
    old = {"Cookie": f"bestmix={running.token}"}
    assert running.send("GET", "/v1/experiments", token=None, headers=old)[0] == 401
    headers = running.send("POST", "/login", f"token={running.token}", token=None, headers=old)[1]
    assert any(value.startswith('bestmix=""; ') for value in headers.get_all("set-cookie"))


def test_under_tls_the_cookie_is_the_hosts_alone():
    from starlette.responses import Response

    scope = {"type": "http", "scheme": "https", "headers": [(b"host", b"bestmix.example")]}
    response = Response()
    sessions.write_cookie(response, scope, "x")
    said = response.headers["set-cookie"]
    assert said.startswith("__Host-bestmix-443=x;")
    assert "Secure" in said
    assert "Path=/" in said
    assert "Domain" not in said


@pytest.mark.parametrize("host", [b"", b"x", b"[::1]:8765", b"x:99999999", b"x:\xb2", b"x:"])
def test_any_host_gives_a_name(host):
    name = sessions.cookie_name({"type": "http", "scheme": "http", "headers": [(b"host", host)]})
    assert name in ("bestmix-80", "bestmix-8765")


def test_logging_out_forgets_the_session(running):
    cookie = running.log_in()
    status, headers, _ = running.send("POST", "/logout", token=None, headers=cookie | {"Origin": running.url})
    assert status == 303
    assert "Max-Age=0" in headers["set-cookie"]
