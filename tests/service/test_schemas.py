"""Bodies: requests are checked, and what is answered is what the classes of the values say."""

from collections.abc import Mapping

import pytest
from pydantic import TypeAdapter, ValidationError
from tests.answers.kits import answer
from tests.experiments.test_model import VALUES

from bestmix.answers.recommendation import Interval, Nullable
from bestmix.problems.problem import Problem
from bestmix.service import schemas
from bestmix.service.schemas import plain


@pytest.mark.parametrize(
    ("hint", "wire"),
    [
        (Nullable, float | None),
        (Nullable | None, float | None),
        (Interval, tuple[float | None, float | None]),
        (Mapping[str, Interval], Mapping[str, tuple[float | None, float | None]]),
        (tuple[str, ...], tuple[str, ...]),
        (float, float),
    ],
)
def test_an_annotation_says_what_json_holds(hint, wire):
    assert plain(hint) == wire
    assert TypeAdapter(plain(Problem)).validate_python({"arms": []}) == {"arms": []}


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_plain_data_of_a_value_is_what_its_model_describes(value):
    model = {"Record": schemas.Experiment}.get(type(value).__name__) or getattr(schemas, type(value).__name__)
    more = {"State": {"id": "x"}, "Record": VALUES[2].to_dict() | {"id": "x"}}.get(type(value).__name__, {})
    data = value.to_dict() | more
    model.model_validate(data)
    assert set(model.model_fields) == set(data)


@pytest.mark.parametrize("found", [answer(n=1), answer(cost=(3.0, 2.0))], ids=["one trial", "infeasible"])
def test_plain_data_of_an_answer_is_what_its_model_describes(found):
    data = {name: value for name, value in found.to_dict().items() if name != "history"}
    schemas.Recommendation.model_validate(data)
    assert set(schemas.Recommendation.model_fields) == set(data)
    for ended in found.history:
        schemas.Round.model_validate(ended.to_dict() | {"mixture": None})


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (schemas.Ask, {"n": 0}),
        (schemas.Ask, {"n": 1.5}),
        (schemas.Ask, {"m": 1}),
        (schemas.Tell, {"trial": "x", "reward": float("nan")}),
        (schemas.Tell, {"trial": "x", "reward": "1"}),
        (schemas.Tell, {"trial": "x", "reward": 1.0, "costs": {"a": float("inf")}}),
        (schemas.Create, {"name": "a\x00", "problem": {}, "budget": 1}),
        (schemas.Create, {"name": "a", "problem": {}, "budget": 2**60}),
        (schemas.Extend, {"budget": True}),
        (schemas.Trials, {"trials": "abc"}),
    ],
)
def test_a_body_that_is_odd_is_refused(model, data):
    with pytest.raises(ValidationError):
        model.model_validate(data)


def test_the_file_with_the_schema_of_live_traffic_is_the_one_that_bodies_are_checked_by():
    import json
    from pathlib import Path

    import numpy as np
    from jsonschema import Draft202012Validator
    from tests.experiments.flows import QUICK, ROUTER, report

    from bestmix import open_experiment

    schema = json.loads(Path(schemas.__file__).with_name("traffic.schema.json").read_text())
    assert schema == schemas.traffic_schema()
    live = open_experiment("memory://", "live", ROUTER, traffic=QUICK)
    body = {"key": "web:1", "rows": report(live, 20, np.random.default_rng(0))}
    for name, good in (("Published", live.published().to_dict()), ("Sums", body)):
        check = Draft202012Validator({**schema, "$ref": f"#/$defs/{name}"})
        assert check.is_valid(json.loads(json.dumps(good)))
        assert not check.is_valid({})
