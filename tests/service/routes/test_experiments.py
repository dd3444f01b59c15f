import csv
import io
import json
import threading
import time
from http.client import HTTPConnection

import pytest
from markupsafe import escape
from tests.service.servers import PROBLEM

from bestmix import SFSR, Challenger, MarkovProblem, Problem, Spend, open_experiment
from bestmix.strategies.challenger import NEWEST

EVIL = ["'; DROP TABLE trials; --", "<script>alert(1)<script>", "=1+1", "{{ 7*7 }}", '"><img src=x onerror=alert(1)>']


def path(exp, rest=""):
    return f"/v1/experiments/{exp.record.key}{rest}"


def test_a_new_experiment_has_the_newest_edition_and_an_old_one_its_own(running):
    asked = {"kind": "Challenger", "confidence": 0.9}
    body = {"name": "new", "problem": PROBLEM.to_dict(), "budget": 400, "strategy": asked}
    status, made = running.json("POST", "/v1/experiments", body)
    assert (status, made["strategy"]["edition"]) == (201, NEWEST)
    old = open_experiment(running.storage, "old", PROBLEM, 400, Challenger(0.9, edition=1))
    status, found = running.json("POST", "/v1/experiments", body | {"name": "old"})
    assert (status, found["strategy"]) == (200, old.record.strategy)
    assert "edition" not in found["strategy"]


def test_a_result_that_differs_where_there_is_no_noise_is_refused(running):
    scales = {"reward": 0.3, "dollars": 0.0}
    open_experiment(running.storage, "r", PROBLEM, 400, Challenger(0.9, proven=True, sigma=scales))
    given = running.json("POST", "/v1/experiments/r/ask", {"n": 9})[1]["trials"]
    first, second = [trial["id"] for trial in given if trial["arm"] == given[0]["arm"]][:2]
    result = {"trial": first, "reward": 1.0, "costs": {"dollars": 0.5}}
    assert running.json("POST", "/v1/experiments/r/tell", result) == (200, {"outcome": "counted"})
    other = {"trial": second, "reward": 1.0, "costs": {"dollars": 0.6}}
    for call, body in (("tell", other), ("tell_many", {"results": [other]})):
        status, told = running.json("POST", f"/v1/experiments/r/{call}", body)
        assert (status, told["error"]["field"]) == (422, "dollars")
        assert "since its scale is 0" in told["error"]["message"]


