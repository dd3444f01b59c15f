"""Errors as a server says them and as the client raises them again: by class and code, never by words."""

import json

import pytest

from bestmix.checks import AlreadyExists, InvalidInput, Missing
from bestmix.client.transport import failure
from bestmix.experiments import Closed, Conflict, StorageError, UnknownTrial
from bestmix.service.errors import CODES, Refusal, answer, documented, explain_validation, refuse


@pytest.mark.parametrize(
    ("error", "status", "field"),
    [
        (InvalidInput("n", expected="one", got=0, remedy="there is one already; take it"), 422, "n"),
        (InvalidInput("costs['a: b']", "it is odd"), 422, "costs['a: b']"),
        (AlreadyExists("name", "it is taken", "choose another"), 409, "name"),
        (Missing("name", "there is none"), 404, "name"),
        (UnknownTrial("trial", "there is no trial 3", "check the id"), 404, "trial"),
        (Conflict("tell: trial 3 was told before; the first result stands"), 409, "trial"),
        (Closed("stop: the experiment is done already; its answer stands"), 409, None),
        (ValueError("name: there is one already; choose another"), 422, None),
    ],
)
def test_a_client_raises_what_the_server_caught(error, status, field):
    found = refuse(error)
    response = answer(found.code, str(found), found.field)
    assert response.status_code == status
    assert json.loads(response.body)["error"]["field"] == field
    again = failure(status, response.body)
    assert isinstance(again, type(error))
    assert type(error) in (ValueError, type(again))
    assert (str(again), again.field) == (str(error), field)


def test_a_storage_that_fails_is_not_described_to_strangers():
    found = refuse(StorageError("postgresql://secret-host: out of reach"))
    assert (found.code, found.retry) == ("unavailable", 1)
    assert "secret" not in str(found)
    assert isinstance(failure(503, answer(found.code, str(found)).body), StorageError)


def test_mistakes_of_ours_are_no_refusals():
    assert refuse(TypeError("x")) is None
    assert refuse(RuntimeError("x")) is None
    mine = Refusal("forbidden", "no")
    assert refuse(mine) is mine


@pytest.mark.parametrize("code", CODES)
def test_every_code_reaches_the_client_as_an_error(code):
    again = failure(CODES[code][0], answer(code, "words", "name").body)
    assert isinstance(again, (ValueError, RuntimeError))
    assert str(again).endswith("words")
    if isinstance(again, InvalidInput):
        assert again.code == code


@pytest.mark.parametrize("content", [b"", b"<html>", b"[]", b'{"error": 5}', b'{"error": {"code": "closed"}}'])
def test_what_is_no_error_of_ours_is_not_trusted(content):
    assert "status 418" in str(failure(418, content))


def test_a_missing_token_says_how_to_send_one():
    assert answer("unauthorized", "x").headers["www-authenticate"] == "Bearer"
    assert answer("too_many", "x", retry=0.2).headers["retry-after"] == "1"


def test_what_is_wrong_with_a_body_is_named_by_its_place():
    found = explain_validation([{"type": "missing", "loc": ("body", "results", 0, "trial"), "msg": "Field required"}])
    assert (found.code, found.field, str(found)) == ("invalid", "results.0.trial", "results.0.trial: field required")
    assert explain_validation([{"type": "json_invalid", "loc": ("body", 3), "msg": "x"}]).code == "bad_request"


def test_codes_that_share_a_status_share_a_line_of_the_document():
    assert documented("conflict", "closed")[409]["description"] == CODES["conflict"][1]
