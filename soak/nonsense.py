"""Made-up requests from a server's OpenAPI document: no server error, every answer as the document says."""

from collections import Counter
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from bestmix import Problem, Uniform
from bestmix.client import connect

CHECKS = [not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance]
NAME = "target"


def send(url: str, token: str, examples: int) -> dict[str, Any]:
    """So many requests an operation, half of them against an experiment that exists; what went wrong."""
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    problems: list[str] = []
    answers: Counter[int] = Counter()
    operations = 0
    for result in schema.get_all_operations():
        operation = result.ok()
        operations += 1
        problems += _attack(operation, url, token, examples, answers)
    return {"operations": operations, "answers": dict(answers), "problems": problems}


def _attack(operation: Any, url: str, token: str, examples: int, answers: Counter[int]) -> list[str]:
    server = connect(url, token)
    headers = {"Authorization": f"Bearer {token}"}
    count = 0

    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def call(case: Any) -> None:
        nonlocal count
        count += 1
        if "experiment" in (case.path_parameters or {}) and count % 2:
            server.create(NAME, Problem(["a", "b"], {"cost": 1.0}), 1000, Uniform())
            case.path_parameters["experiment"] = NAME
        if "stream" in case.path:
            case.query = {**(case.query or {}), "seconds": "0.01"}
        answer = case.call(base_url=url, headers=headers, timeout=60)
        answers[answer.status_code] += 1
        case.validate_response(answer, checks=CHECKS)

    try:
        call()
    except BaseException as error:  # schemathesis and hypothesis raise groups of their own
        return [f"{operation.method.upper()} {operation.path}: {str(error)[:1500]}"]
    finally:
        server.close()
    return []
