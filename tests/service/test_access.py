"""Who may do what: the matrix is made from the routes, so that a new one without a rule fails."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from fastapi.routing import APIRoute
from tests.service.servers import Running

from bestmix import open_storage
from bestmix.experiments.sql import tables
from bestmix.service.access import PUBLIC, rules
from bestmix.service.app import Settings, check_rules
from bestmix.service.tokens import Scope, Tokens, digest

OPEN = {"/openapi.json"}  # of FastAPI itself, with nothing secret in it
FILL = {"kind": "csv", "trial": "0123456789ab-1", "name": "style.css", "action": "pause"}


@pytest.fixture
def tokens(running):
    """The texts of one token of every kind, and the experiment."""
    exp, other = running.create("mine"), running.create("other")
    made = {scope: running.tokens.create(scope)[1] for scope in ("read", "work", "admin")}
    made |= {f"{scope} mine": running.tokens.create(scope, experiment="mine")[1] for scope in ("read", "work", "admin")}
    made["foreign"] = running.tokens.create("admin", experiment=other.name)[1]
    revoked, made["revoked"] = running.tokens.create("admin")
    running.tokens.revoke(revoked.prefix)
    expired, made["expired"] = running.tokens.create("admin", days=1)
    past = sa.update(tables.tokens).where(tables.tokens.c.prefix == expired.prefix).values(expires=time.time() - 1)
    running.storage.store.database.write(lambda connection: connection.execute(past))
    made["bad"] = made["admin"][:-1] + ("A" if made["admin"][-1] != "A" else "B")
    made["nonsense"] = "nonsense"
    made["none"] = None
    return exp.record.key, made


def flat(routes):
    """Routes, those of routers inside too."""
    for route in routes:
        if hasattr(route, "routes"):
            yield from flat(route.routes)
        else:
            yield route


def test_every_route_has_a_rule(running):
    found = list(flat(running.app.routes))
    assert {route.path for route in found if not isinstance(route, APIRoute)} == OPEN
    assert len(found) > 30

    @running.app.get("/new")
    def new():
        return {}

    with pytest.raises(RuntimeError, match="/new has 0 rules of access"):
        check_rules(running.app)


def expected(rule, who, own):
    """401, 403, or None when the rule lets it through."""
    if rule is PUBLIC or rule.scope is None:
        return None
    if who in ("none", "bad", "nonsense", "expired", "revoked"):
        return 401
    scope, *mine = who.split()
    if scope == "foreign":
        return 403 if own or rule.whole else None
    if not Scope(scope).allows(rule.scope) or (mine and rule.whole):
        return 403
    return None


def test_the_matrix(running, tokens):
    key, texts = tokens
    checked = 0
    for route in flat(running.app.routes):
        if not isinstance(route, APIRoute):
            continue
        place = route.path.format(experiment=key, **FILL)
        (rule,) = rules(route)
        for method in route.methods - {"HEAD"}:
            for who, text in texts.items():
                wanted = expected(rule, who, own="{experiment}" in route.path)
                if (method, place) == ("POST", "/login"):
                    wanted = 401  # whatever the header says, the form has no token
                if wanted is None and (method == "DELETE" or place.endswith("/do/stop") or "/stop" in place):
                    continue  # allowed, and it would end the experiment
                rest = "?seconds=0.1" if place.endswith("/stream") else ""
                status, _, content = running.send(method, place + rest, token=text)
                checked += 1
                assert (status in (401, 403)) == (wanted is not None), (method, place, who, status, content)
                assert wanted is None or status == wanted, (method, place, who, status)
    assert checked > 300


def test_a_token_of_one_experiment_sees_no_other(running, tokens):
    _, texts = tokens
    for text in (texts["read mine"], texts["foreign"]):
        assert len(running.json("GET", "/v1/experiments", token=text)[1]["experiments"]) == 1
    assert running.json("GET", "/v1/experiments", token=texts["read mine"], name="other")[1]["experiments"] == []
    there = running.json("GET", "/v1/experiments/other", token=texts["read mine"])
    absent = running.json("GET", "/v1/experiments/absent", token=texts["read mine"])
    assert there == absent


def test_a_request_of_another_site_is_refused(running, tokens):
    key, texts = tokens
    cookie = running.log_in(texts["admin"])
    for extra in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {}):
        status, _, _ = running.send("POST", f"/v1/experiments/{key}/pause", token=None, headers=cookie | extra)
        assert status == 403
    own = cookie | {"Origin": running.url}
    assert running.send("POST", f"/v1/experiments/{key}/pause", token=None, headers=own)[0] == 200


def test_the_database_holds_no_token(running, tmp_path):
    text = running.tokens.create("work", label="x")[1]
    (row,) = running.storage.store.database.read(lambda c: c.execute(sa.select(tables.tokens)).all())
    assert row.digest == digest(text)
    secret = text.split("_", 2)[2].encode()
    assert len(secret) >= 43
    held = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert row.prefix.encode() in held
    assert secret not in held


def test_logging_in_with_an_address_or_a_form(running, caplog):
    caplog.set_level("INFO")
    status, headers, _ = running.send("GET", "/login", token=None)
    assert status == 200
    status, headers, _ = running.send("GET", f"/login?token={running.token}", token=None)
    assert (status, headers["location"]) == (303, "/")
    assert "HttpOnly" in headers["set-cookie"]
    assert "samesite=strict" in headers["set-cookie"].lower()
    cookie = {"Cookie": headers["set-cookie"].partition(";")[0], "Accept": "text/html"}
    status, _, page = running.send("GET", "/", token=None, headers=cookie)
    assert status == 200
    assert running.token.encode() not in page
    assert running.token not in caplog.text


def test_a_wrong_token_is_told_of_in_an_address_as_in_a_form(running):
    asked = [("POST", "/login", "token=bm_wrong"), ("GET", "/login?token=bm_wrong", None), ("GET", "/", None)]
    answers = [running.send(*each, token=None, headers={"Accept": "text/html"}) for each in asked]
    assert [status for status, _, _ in answers] == [401, 401, 401]
    assert [b"the token is not known here" in content for _, _, content in answers] == [True, True, False]


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("says", [{"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}])
def test_another_site_logs_nobody_in_or_out(running, method, says):
    place, body = ("/login", f"token={running.token}") if method == "POST" else (f"/login?token={running.token}", None)
    status, headers, _ = running.send(method, place, body, token=None, headers=says)
    assert (status, headers["set-cookie"]) == (403, None)
    cookie = running.log_in()
    for foreign in (says, {"Origin": "http://evil.example"}, {"Origin": "null"}):
        status, headers, _ = running.send("POST", "/logout", token=None, headers=cookie | foreign)
        assert (status, headers["set-cookie"]) == (403, None)
    assert running.send("POST", "/logout", token=None, headers=cookie | {"Origin": running.url})[0] == 303


def test_a_valid_token_is_admitted_whatever_others_of_its_address_send(tmp_path):
    with open_storage(tmp_path / "x.db") as storage:
        running = Running(storage, Settings(strangers=3.0))
        try:
            _, text = running.tokens.create("read")
            bad = [running.send("GET", "/v1/experiments", token=f"bm_{n:08x}_wrong")[0] for n in range(12)]
            assert bad[0] == 401
            assert 429 in bad  # perhaps not the last one: the allowance grows again while they are sent
            assert running.send("GET", "/v1/experiments", token=text)[0] == 200  # never seen before
            assert running.send("POST", "/login", f"token={text}", token=None)[0] == 303
            assert running.send("POST", "/login", "token=wrong", token=None)[0] == 401
        finally:
            running.stop()


def test_wrong_tokens_cost_few_looks_and_a_new_one_is_known_at_once(tmp_path, monkeypatch):
    with open_storage(tmp_path / "x.db") as storage:
        running = Running(storage, Settings(remember=60.0))
        try:
            looks, listed = [], running.tokens.list
            monkeypatch.setattr(Tokens, "list", lambda self: looks.append(1) or listed.__func__(self))
            with ThreadPoolExecutor(20) as pool:
                wrong = pool.map(lambda n: running.send("GET", "/v1/experiments", token=f"bm_{n:08x}_x")[0], range(60))
                assert set(wrong) <= {401, 429}
            assert len(looks) <= 20
            _, text = running.tokens.create("read")
            assert running.send("GET", "/v1/experiments", token=text)[0] == 200
        finally:
            running.stop()


def test_pages_without_a_token_show_the_way_in(running):
    status, headers, page = running.send("GET", "/", token=None, headers={"Accept": "text/html"})
    assert status == 401
    assert b"A token of this server" in page
    assert "script-src 'self'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]


def test_a_dead_id_meets_no_other_experiment(running):
    first, second = running.create("one").record.key, running.create("two").record.key
    path = f"/v1/experiments/{first}"
    assert running.json("PATCH", path, {"name": second})[0] == 422
    assert running.send("DELETE", f"/v1/experiments/{second}")[0] == 204
    assert running.send("DELETE", f"/v1/experiments/{second}")[0] == 404
    assert running.json("GET", path)[0] == 200


def test_only_a_token_for_all_experiments_renames_one(running):
    running.create("one")
    exp = running.create("two")
    _, own = running.tokens.create("admin", experiment="two")
    path = f"/v1/experiments/{exp.record.key}"
    assert running.json("PATCH", path, {"name": "one"}, token=own)[0] == 403
    assert running.json("PATCH", path, {"notes": "mine"}, token=own)[0] == 200


def test_a_wrong_secret_costs_the_token_nothing(tmp_path):
    with open_storage(tmp_path / "x.db") as storage:
        running = Running(storage, Settings(rate=10.0, strangers=1000.0))
        try:
            assert running.send("GET", "/v1/experiments")[0] == 200
            wrong = running.token[:12] + "wrong"
            assert {running.send("GET", "/v1/experiments", token=wrong)[0] for _ in range(30)} == {401}
            assert running.send("GET", "/v1/experiments")[0] == 200
        finally:
            running.stop()


@pytest.mark.parametrize("arm", ["\ud800", "\x1b[2J", "a\x00"])
def test_names_that_nobody_can_show_are_refused_before_anything_is_kept(running, arm):
    problem = {"arms": [arm, "b"], "bounds": {"c": 1.0}}
    assert running.json("POST", "/v1/experiments", {"name": "x", "budget": 4, "problem": problem})[0] == 422
    assert running.json("GET", "/v1/experiments")[1]["experiments"] == []
    exp = running.create()
    path = f"/v1/experiments/{exp.record.key}/ask"
    assert running.json("POST", path, {"n": 1, "worker": f"w{arm}"})[0] == 422
    assert exp.state.leased == 0
