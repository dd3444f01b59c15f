"""A single result, the call that workers make: read without the framework's detours where it is plainly in order."""

import math
from collections.abc import Awaitable
from typing import Any, cast

from starlette.requests import Request

from bestmix.experiments import Experiment, Outcome
from bestmix.experiments.experiment import joint_tell
from bestmix.experiments.sql.store import SqlStore

PATTERN = "/v1/experiments/{experiment}/tell"
LONGEST_ID = 40  # characters of a trial's id
COSTS, METRICS = {"trial", "reward", "costs"}, {"trial", "metrics"}  # the entries of a result's two forms


def read_tell(request: Request, data: Any) -> Awaitable[Outcome]:
    """The write that a body asks for; an error when it is not plainly in order, before anything is done."""
    experiment: Experiment = request.state.experiment
    if type(data) is not dict or type(data.get("trial")) is not str or len(data["trial"]) > LONGEST_ID:
        raise ValueError("no id of a trial")
    result: tuple[Any, ...]
    if data.keys() == COSTS:
        result = data["trial"], _number(data["reward"]), _numbers(data["costs"])
    elif data.keys() == METRICS:
        result = data["trial"], _numbers(data["metrics"]), None
    else:
        raise ValueError("other entries than those of a result")
    prefetch, work = joint_tell(experiment, result)
    return cast(SqlStore, experiment.storage.store).submit(experiment.record.key, work, prefetch)


def _numbers(values: Any) -> dict[str, float]:
    if type(values) is not dict:
        raise ValueError("no values by name")
    return {name: _number(value) for name, value in values.items()}


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError("no finite number")
    return float(value)