def test_an_experiment_over_plain_http(running):
    body = {"name": "r", "problem": PROBLEM.to_dict(), "budget": 4, "strategy": {"kind": "Uniform"}}
    status, made = running.json("POST", "/v1/experiments", body)
    assert (status, made["status"], made["budget"]) == (201, "running", 4)
    assert running.json("POST", "/v1/experiments", body) == (200, made)
    status, told = running.json("POST", "/v1/experiments", body | {"budget": 5})
    assert (status, told["error"]["code"], told["error"]["field"]) == (409, "conflict", "name")
    _, given = running.json("POST", "/v1/experiments/r/ask", {"n": 3, "worker": "w"}, headers={"Idempotency-Key": "k"})
    again = running.json("POST", "/v1/experiments/r/ask", {"n": 3, "key": "k"})[1]
    assert again == given
    first, second, third = given["trials"]
    result = {"trial": first["id"], "reward": 1.0, "costs": {"dollars": 0.5}}
    assert running.json("POST", "/v1/experiments/r/tell", result) == (200, {"outcome": "counted"})
    assert running.json("POST", "/v1/experiments/r/tell", result) == (200, {"outcome": "repeated"})
    status, told = running.json("POST", "/v1/experiments/r/tell", result | {"reward": 2})
    assert (status, told["error"]["code"], told["error"]["field"]) == (409, "conflict", "trial")
    assert running.json("POST", "/v1/experiments/r/renew", {"trials": [second["id"]]})[0] == 200
    assert (
        running.json("POST", "/v1/experiments/r/fail", {"trial": second["id"], "reason": "no luck"})[1]["failed"] == 1
    )
    assert running.json("POST", "/v1/experiments/r/give_back", {"trials": [third["id"]]})[1]["leased"] == 0
    rest = running.json("POST", "/v1/experiments/r/ask", {"n": 9})[1]["trials"]
    results = [{"trial": t["id"], "reward": 1, "costs": {"dollars": 0.5}} for t in rest]
    assert running.json("POST", "/v1/experiments/r/tell_many", {"results": results})[1] == {"outcomes": ["counted"] * 3}
    assert running.json("GET", "/v1/experiments/r")[1]["status"] == "done"
    assert running.json("GET", "/v1/experiments/r/policy")[1]["feasible"] is True
    found = running.json("GET", "/v1/experiments/r/recommendation")[1]
    assert found["sentence"].startswith("No mix keeps all limits with 95% certainty yet")  # four trials without spread
    assert found["safety"] == 0.95
    for place in ("recommendation", "policy"):
        assert running.json("GET", f"/v1/experiments/r/{place}?safety=none")[1]["safety"] is None
        assert running.json("GET", f"/v1/experiments/r/{place}?safety=0.8")[1]["safety"] == 0.8
        status, answer = running.json("GET", f"/v1/experiments/r/{place}?safety=2")
        assert (status, answer["error"]["field"]) == (422, "safety")
    (ended,) = running.json("GET", "/v1/experiments/r/history")[1]["rounds"]
    assert sum(ended["mixture"].values()) == pytest.approx(1.0)
    assert running.json("GET", "/v1/experiments/r/trials", state="failed")[1]["trials"][0]["note"] == "no luck"
    assert running.json("DELETE", "/v1/experiments/r") == (204, None)
    assert running.json("GET", "/v1/experiments/r")[0] == 404


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", '"1"', "true", "null", "[]", "1e200"])
def test_what_is_no_finite_number_is_refused(running, number):
    trial = running.create().ask()[0]
    body = f'{{"trial": "{trial.id}", "reward": {number}, "costs": {{"dollars": 1}}}}'
    for text in (body, body.replace(number, "1", 1).replace('"dollars": 1', f'"dollars": {number}')):
        status, told = running.json(
            "POST", "/v1/experiments/router/tell", text, headers={"Content-Type": "application/json"}
        )
        assert (status, told["error"]["code"]) == (422, "invalid")
        assert told["error"]["field"]


@pytest.mark.parametrize(
    ("method", "rest", "body", "status", "field"),
    [
        ("POST", "/ask", "not json", 400, None),
        ("POST", "/ask", {"n": 0}, 422, "n"),
        ("POST", "/ask", {"n": 1.5}, 422, "n"),
        ("POST", "/ask", {"m": 1}, 422, "m"),
        ("POST", "/ask", {"worker": "\x00"}, 422, "worker"),
        ("POST", "/tell", {"trial": "x", "reward": 1}, 404, "trial"),
        ("POST", "/tell", {"reward": 1}, 422, "trial"),
        ("POST", "/extend", {"budget": 1}, 422, "budget"),
        ("PATCH", "", {"name": " "}, 422, "name"),
        ("GET", "/trials?limit=0", None, 422, "limit"),
        ("GET", "/trials?state=odd", None, 422, "state"),
        ("GET", "/trials?arm=none", None, 422, "arm"),
        ("GET", "/export/xls", None, 404, "kind"),
        ("GET", "/nonsense", None, 404, None),
        ("PUT", "", {}, 405, None),
        ("GET", "/policy", None, 409, None),
    ],
)
def test_mistakes_have_one_shape(running, method, rest, body, status, field):
    running.create()
    headers = {"Content-Type": "application/json"}
    found, told = running.json(method, f"/v1/experiments/router{rest}", body, headers=headers)
    assert found == status
    assert set(told) == {"error"}
    assert set(told["error"]) == {"code", "message", "field"}
    assert (told["error"]["field"] or "").split("[")[0] == (field or "")


