"""The calls of an administrator, over HTTP."""

import pytest

from bestmix import SFSR, Uniform


def path(exp, rest=""):
    return f"/v1/experiments/{exp.record.key}{rest}"


def test_an_experiment_is_paused_resumed_renamed_annotated_extended_and_stopped(running):
    exp = running.create(strategy=Uniform())
    exp.pause()
    assert running.json("POST", path(exp, "/ask"), {})[1]["why"] == "the experiment is paused"
    exp.resume()
    exp.rename("other")
    exp.notes = "remember"
    exp.extend(10)
    assert (exp.name, exp.notes, exp.state.budget) == ("other", "remember", 10)
    exp.stop("enough")
    assert running.json("POST", path(exp, "/resume"))[1]["error"]["code"] == "closed"


@pytest.mark.parametrize(
    ("call", "body", "status", "code", "field"),
    [
        ("resume", None, 409, "closed", None),
        ("pause", None, 409, "closed", None),
        ("extend", {"budget": 100}, 409, "closed", None),
        ("extend", {"budget": 1}, 409, "closed", None),
        ("extend", {"budget": "many"}, 422, "invalid", "budget"),
        ("stop", {"reason": 5}, 422, "invalid", "reason"),
    ],
)
def test_what_has_ended_takes_no_more(running, call, body, status, code, field):
    exp = running.create()
    exp.stop("enough")
    found, answer = running.json("POST", path(exp, f"/{call}"), body)
    assert (found, answer["error"]["code"], answer["error"]["field"]) == (status, code, field)
    assert exp.state.reason == "enough"


def test_a_name_that_is_taken_is_a_conflict_and_a_budget_that_cannot_grow_is_invalid(running):
    running.create("first")
    exp = running.create("second", strategy=SFSR(), budget=40)
    found, answer = running.json("PATCH", path(exp), {"name": "first"})
    assert (found, answer["error"]["code"], answer["error"]["field"]) == (409, "conflict", "name")
    found, answer = running.json("POST", path(exp, "/extend"), {"budget": 50})
    assert (found, answer["error"]["code"], answer["error"]["field"]) == (422, "invalid", "budget")
    assert (exp.name, exp.state.budget) == ("second", 40)
