"""The dashboard's pages as the server sends them; ``test_browser.py`` has them in a browser."""

import json
from html import escape
from urllib.parse import urlencode

import pytest
from tests.pages.pages import HOSTILE, NAME, Tags, check_harmless, parse

from bestmix import SFSR, Challenger, Problem, Spend, Uniform
from bestmix.experiments.model import UNLIMITED

BROWSER = {"Accept": "text/html"}


def page(running, path, **query):
    status, headers, content = running.send("GET", path, headers=BROWSER, **query)
    assert headers["Content-Type"].startswith("text/html")
    return status, content.decode()


@pytest.fixture
def hostile(running):
    """An experiment with names of the worst kind, some trials made, one failed."""
    script, quotes, left, long, template = HOSTILE
    problem = Problem(
        [script, quotes, template], {left.lstrip("\u202e"): 0.6, long: 5.0}
    )  # what turns others round is refused
    exp = running.create(NAME, problem=problem, budget=24, strategy=SFSR(), notes="\n".join(HOSTILE))
    exp.tell_failed(exp.ask(1, worker=quotes)[0], template)
    exp.tell_many([(t, 0.1 * t.token, [0.2, 0.3]) for t in exp.ask(20, worker=script)])
    exp.ask(1, worker=long)
    return exp


def test_hostile_names_are_harmless_on_every_page(running, hostile):
    script, quotes, _, long, template = HOSTILE
    base = f"/experiments/{hostile.record.key}"
    expected = {
        "/": [NAME],
        base: HOSTILE,
        f"{base}/live": HOSTILE,
        f"{base}/trials": [script, quotes, template, long],
        f"{base}/confirm/stop": [NAME],
        f"{base}/report": HOSTILE,
    }
    for path, names in expected.items():
        status, content = page(running, path)
        assert status == 200
        check_harmless(content, names)


def test_a_hostile_address_is_harmless(running, hostile):
    script = HOSTILE[0]
    base = f"/experiments/{hostile.record.key}"
    asked = [(base, {"cost": script}), (f"{base}/trials", {"worker": script}), (f"/experiments/{script}", {})]
    for path, query in asked:
        _, content = page(running, path.replace("<", "%3C").replace(">", "%3E"), **query)
        assert "<script>alert" not in content
        parse(content)


def test_the_script_gets_plain_data(running, hostile):
    _, content = page(running, f"/experiments/{hostile.record.key}/live")
    text = content.split('id="charts">')[1].split("</script>")[0]
    assert "<" not in text
    curves = json.loads(text)
    assert curves["rounds"] == [r.number for r in hostile.history]
    assert {line["name"] for line in curves["scores"]} <= {c for r in hostile.history for c in r.scores}


def test_everything_that_a_page_links_to_is_there(running):
    _, content = page(running, "/")
    parser = Tags()
    parser.feed(content)
    linked = [a.get("src") or a["href"] for tag, a in parser.seen if tag in ("script", "link")]
    assert "/static/style.css" in linked
    for path in linked:
        assert running.send("GET", path, token=None)[0] == 200


def test_an_experiment_without_costs_shows_rewards(running):
    exp = running.create("prices", problem=Problem(["low", "high"]), budget=8)
    exp.tell_many([(t, float(t.token), None) for t in exp.ask(4)])
    _, content = page(running, f"/experiments/{exp.record.key}")
    assert "Arms by reward" in content
    assert "arms by mean reward" in content
    assert "The bounds" not in content


def test_the_report_is_a_file_to_keep(running, hostile):
    status, headers, content = running.send("GET", f"/experiments/{hostile.record.key}/report")
    assert status == 200
    assert headers["Content-Disposition"] == f'attachment; filename="{hostile.record.key}.html"'
    assert b"/static/" not in content


def test_the_problem_is_changed_by_a_form(running, hostile):
    status, content = page(running, f"/experiments/{hostile.record.key}/change")
    assert status == 200
    check_harmless(content, [NAME])
    exp = running.create("changing", budget=30)
    base, arms = f"/experiments/{exp.record.key}", exp.problem.arms
    fields = {"arms": "\n".join([*arms, "tiny"]), "budget": "40", "limits": ""}
    fields |= {f"bound {cost}": "0.25" for cost in exp.problem.bounds}
    status, headers, _ = running.send("POST", f"{base}/change", urlencode(fields).encode())
    assert (status, headers["Location"]) == (303, base)
    assert exp.current().arms == (*arms, "tiny")
    assert set(exp.problem.bounds.values()) == {0.25}
    assert "tiny is new" in page(running, base)[1]