@pytest.mark.parametrize("evil", EVIL)
def test_names_and_notes_come_back_as_they_were(running, evil):
    exp = running.create(evil, notes=evil, problem=type(PROBLEM)([evil, "other"], {evil: 1.0}))
    assert running.connect().open(evil).record.key == exp.record.key
    (trial, _) = exp.ask(2, worker=evil)
    exp.tell_failed(trial, evil)
    found = exp.trial(trial)
    assert (exp.name, exp.notes, found.note, found.worker) == (evil, evil, evil, evil)
    for place in ("", "/trials"):
        status, _, page = running.send("GET", f"/experiments/{exp.record.key}{place}", headers={"Accept": "text/html"})
        assert status == 200
        assert b"<script>alert" not in page
        assert b"<img" not in page
        assert str(escape(evil)) in page.decode()
    rows = list(csv.reader(io.StringIO(running.send("GET", path(exp, "/export/csv?spreadsheet=true"))[2].decode())))
    cells = [cell for row in rows for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@"))]
    assert (f"'{evil}" if evil.startswith("=") else evil) in cells


def test_pages_of_trials_and_events(running):
    exp = running.create(budget=8)
    tokens = [t.token for t in exp.ask(7)]
    seen, after = [], None
    while True:
        query = {"limit": 3} | ({} if after is None else {"after": after})
        page = running.json("GET", path(exp, "/trials"), **query)[1]
        seen += [t["token"] for t in page["trials"]]
        after = page["next"]
        if after is None:
            break
    assert seen == tokens
    newest = running.json("GET", path(exp, "/trials"), limit=2, newest_first="true")[1]
    assert [t["token"] for t in newest["trials"]] == [7, 6]
    older = running.json("GET", path(exp, "/trials"), limit=2, newest_first="true", after=newest["next"])[1]
    assert [t["token"] for t in older["trials"]] == [5, 4]
    assert [e["kind"] for e in running.json("GET", path(exp, "/events"))[1]["events"]] == ["created", "asked"]


def test_the_list_is_paged(running):
    for name in "abc":
        running.create(name)
    page = running.json("GET", "/v1/experiments", limit=2)[1]
    assert ([e["name"] for e in page["experiments"]], page["next"]) == (["a", "b"], "b")
    assert [e["name"] for e in running.json("GET", "/v1/experiments", limit=2, after="b")[1]["experiments"]] == ["c"]
    assert [s.name for s in running.connect().experiments()] == ["a", "b", "c"]


def test_exports(running, tmp_path):
    exp = running.create()
    exp.tell(exp.ask()[0], 1.0, {"dollars": 0.5})
    for kind in ("csv", "json", "parquet"):
        assert exp.export(tmp_path / f"x.{kind}").stat().st_size > 50
    assert json.loads((tmp_path / "x.json").read_text())["trials"][0]["reward"] == 1.0


def messages(running, exp, wanted, **query):
    """Events of a stream until there are so many."""
    connection = HTTPConnection("127.0.0.1", running.port, timeout=30)
    rest = "&".join(f"{k}={v}" for k, v in {"seconds": 20, **query}.items())
    connection.request("GET", path(exp, f"/stream?{rest}"), headers={"Authorization": f"Bearer {running.token}"})
    answer, found, event = connection.getresponse(), [], {}
    assert answer.headers["content-type"].startswith("text/event-stream")
    while len(found) < wanted:
        line = answer.readline().decode().rstrip("\n")
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
        else:
            found += [event] if "event" in event else []
            event = {}
    connection.close()
    return found


def test_a_stream_tells_what_happens(running):
    exp = running.create()
    threading.Timer(0.7, lambda: exp.ask(1)).start()
    found = messages(running, exp, 4, after=0)
    assert [m["event"] for m in found] == ["state", "created", "state", "asked"]
    assert json.loads(found[2]["data"])["leased"] == 1
    assert [m["event"] for m in messages(running, exp, 2, after=1)] == ["state", "asked"]
    threading.Timer(0.7, exp.pause).start()
    assert [m["event"] for m in messages(running, exp, 3)] == ["state", "state", "paused"]
    assert [m["event"] for m in messages(running, exp, 1, events="false")] == ["state"]


def test_limits(tmp_path):
    from tests.service.servers import Running

    from bestmix import Uniform, open_storage
    from bestmix.service.app import Settings

    with open_storage(tmp_path / "x.db") as storage:
        running = Running(storage, Settings(rate=5.0, largest=2000))
        try:
            assert running.json("POST", "/v1/experiments", "x" * 3000)[1]["error"]["code"] == "too_large"
            exp = storage.create("a", Problem(["a", "b"]), 4, Uniform())
            body, plain = json.dumps({"trial": exp.ask()[0].id, "reward": 1.0, "costs": {}}), "application/json"
            path, options = f"/v1/experiments/{exp.record.key}/tell", {"headers": {"Content-Type": plain}}
            assert running.json("POST", path, body + " " * 2000, **options)[1]["error"]["code"] == "too_large"
            assert running.json("POST", path, body, **options) == (200, {"outcome": "counted"})
            found = [running.send("GET", "/v1/experiments") for _ in range(12)]
            refused = [headers for status, headers, _ in found if status == 429]
            assert refused
            assert refused[0]["retry-after"] == "1"
            time.sleep(1.0)
            assert running.send("GET", "/v1/experiments")[0] == 200
        finally:
            running.stop()


def test_made_up_tokens_are_limited_and_good_ones_go_on(tmp_path):
    from tests.service.servers import Running

    from bestmix import open_storage
    from bestmix.service.app import Settings

    with open_storage(tmp_path / "x.db") as storage:
        running = Running(storage, Settings(strangers=3.0))
        try:
            assert running.send("GET", "/v1/experiments")[0] == 200
            tries = [running.send("GET", "/v1/experiments", token=f"bm_{k:08x}_guess")[0] for k in range(20)]
            assert tries.count(429) > 10
            assert set(tries) == {401, 429}
            assert running.send("GET", "/v1/experiments")[0] == 200
            assert running.send("GET", "/healthz", token=None)[0] == 200
        finally:
            running.stop()


def test_the_list_shows_an_experiment_whose_strategy_is_elsewhere(running):
    running.storage.create("own score", Problem(["a", "b"]), 8, SFSR(score=lambda mu, u, e: mu))
    running.create("plain")
    status, _, content = running.send("GET", "/")
    assert status == 200
    assert "own score" in content.decode()
    assert "a function of its own" in content.decode()


def test_a_body_without_a_length_is_limited_too(running):
    connection = HTTPConnection("127.0.0.1", running.port, timeout=30)
    headers = {"Authorization": f"Bearer {running.token}", "Content-Type": "application/json"}
    try:
        connection.request("POST", "/v1/experiments", iter([b" " * 1_000_000] * 20), headers, encode_chunked=True)
        assert connection.getresponse().status == 413
    except (BrokenPipeError, ConnectionResetError):
        pass  # it hung up on us, which is as good
    finally:
        connection.close()
    assert running.send("GET", "/healthz")[0] == 200


ASKED = {"arms": ["small", "large"], "goal": "minimise dollars", "limits": ["quality >= 0.5"]}


def test_results_are_told_by_metrics(running):
    body = {"name": "m", "problem": ASKED, "budget": 4, "strategy": {"kind": "Uniform"}}
    status, made = running.json("POST", "/v1/experiments", body)
    assert (status, made["problem"]["limits"]) == (201, ["quality >= 0.5"])
    first, second, *rest = running.json("POST", "/v1/experiments/m/ask", {"n": 4})[1]["trials"]
    told = {"trial": first["id"], "metrics": {"quality": 1, "dollars": 0.2}}
    assert running.json("POST", "/v1/experiments/m/tell", told) == (200, {"outcome": "counted"})
    same = {"trial": first["id"], "reward": 0.2, "costs": {"quality": 1}}
    assert running.json("POST", "/v1/experiments/m/tell", same) == (200, {"outcome": "repeated"})
    results = [{"trial": t["id"], "metrics": {"quality": 1, "dollars": 0.3}} for t in (second, *rest)]
    assert running.json("POST", "/v1/experiments/m/tell_many", {"results": results})[0] == 200
    trial = running.json("GET", "/v1/experiments/m/trials")[1]["trials"][0]
    assert (trial["reward"], trial["costs"], trial["segment"]) == (0.2, {"quality": 1.0}, None)
    policy = running.json("GET", "/v1/experiments/m/policy")[1]
    assert (policy["goal"], policy["limits"], policy["segments"]) == ("minimise dollars", ["quality >= 0.5"], {})


@pytest.mark.parametrize(
    ("result", "field"),
    [
        ({}, "reward"),
        ({"costs": {"quality": 1}}, "reward"),
        ({"metrics": {"quality": 1, "dollars": 1}, "reward": 1}, "reward"),
        ({"metrics": {"quality": 1, "dollars": 1}, "costs": {}}, "costs"),
        ({"metrics": {"quality": 1}}, "metrics"),
        ({"metrics": {"quality": 1, "dollars": 1, "more": 1}}, "metrics"),
        ({"metrics": {"quality": None, "dollars": 1}}, "metrics.quality"),
        ({"metrics": None}, "metrics"),
    ],
)
def test_results_that_are_neither_are_refused(running, result, field):
    exp = running.create("m", Problem.from_dict(ASKED))
    status, told = running.json("POST", path(exp, "/tell"), {"trial": exp.ask()[0].id} | result)
    assert (status, told["error"]["field"]) == (422, field)


def test_a_limit_that_cannot_be_read_is_shown_with_a_mark(running):
    body = {"name": "m", "problem": ASKED | {"limits": ["quality > 0.5"]}, "budget": 4}
    status, told = running.json("POST", "/v1/experiments", body)
    assert (status, told["error"]["field"]) == (422, "problem")
    assert told["error"]["message"].endswith("\n  quality > 0.5\n          ^")


def test_trials_have_segments_and_users_may_arrive(running):
    shares = Problem(["small", "large"], segments={"free": 0.7, "paid": 0.3})
    exp = running.create("s", shares)
    trials = exp.ask(8)
    assert {(t.arm, t.segment) for t in trials} == {(a, s) for a in shares.arms for s in shares.segments}
    exp.tell_many([(t, {"reward": 1.0 + (t.arm == "large")}) for t in trials])
    assert exp.done
    assert exp.recommend().by_segment == {"free": {"large": 1.0}, "paid": {"large": 1.0}}
    assert set(running.json("GET", path(exp, "/policy"))[1]["segments"]) == {"free", "paid"}
    assert [t.segment for t in exp.trials(arm="small", segment="paid")] == ["paid"] * 2
    arriving = running.create("a", Problem(["small", "large"], segments=["free", "paid"]))
    (trial,) = arriving.ask(segment="paid")
    assert trial.segment == "paid"
    status, told = running.json("POST", path(arriving, "/ask"), {"segment": "gold"})
    assert (status, told["error"]["field"]) == (422, "segment")


MONEY = {"name": "m", "problem": {"arms": ["small", "large"]}, "strategy": {"kind": "Uniform"}}


@pytest.mark.parametrize("budget", ["9 dollars", {"amount": 9, "unit": "dollars", "most": 2.0}])
def test_a_budget_of_money_over_http(running, budget):
    status, made = running.json("POST", "/v1/experiments", MONEY | {"budget": budget})
    assert status == 201, made
    assert made["problem"]["tracked"] == ["dollars"]
    exp = running.connect().open("m")
    while trials := exp.ask(2):
        for trial in trials:
            exp.tell(trial, {"reward": 1.0 if trial.arm == "small" else 2.0, "dollars": 1.0})
    assert 7.0 < exp.account.spent <= 9.0
    assert exp.recommend().account == exp.account
    page = running.send("GET", f"/experiments/{exp.record.key}")[2].decode()
    assert f"{exp.account.spent:g} of 9 dollars spent" in page
    assert f"{exp.account.spent:g} of 9 dollars spent" in running.send("GET", "/")[2].decode()
    assert "of 9 dollars spent" in running.send("GET", f"/experiments/{exp.record.key}/report")[2].decode()
    assert running.json("POST", f"/v1/experiments/{exp.record.key}/extend", {"budget": "12 dollars"})[0] == 200
    assert not exp.done
    assert exp.account.spend.amount == 12.0


@pytest.mark.parametrize("budget", ["many", "9", -1, 1.5, True, {"amount": 9}, {"amount": 9, "unit": "d", "x": 1}, []])
def test_other_budgets_are_refused(running, budget):
    status, found = running.json("POST", "/v1/experiments", MONEY | {"budget": budget})
    assert (status, found["error"]["field"]) == (422, "budget") if budget != "9" else status == 201


def test_a_client_creates_with_money(running):
    spend = Spend(20.0, "dollars", prices={"small": 1.0, "large": 4.0})
    exp = running.create("paid", PROBLEM, spend)
    assert exp.account.left == 20.0
    assert running.create("paid", PROBLEM, spend).record.key == exp.record.key
    exp.extend(spend.raised(30.0))
    assert exp.account.spend.amount == 30.0


SHOP = MarkovProblem(["idle", "busy"], ["wait", "serve"], 0.9, "idle", ["dollars <= 0.35"])


def test_steps_between_states_over_http(running):
    """A state that comes next is told by its name or by its number, and exported by its name."""
    body = {"name": "shop", "problem": SHOP.to_dict(), "budget": 40, "strategy": {"kind": "Uniform"}}
    assert running.json("POST", "/v1/experiments", body)[0] == 201
    exp = running.connect().open("shop")
    assert exp.problem == SHOP
    given = exp.ask(40)
    assert {(trial.segment, trial.arm) for trial in given} == {tuple(reversed(cell)) for cell in SHOP.cells}
    for place, trial in enumerate(given):
        after = "busy" if place % 3 else "idle"
        told = {"dollars": 0.1 + 0.01 * (place % 5), "next": after if place % 2 else SHOP.states.index(after)}
        if place % 4 < 2:
            result = {"trial": trial.id, "reward": 1.0 * (place % 2), "costs": told}
            assert running.json("POST", "/v1/experiments/shop/tell", result)[0] == 200
        else:
            exp.tell(trial.id, {"reward": 1.0 * (place % 2), **told})
    answer = exp.recommend()
    assert list(answer.by_segment) == ["idle", "busy"]
    assert answer.policy().discount == 0.9
    rows = list(csv.DictReader(io.StringIO(running.send("GET", "/v1/experiments/shop/export/csv")[2].decode())))
    assert [row["next"] for row in rows] == ["busy" if place % 3 else "idle" for place in range(40)]


def test_arms_with_features_over_http(running):
    features = {"a": {"model": "s", "heat": 0.0}, "b": {"model": "s", "heat": 1.0}, "c": {"model": "l", "heat": 0.5}}
    problem = Problem(list(features), {"cents": 1.0}, features=features)
    body = {"name": "variants", "problem": problem.to_dict(), "budget": 30, "strategy": {"kind": "Uniform"}}
    assert running.json("POST", "/v1/experiments", body)[0] == 201
    exp = running.connect().open("variants")
    assert exp.problem == problem
    for place, trial in enumerate(exp.ask(30)):
        exp.tell(trial.id, 1.0 + 0.1 * (place % 7), [0.5 + 0.1 * (place % 5)])
    assert "one fit of all trials" in exp.recommend().note
    exp.change(arms=["a", "b", "c", "d"], budget=40, features={"d": {"model": "l", "heat": 1.0}})
    assert exp.problem.features["d"] == {"model": "l", "heat": 1.0}
    status, answer = running.json(
        "POST", "/v1/experiments", body | {"problem": {"arms": ["a", "b"], "features": {"a": [1]}}}
    )
    assert status == 422
    assert "features: expected one value for each arm that can be tried" in answer["error"]["message"]


@pytest.mark.parametrize("after", ["full", 2, -1, 0.5])
def test_a_state_that_there_is_not_is_refused(running, after):
    exp = open_experiment(running.storage, "shop", SHOP, 40)
    given = exp.ask(2)
    for call in ("tell", "tell_many"):
        result = {"trial": given[0].id, "reward": 1.0, "costs": {"dollars": 0.1, "next": after}}
        body = result if call == "tell" else {"results": [result]}
        status, told = running.json("POST", f"/v1/experiments/shop/{call}", body)
        assert (status, told["error"]["field"]) == (422, "next")
        assert "or its number from 0 to 1" in told["error"]["message"]
    assert all(trial.state.value == "leased" for trial in exp.trials())


def test_a_name_in_the_place_of_a_number_is_refused(running):
    exp = open_experiment(running.storage, "router", PROBLEM, 40)
    result = {"trial": exp.ask()[0].id, "reward": 1.0, "costs": {"dollars": "cheap"}}
    status, told = running.json("POST", "/v1/experiments/router/tell", result)
    assert status == 422
    assert "cheap" in told["error"]["message"]
