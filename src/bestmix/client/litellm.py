"""A routing strategy for LiteLLM: callers ask for one model, an edge chooses which, and what came of it is recorded.

The arms of the experiment are model groups of a ``litellm.Router``. Callers ask for a name of its own, which stands for
the experiment; which deployment of an arm's group answers (cooldowns, rate limits, several regions) stays LiteLLM's
decision.
"""

import itertools
import threading
import uuid
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

import litellm
from litellm.integrations.custom_logger import CustomLogger

from bestmix.client.edge import Edge
from bestmix.client.edge_choices import EdgeError

DOLLARS, SECONDS = "dollars", "seconds"  # metrics that LiteLLM tells, where the experiment has them
CALL = "litellm_call_id"  # LiteLLM's name of a request
METADATA = ("litellm_metadata", "metadata")  # entries of a request of which one is handed on to callbacks
LISTS = ("callbacks", "success_callback", "failure_callback", "_async_success_callback", "_async_failure_callback")
MOST_WAITING = 100_000  # requests that wait for metrics; beyond that the oldest are given up


class EdgeStrategy(CustomLogger):
    """Chooses the arm of each request of a group by an edge, and records its metrics.

    The metric ``dollars`` is LiteLLM's own cost of the answer, ``seconds`` the time that it took. What else the
    experiment measures comes from ``measure``, or later by ``record``; a request counts as soon as all its metrics are
    there.

    Parameters
    ----------
    edge
        Of the experiment; its arms are the names of model groups of the router.
    group
        The name that callers ask for.
    segment, unit
        Functions of a request's keyword arguments that tell its segment and its unit. By default the entries of that
        name in its ``metadata``, and ``user`` for a unit that is not there.
    measure
        Function of LiteLLM's description of the call and the answer that tells further metrics.
    failed
        Further metrics of a call that failed, such as ``{"quality": 0.0}``; its dollars are 0. Without these, failed
        calls are not recorded.

    Examples
    --------
    ``EdgeStrategy(edge, "chat").install(router)``; then ``router.completion("chat", messages)``.
    """

    def __init__(
        self,
        edge: Edge,
        group: str,
        *,
        segment: Callable[[Mapping[str, Any]], str | None] | None = None,
        unit: Callable[[Mapping[str, Any]], Any] | None = None,
        measure: Callable[[Mapping[str, Any], Any], Mapping[str, float]] | None = None,
        failed: Mapping[str, float] | None = None,
    ) -> None:
        super().__init__()
        self.key = f"bestmix-{uuid.uuid4()}"  # by which LiteLLM tells loggers of one class apart
        self._edge, self._group = edge, group
        self._segment, self._unit = segment or _segment, unit or _unit
        self._measure, self._failed = measure, failed
        self._router: Any = None
        self._own: tuple[Any, Any] = (None, None)  # how the router chooses deployments without us
        self._attempts = itertools.count(1)  # retries share LiteLLM's id, and may share the choice
        self._waiting: dict[str, tuple[str, dict[str, float]]] = {}  # newest attempt, metrics so far, by LiteLLM's id
        self._lock = threading.Lock()

    def install(self, router: Any) -> "EdgeStrategy":
        """Choose for this router from now on."""
        groups = router.get_model_names()
        arms = dict.fromkeys(arm for shares in self._edge.weights.values() for arm in shares)
        missing = [arm for arm in arms if arm not in groups]
        if missing or self._group in arms:
            wanted = f"another than those of the arms, got {self._group!r}" if self._group in arms else "of each arm"
            raise EdgeError(
                f"group: expected a model group {wanted}"
                + (f", got none of {missing[0]!r}; name it so in the router's model_list" if missing else "")
            )
        self._router = router
        if self._group not in groups:  # a model group that LiteLLM knows is tried again where a call failed
            router.model_group_alias[self._group] = next(iter(arms))
        self._own = router.get_available_deployment, router.async_get_available_deployment
        router.set_custom_routing_strategy(self)
        litellm.callbacks.append(self)
        return self

    def remove(self) -> None:
        """Choose and record no more; the router does as it did before."""
        for name in LISTS:
            listed = getattr(litellm, name)
            listed[:] = [callback for callback in listed if callback is not self]
        self._router.model_group_alias.pop(self._group, None)
        self._router.get_available_deployment, self._router.async_get_available_deployment = self._own

    # --- what LiteLLM calls ---------------------------------------------------------------------------------------

    def get_available_deployment(
        self,
        model: str,
        messages: Any = None,
        input: Any = None,
        specific_deployment: bool | None = False,
        request_kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """The deployment that answers a request."""
        arm = self._arm(model, request_kwargs)
        return self._own[0](
            model=arm,
            messages=messages,
            input=input,
            specific_deployment=specific_deployment,
            request_kwargs=request_kwargs,
        )

    async def async_get_available_deployment(
        self,
        model: str,
        request_kwargs: dict[str, Any] | None = None,
        messages: Any = None,
        input: Any = None,
        specific_deployment: bool | None = False,
    ) -> Any:
        """The deployment that answers a request."""
        arm = self._arm(model, request_kwargs)
        return await self._own[1](
            model=arm,
            request_kwargs=request_kwargs,
            messages=messages,
            input=input,
            specific_deployment=specific_deployment,
        )

    def log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Record what a call came to."""
        found = self._call(kwargs)
        if found is not None:
            told = {DOLLARS: float(kwargs.get("response_cost") or 0.0), SECONDS: _seconds(start_time, end_time)}
            self._add(*found, told | dict(self._measure(kwargs, response_obj) if self._measure else {}))

    def log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Record that a call came to nothing, where that is wanted."""
        found = self._call(kwargs)
        if found is None:
            return
        with self._lock:
            if self._is_newest(*found):
                del self._waiting[found[0]]
        if self._failed is not None:
            self._add(*found, {DOLLARS: 0.0, SECONDS: _seconds(start_time, end_time), **self._failed})

    async def async_log_success_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Record what a call came to."""
        self.log_success_event(kwargs, response_obj, start_time, end_time)

    async def async_log_failure_event(self, kwargs: Any, response_obj: Any, start_time: Any, end_time: Any) -> None:
        """Record that a call came to nothing, where that is wanted."""
        self.log_failure_event(kwargs, response_obj, start_time, end_time)

    # --- what programs call ---------------------------------------------------------------------------------------

    def record(self, response: Any, metrics: Mapping[str, float]) -> None:
        """Tell further metrics of an answer: those that are known only later.

        Parameters
        ----------
        response
            LiteLLM's answer, or the ``litellm_call_id`` that the request was given.
        metrics
            By name. The request counts when all are there, from whichever side they came.
        """
        call = _name(response)
        with self._lock:
            known = self._waiting.get(call)
        if known is None:
            raise EdgeError(f"record: no request {call!r:.80} waits for metrics; record each answer once")
        self._add(call, known[0], metrics)

    def receipt(self, response: Any) -> dict[str, Any]:
        """What is known of an answer, to be recorded elsewhere: the choice's id and the metrics so far, as plain data.

        Any edge takes it: ``edge.record(receipt["choice"], {**receipt["metrics"], "quality": 1.0})``.
        """
        call = _name(response)
        with self._lock:
            known = self._waiting.pop(call, None)
        if known is None:
            raise EdgeError(f"receipt: no request {call!r:.80} waits for metrics; take it before they are all there")
        told = dict(known[1])
        hidden = getattr(response, "_hidden_params", None) or {}
        if hidden.get("response_cost") is not None:  # the callback may come after the answer
            told.setdefault(DOLLARS, float(hidden["response_cost"]))
            told.setdefault(SECONDS, float(hidden.get("_response_ms") or 0.0) / 1000.0)
        return {
            "choice": _choice(known[0]),
            "metrics": {name: told[name] for name in self._edge.metrics if name in told},
        }

    @property
    def waiting(self) -> int:
        """Requests that were chosen for and lack metrics."""
        return len(self._waiting)

    # --- within ---------------------------------------------------------------------------------------------------

    def _arm(self, model: str, request: dict[str, Any] | None) -> str:
        """The model group that answers; other groups than ours are left alone."""
        if model != self._group:
            return model
        asked: dict[str, Any] = {} if request is None else request
        choice = self._edge.choose(self._segment(asked), self._unit(asked))
        call = asked.setdefault(CALL, str(uuid.uuid4()))
        place = next((name for name in METADATA if isinstance(asked.get(name), dict)), METADATA[-1])
        attempt = f"{next(self._attempts)} {choice.id}"
        asked[place] = {**(asked.get(place) or {}), self.key: attempt}
        with self._lock:
            self._waiting[call] = attempt, {}
            if len(self._waiting) > MOST_WAITING:
                del self._waiting[next(iter(self._waiting))]
        return choice.arm

    def _call(self, kwargs: Mapping[str, Any]) -> tuple[str, str] | None:
        """LiteLLM's name of a call and which attempt it was, if it was ours."""
        given = kwargs.get("litellm_params") or {}
        attempts = [(given.get(name) or {}).get(self.key) for name in METADATA]
        return next(((str(kwargs.get(CALL)), attempt) for attempt in attempts if attempt is not None), None)

    def _is_newest(self, call: str, attempt: str) -> bool:
        """Whether it is this attempt that waits for metrics: callbacks may come after the next one has begun."""
        return call in self._waiting and self._waiting[call][0] == attempt

    def _add(self, call: str, attempt: str, metrics: Mapping[str, float]) -> None:
        """Put metrics to those of an attempt, and record it when all are there."""
        with self._lock:
            newest = self._is_newest(call, attempt)
            told = {**(self._waiting[call][1] if newest else {}), **metrics}
            names = self._edge.metrics
            whole = all(name in told for name in names)
            if newest and whole:
                del self._waiting[call]
            elif newest:
                self._waiting[call] = attempt, told
        if whole:
            self._edge.record(_choice(attempt), {name: told[name] for name in names})


def _choice(attempt: str) -> str:
    """The id of an attempt's choice."""
    return attempt.rpartition(" ")[2]


def _name(response: Any) -> str:
    if isinstance(response, str):
        return response
    return str((getattr(response, "_hidden_params", None) or {}).get(CALL))


def _metadata(request: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**(request.get(METADATA[1]) or {}), **(request.get(METADATA[0]) or {})}


def _segment(request: Mapping[str, Any]) -> str | None:
    segment: str | None = _metadata(request).get("segment")
    return segment


def _unit(request: Mapping[str, Any]) -> Any:
    return _metadata(request).get("unit", request.get("user"))


def _seconds(start: datetime, end: datetime) -> float:
    return (end - start).total_seconds()
