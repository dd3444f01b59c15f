"""A single result, the call that workers make: read without the framework's detours where it is plainly in order."""

import asyncio
import math
from collections.abc import Awaitable, Iterable
from functools import partial
from typing import Any, cast

from fastapi import FastAPI
from starlette.requests import Request
from starlette.types import Scope

from bestmix.experiments import Experiment, Outcome, StorageError
from bestmix.experiments.experiment import joint_tell
from bestmix.experiments.sql.store import SqlStore
from bestmix.experiments.store import Joint, Prefetch
from bestmix.files import loads
from bestmix.service.access import check_own, credentials
from bestmix.service.middleware import RAW_HEADERS, RequestMiddleware, Visit
from bestmix.service.plain_call import ANSWERS, PlainCall, answer_headers
from bestmix.service.tokens import Fingerprint, Token
from bestmix.service.whole_requests import Reply, TakeBody

PATTERN = "/v1/experiments/{experiment}/tell"
LONGEST_ID = 40  # characters of a trial's id
COSTS, METRICS = {"trial", "reward", "costs"}, {"trial", "metrics"}  # the entries of a result's two forms


def read_tell(request: Request, data: Any) -> Awaitable[Outcome]:
    """The write that a body asks for; an error when it is not plainly in order, before anything is done."""
    return _write(request.state.experiment, *_result(request.state.experiment, data))


class WholeTells:
    """Takes results that are there as a whole, without a task: for each of them that would cost more than its checks.

    Everything that is not plainly in order, or not at hand, is left to the application.
    """

    def __init__(self, app: FastAPI, around: RequestMiddleware, plain: PlainCall) -> None:
        self._app, self._around, self._plain = app, around, plain
        self._over: list[Visit] = []  # that were answered, and have left nothing behind yet

    def take(self, scope: Scope) -> TakeBody | None:
        """What takes the bodies of requests with such a head: it is called for any number of them."""
        name = self._plain.experiment(scope)
        text, from_cookie = ("", True) if name is None else credentials(scope)
        return None if name is None or from_cookie else partial(self._take, scope, name, Fingerprint.of(text))

    def _take(self, scope: Scope, name: str, shown: Fingerprint, body: bytes, reply: Reply) -> bool:
        """Whether a request is taken; its answer follows when the result is on disk."""
        state, needed = self._app.state, self._plain.rule.scope
        experiment: Experiment | None = state.experiments.known(name)
        token: Token | None = state.authenticator.at_hand(shown)
        if experiment is None or token is None or needed is None or not token.scope.allows(needed):
            return False
        try:
            check_own(token, experiment)
            result = _result(experiment, loads(str(body, "utf-8")))
            if self._around.rates.wait(token.prefix):
                return False
            write = _write(experiment, *result)
        except Exception:  # the application finds it again, and says so
            return False
        scope["bestmix.token"], scope["route"] = token, self._plain.route
        write.add_done_callback(partial(self._finish, Visit(scope), reply))
        return True

    def _finish(self, visit: Visit, reply: Reply, write: "asyncio.Future[Outcome]") -> None:
        error = None if write.cancelled() else write.exception()
        if write.cancelled() or (error is not None and not isinstance(error, Exception)):  # of the thread that wrote
            error = StorageError("the write was interrupted")
        if error is None:
            visit.status = 200
            reply(200, HEADS[write.result()] + visit.id.encode() + b"\r\n", ANSWERS[write.result()])
        else:
            visit.scope["app"] = self._app
            response = self._plain.fail(Request(visit.scope), error)
            visit.status = response.status_code
            reply(response.status_code, _lines(visit.headers(response.raw_headers)), bytes(response.body))
        if not self._over:  # all who wait are answered first: while they go on, there is time for log and metrics
            write.get_loop().call_soon(self._leave)
        self._over.append(visit)

    def _leave(self) -> None:
        over, self._over = self._over, []
        for visit in over:
            self._around.leave(visit)


def _lines(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    return b"".join([b"%b: %b\r\n" % header for header in headers])


HEADS = {
    outcome: _lines([*answer_headers(body), *RAW_HEADERS]) + b"x-request-id: " for outcome, body in ANSWERS.items()
}


def _result(experiment: Experiment, data: Any) -> tuple[Prefetch, Joint[Outcome]]:
    """The result that a body tells; an error when it is not plainly in order."""
    if type(data) is not dict or type(data.get("trial")) is not str or len(data["trial"]) > LONGEST_ID:
        raise ValueError("no id of a trial")
    result: tuple[Any, ...]
    if data.keys() == COSTS:
        result = data["trial"], _number(data["reward"]), _numbers(data["costs"])
    elif data.keys() == METRICS:
        result = data["trial"], _numbers(data["metrics"]), None
    else:
        raise ValueError("other entries than those of a result")
    return joint_tell(experiment, result)


def _write(experiment: Experiment, prefetch: Prefetch, work: Joint[Outcome]) -> "asyncio.Future[Outcome]":
    return cast(SqlStore, experiment.storage.store).submit(experiment.record.key, work, prefetch)


def _numbers(values: Any) -> dict[str, float]:
    if type(values) is not dict:
        raise ValueError("no values by name")
    return {name: _number(value) for name, value in values.items()}


def _number(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError("no finite number")
    return float(value)