@pytest.mark.parametrize(
    ("field", "typed", "told"),
    [
        ("bound dollars", "abc", "bounds[&#39;dollars&#39;]: expected a number, got &#39;abc&#39;; correct it."),
        ("bound dollars", "inf", "bounds[&#39;dollars&#39;]: expected a finite number, got inf"),
        ("budget", "12.5", "budget: expected a whole number, got &#39;12.5&#39;; correct it."),
        ("budget", "inf", "budget: expected a whole number, got &#39;inf&#39;; correct it."),
        ("limits", "dollars <", "limit: expected &lt;=, &gt;= or =, got &#39;&lt;&#39;."),
        ("arms", "small\nsmall", "arms: &#39;small&#39; is listed twice; give every arm its own name."),
    ],
)
def test_a_mistake_in_the_form_gives_the_form_again_with_all_that_was_typed(running, field, typed, told):
    exp = running.create("changing", Problem(["small", "large"], {"dollars": 5.0}), budget=30)
    fields = {"bound dollars": "3.5", "limits": "", "arms": "small\n<tiny>", "budget": "41"} | {field: typed}
    path = f"/experiments/{exp.record.key}/change"
    status, _, content = running.send("POST", path, urlencode(fields).encode(), headers=BROWSER)
    said = content.decode()
    assert (status, "Nothing was changed. " in said, told in said) == (422, True, True)
    assert f'name="{field}" aria-invalid="true"' in said
    assert said.count("aria-invalid") == 1
    assert all(escape(text) in said for text in fields.values())
    assert exp.current().arms == ("small", "large")
    parse(said)


@pytest.mark.parametrize("cost", ['it\'s "paid"', "back\\slash"])
@pytest.mark.parametrize("typed", ["abc", "inf"])
def test_a_mistake_in_a_bound_is_marked_whatever_its_cost_is_called(running, cost, typed):
    exp = running.create("changing", Problem(["small", "large"], {"dollars": 5.0, cost: 5.0}), budget=30)
    fields = {"bound dollars": "3.5", f"bound {cost}": typed, "limits": "", "arms": "small\nlarge", "budget": "41"}
    path = f"/experiments/{exp.record.key}/change"
    status, _, content = running.send("POST", path, urlencode(fields).encode(), headers=BROWSER)
    said = content.decode()
    marked = [attributes["name"] for _, attributes in parse(said).seen if "aria-invalid" in attributes]
    assert (status, marked) == (422, [f"bound {cost}"])


@pytest.mark.parametrize("place", ["change", "trials", "confirm/stop"])
def test_every_page_of_an_experiment_has_the_way_back(running, place):
    exp = running.create("my router")
    base = f"/experiments/{exp.record.key}"
    assert f'<a href="{base}"><bdi>my router</bdi></a>' in page(running, f"{base}/{place}")[1]


@pytest.mark.parametrize(
    ("budget", "strategy"), [(Spend(20.0, "dollars", most=2.0), Uniform()), (UNLIMITED, Challenger(confidence=0.9))]
)
def test_trials_without_a_number_in_all_are_not_taken_for_live_traffic(running, budget, strategy):
    exp = running.create("many", Problem(["a", "b"], {"dollars": 1.0}), budget, strategy)
    _, content = page(running, f"/experiments/{exp.record.key}/change")
    assert "No trial is lost" in content
    assert "No request is lost" not in content
    assert 'name="budget"' not in content


def test_money_and_prices_are_changed_by_a_form(running):
    spend = Spend(20.0, "tokens", prices={"a": 0.5, "b": 1.0})
    exp = running.create("paid", Problem(["a", "b"], {"dollars": 1.0}), spend, Challenger(rounds=5))
    exp.tell_many([(t, 1.0, [0.5]) for t in exp.ask(6)])
    base = f"/experiments/{exp.record.key}"
    _, content = page(running, f"{base}/change")
    assert 'name="amount" value="20.0"' in content
    assert "of 20 tokens spent" in content
    fields = {"bound dollars": "1.0", "limits": "", "arms": "a\nc", "amount": "12.5", "prices": "c = 2"}
    assert running.send("POST", f"{base}/change", urlencode(fields).encode())[0] == 303
    assert exp.account.spend == Spend(12.5, "tokens", prices={"a": 0.5, "c": 2.0})
    for path in (base, f"{base}/report", "/"):
        assert f"{exp.account.spent:g} of 12.5 tokens spent" in page(running, path)[1]
    assert "a budget of 12.5 tokens instead of 20 tokens" in page(running, base)[1]
    status, content = running.send("POST", f"{base}/change", urlencode(fields | {"arms": "a\nd"}).encode())[::2]
    assert status == 422
    assert b"d is new, and what a trial of it costs is not known" in content


@pytest.mark.parametrize("shared", [True, False])
def test_items_are_shown(running, shared):
    local = running.storage.create("on items", Problem(["a", "b"]), 6, Uniform(), items=[*HOSTILE], shared=shared)
    local.tell_many([(t, 0.1 * t.token) for t in local.ask(4)])
    base, order = f"/experiments/{local.record.key}", "shared by all arms" if shared else "an order of its own"
    for path in (base, f"{base}/report"):
        _, content = page(running, path)
        assert f"of {len(HOSTILE)} items used, " in content
        assert order in content
    _, content = page(running, f"{base}/trials")
    check_harmless(content, [str(t.item) for t in local.trials()])
