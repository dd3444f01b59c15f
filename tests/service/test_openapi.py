"""The OpenAPI document as it is served is valid, and says of every operation what it needs."""

import json
from importlib.util import find_spec

import pytest
from tests.service.servers import require


@pytest.fixture
def document(running):
    status, _, content = running.send("GET", "/openapi.json", token=None)
    assert status == 200
    return json.loads(content)


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_a_validator_takes_it(document):
    require(find_spec("openapi_spec_validator") is not None, "openapi-spec-validator")
    from openapi_spec_validator import OpenAPIV31SpecValidator

    assert [str(error)[:500] for error in OpenAPIV31SpecValidator(document).iter_errors()] == []


def test_every_operation_has_the_parameters_of_its_path_and_a_name_of_its_own(document):
    found = list(operations(document))
    assert len(found) == 32
    assert len({operation["operationId"] for _, _, operation in found}) == len(found)
    for path, _, operation in found:
        declared = {p["name"] for p in operation.get("parameters", []) if p["in"] == "path" and p["required"]}
        assert declared == {part[1:-1] for part in path.split("/") if part.startswith("{")}, path


def test_every_operation_says_which_token_it_needs(document):
    assert document["components"]["securitySchemes"]["bearer"]["scheme"] == "bearer"
    needs = {(path, method): operation["security"] for path, method, operation in operations(document)}
    one = "/v1/experiments/{experiment}"
    assert needs[f"{one}/tell", "post"] == [{"bearer": ["work"]}]
    assert needs[one, "get"] == [{"bearer": ["read"]}]
    assert needs[one, "delete"] == [{"bearer": ["admin"]}]
    assert [path for (path, _), scopes in needs.items() if not scopes] == ["/healthz", "/readyz"]


def test_every_operation_with_a_token_has_errors_of_one_shape(document):
    for path, _, operation in operations(document):
        if operation["security"]:
            for status in ("400", "401", "403", "429", "500", "503"):
                schema = operation["responses"][status]["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/ErrorBody"}, (path, status)


@pytest.mark.parametrize(
    ("method", "path", "methods"),
    [
        ("PUT", "/v1/experiments/router", "DELETE, GET, PATCH"),
        ("DELETE", "/v1/experiments", "GET, POST"),
        ("GET", "/v1/experiments/router/tell", "POST"),
        ("POST", "/healthz", "GET"),
        ("PUT", "/login", "GET, POST"),
    ],
)
def test_a_method_that_is_not_taken_is_answered_with_those_that_are(running, method, path, methods):
    for accept in ("application/json", "text/html"):
        status, headers, _ = running.send(method, path, headers={"Accept": accept})
        assert (status, headers["allow"]) == (405, methods)
