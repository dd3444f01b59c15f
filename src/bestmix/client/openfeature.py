"""A provider for OpenFeature: flags are experiments on live traffic, their variants the arms.

Programs that evaluate feature flags through OpenFeature (the package ``openfeature-sdk``) need no other code: a flag's
string value is the arm, and ``track`` records what came of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from openfeature.evaluation_context import EvaluationContext
from openfeature.exception import ErrorCode
from openfeature.flag_evaluation import FlagResolutionDetails, Reason
from openfeature.provider import AbstractProvider, Metadata
from openfeature.track import TrackingEventDetails

from bestmix.client.edge import Edge
from bestmix.client.edge_choices import EdgeError

SEGMENT, CHOICE = "segment", "choice"  # names of attributes


class EdgeProvider(AbstractProvider):
    """Resolves string flags by edges, one for each flag.

    The targeting key of the context is the unit, which keeps its arm within a version; the attribute ``segment`` is its
    segment. The details' metadata have the choice's id. Hand it to ``client.track`` as the attribute ``choice``, with
    the metrics as further attributes.

    Parameters
    ----------
    edges
        The edge of each flag, by the flag's key.
    """

    def __init__(self, edges: Mapping[str, Edge]) -> None:
        super().__init__()
        self._edges = dict(edges)

    def get_metadata(self) -> Metadata:
        """What the provider is called."""
        return Metadata("bestmix")

    def shutdown(self) -> None:
        """Report what is left."""
        for edge in self._edges.values():
            edge.close()

    def resolve_string_details(
        self, flag_key: str, default_value: str, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[str]:
        """The arm for a request; the default where there is no such experiment or segment."""
        edge, context = self._edges.get(flag_key), evaluation_context or EvaluationContext()
        if edge is None:
            return _error(default_value, ErrorCode.FLAG_NOT_FOUND, f"there is no edge for the flag {flag_key!r}")
        try:
            choice = edge.choose(context.attributes.get(SEGMENT), context.targeting_key)  # type: ignore[arg-type]
        except EdgeError as error:
            return _error(default_value, ErrorCode.INVALID_CONTEXT, str(error))
        told: dict[str, bool | int | float | str] = {CHOICE: choice.id, "version": choice.version}
        return FlagResolutionDetails(choice.arm, variant=choice.arm, reason=Reason.SPLIT, flag_metadata=told)

    def track(
        self,
        tracking_event_name: str,
        evaluation_context: EvaluationContext | None = None,
        tracking_event_details: TrackingEventDetails | None = None,
    ) -> None:
        """Record what came of a request of the flag of this name: the choice's id and its metrics, as attributes."""
        given: dict[str, Any] = {} if tracking_event_details is None else dict(tracking_event_details.attributes)
        choice, edge = given.pop(CHOICE, None), self._edges.get(tracking_event_name)
        if edge is not None and isinstance(choice, str):
            edge.record(choice, {name: given[name] for name in edge.metrics if name in given})

    def resolve_boolean_details(
        self, flag_key: str, default_value: bool, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[bool]:
        """Arms are texts."""
        return _mismatch(default_value)

    def resolve_integer_details(
        self, flag_key: str, default_value: int, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[int]:
        """Arms are texts."""
        return _mismatch(default_value)

    def resolve_float_details(
        self, flag_key: str, default_value: float, evaluation_context: EvaluationContext | None = None
    ) -> FlagResolutionDetails[float]:
        """Arms are texts."""
        return _mismatch(default_value)

    def resolve_object_details(
        self,
        flag_key: str,
        default_value: Sequence[Any] | Mapping[str, Any],
        evaluation_context: EvaluationContext | None = None,
    ) -> FlagResolutionDetails[Any]:
        """Arms are texts."""
        return _mismatch(default_value)


def _mismatch(default: Any) -> FlagResolutionDetails[Any]:
    return _error(default, ErrorCode.TYPE_MISMATCH, "an arm is a text: ask for a string")


def _error(default: Any, code: ErrorCode, message: str) -> FlagResolutionDetails[Any]:
    return FlagResolutionDetails(default, error_code=code, error_message=message, reason=Reason.ERROR)
