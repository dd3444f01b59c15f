"""The API's bodies: what is sent is checked against these; answers are documented by the classes of their values."""

import dataclasses
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from types import GenericAlias, MappingProxyType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    create_model,
)
from pydantic.json_schema import models_json_schema

from bestmix import checks
from bestmix.answers import policy, recommendation
from bestmix.experiments import model, traffic_model
from bestmix.experiments.experiment import MOST_ASKED
from bestmix.experiments.model import LONGEST_ARM, LONGEST_NAME, LONGEST_NOTE, Outcome
from bestmix.experiments.traffic_sums import MOST_ROWS
from bestmix.problems.items import MOST_ITEMS
from bestmix.problems.problem import Problem

MOST_RESULTS = 10_000  # in one batch
TEXT = r"^[^\x00]*$"

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=TEXT)]
Note = Annotated[str, Field(max_length=LONGEST_NOTE, pattern=TEXT)]
TrialId = Annotated[str, Field(max_length=40, description="The trial's id, from ask.")]
Number = Annotated[float, Field(allow_inf_nan=False, strict=True)]
Whole = Annotated[int, Field(strict=True)]


def _money(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """An amount is checked where it is made; a number of trials here."""
    return value if isinstance(value, str | dict) else check(value)


def _named(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """The name of a state is checked by the problem, which refuses that of anything else; a number here."""
    return value if isinstance(value, str) else check(value)


BUDGET: dict[str, Any] = {
    "description": "The most trials, or what they may cost: '200 dollars', or an object.",
    "anyOf": [
        {"type": "integer", "minimum": 0, "maximum": 2**53},
        {"type": "string", "minLength": 1},
        {
            "type": "object",
            "required": ["amount", "unit"],
            "additionalProperties": False,
            "properties": {"amount": {"type": "number"}, "unit": {"type": "string"}, "prices": {}, "most": {}},
        },
    ],
    "examples": [2000, "200 dollars", {"amount": 200, "unit": "dollars", "most": 0.5}],
}
Budget = Annotated[Whole, Field(ge=0, le=2**53), WrapValidator(_money), WithJsonSchema(BUDGET)]

VALUE: dict[str, Any] = {
    "description": "A number; of 'next', where there are states, the name of the state that comes next.",
    "anyOf": [{"type": "number"}, {"type": "string"}],
}
Value = Annotated[Number, WrapValidator(_named), WithJsonSchema(VALUE)]

MEANS: dict[str, Any] = {"type": "object", "additionalProperties": {"type": "number"}}
NAMES: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
FEATURES: dict[str, Any] = {
    "type": "object",
    "additionalProperties": {
        "anyOf": [
            {"type": "object", "additionalProperties": {"anyOf": [{"type": "number"}, {"type": "string"}]}},
            {"type": "array", "items": {"type": "number"}},
        ]
    },
}
PROBLEM: dict[str, Any] = {  # whose values are checked by the problem itself
    "title": "Problem",
    "description": "Arms, what to aim at, what to keep, and what is known already.",
    "type": "object",
    "anyOf": [{"required": ["arms"]}, {"required": ["states", "actions", "discount", "start"]}],
    "additionalProperties": False,
    "properties": {
        "arms": NAMES | {"description": "Names of the options that can be tried."},
        "states": NAMES | {"description": "Instead of arms: states, in which actions are tried."},
        "actions": {
            "description": "With states: the actions of all of them, or of each.",
            "anyOf": [NAMES, {"type": "object", "additionalProperties": NAMES}],
        },
        "discount": {"type": "number", "minimum": 0, "exclusiveMaximum": 1, "description": "Of a step, with states."},
        "start": {
            "description": "With states: the first one, or the probability of each to be it.",
            "anyOf": [{"type": "string"}, MEANS],
        },
        "bounds": MEANS | {"description": "Largest acceptable means: short for limits such as 'dollars <= 5'."},
        "known": {
            "description": "Means that are known already, by arm.",
            "type": "object",
            "additionalProperties": {"type": "object", "properties": {"reward": {"type": "number"}, "costs": MEANS}},
        },
        "goal": {"type": "string", "description": "As in 'minimise dollars'.", "default": "maximise reward"},
        "limits": NAMES | {"description": "As in 'quality >= 0.9', 'p(seconds > 2) <= 5%', 'share(large) <= 40%'."},
        "segments": {
            "description": "Groups of users with mixes of their own: their shares of all users, or their names alone.",
            "anyOf": [MEANS, NAMES],
        },
        "features": FEATURES
        | {"description": "What each arm is made of, where all means are linear in it: by name, or a list of numbers."},
        "tracked": NAMES | {"description": "Further metrics that every trial tells, such as what it costs."},
    },
    "examples": [
        {"arms": ["small", "large"], "bounds": {"dollars": 5.0}},
        {"arms": ["small", "large"], "goal": "minimise dollars", "limits": ["quality >= 0.9"]},
    ],
}


def _nothing() -> Any:
    """No value: a field that is absent, where null would be refused."""
    return None


class Body(BaseModel):
    """What is sent: nothing but the fields that are known."""

    model_config = ConfigDict(extra="forbid")


class Create(Body):
    """A new experiment."""

    name: Name
    problem: Annotated[dict[str, Any], WithJsonSchema(PROBLEM)]
    budget: Budget
    strategy: dict[str, Any] | None = Field(None, examples=[{"kind": "SFSR", "score": "intersection"}])
    lease: Number = Field(60.0, gt=0, description="Seconds that a worker has for a trial.")
    failures: Whole = Field(100, ge=1, le=2**53, description="Failed trials that end it.")
    notes: Note = ""
    log: dict[str, list[Any]] | None = Field(
        None,
        description="Trials from before by column: arm, segment and item where there are any, and the metrics.",
        examples=[{"arm": ["small", "large"], "reward": [0.6, 0.9], "dollars": [1.0, 9.1]}],
    )
    log_weight: Number = Field(1.0, gt=0, le=1, description="What a result of the log counts.")
    items: Annotated[Whole, Field(ge=1, le=MOST_ITEMS)] | list[str] | None = Field(
        None,
        description="What trials are made on: texts that differ, or how many items there are.",
        examples=[["Sum two numbers.", "Sort a list."], 500],
    )
    shared: bool = Field(True, strict=True, description="Whether all arms go through the items in one order.")
    items_seed: Whole = Field(0, ge=0, le=2**62, description="Of the order of the items.")


class Change(Body):
    """A new name or new notes."""

    name: Name | None = None
    notes: Note | None = None


class Ask(Body):
    """How many trials, for whom."""

    n: Whole = Field(1, ge=1, le=MOST_ASKED)
    worker: Name = "http"
    key: Name | None = Field(None, description="An idempotency key: asking again with it gets the same trials.")
    segment: Name | None = Field(None, description="Where users arrive: the segment of the one that the trial is for.")


class Tell(Body):
    """A result: a reward with costs by name, or all metrics by name."""

    model_config = ConfigDict(
        json_schema_extra={
            "oneOf": [{"required": ["reward"]}, {"required": ["metrics"], "not": {"required": ["costs"]}}],
            "examples": [{"trial": "8c1f0a2b3d4e-17", "metrics": {"quality": 1.0, "dollars": 0.002}}],
        }
    )

    trial: TrialId
    reward: Number = Field(default_factory=_nothing, description="What the goal is about.")
    costs: dict[str, Value] = Field(default_factory=dict, description="The other metrics, by name.")
    metrics: dict[str, Value] = Field(default_factory=dict, description="Or all metrics, by name.")

    def result(self, place: str = "") -> tuple[str, Any, Any]:
        """The trial, its reward and its costs; or the trial and its metrics. ``place`` is where the body stands."""
        if "metrics" not in self.model_fields_set:
            return self.trial, checks.number(f"{place}reward", self.reward), self.costs
        for name in ("reward", "costs"):
            if name in self.model_fields_set:
                raise checks.InvalidInput(f"{place}{name}", expected="none beside metrics", got="one", remedy="drop it")
        return self.trial, self.metrics, None


class TellMany(Body):
    """Results; all of them are taken or none."""

    results: list[Tell] = Field(max_length=MOST_RESULTS)


class SumsRow(Body):
    """Sums of the requests of one version that an arm, of a segment, was given."""

    version: Whole = Field(ge=1, le=2**53, description="That of the weights that the requests followed.")
    segment: Name | None = Field(None, description="Where there are any.")
    arm: str = Field(max_length=LONGEST_ARM)
    n: Whole = Field(ge=1, le=2**53, description="Number of requests.")
    sums: dict[str, Number] = Field(description="Of each measure, by name.", examples=[{"quality": 3.0}])
    products: dict[str, Number] = Field(
        description="Of each two measures, squares too, by their names.", examples=[{"quality*quality": 2.6}]
    )


class Sums(Body):
    """A report, which is counted once."""

    key: Name = Field(description="Who reports and the number of the report, from 1 without gaps, as in web-1:12.")
    rows: list[SumsRow] = Field(max_length=MOST_ROWS)


class Fail(Body):
    """A trial that gave no result."""

    trial: TrialId
    reason: Note = ""


class Trials(Body):
    """Some trials."""

    trials: list[TrialId] = Field(max_length=MOST_ASKED)


class Stop(Body):
    """Why."""

    reason: Note = ""


class ChangeProblem(Body):
    """What is to change of what is asked; what is not given stays as it is."""

    bounds: dict[str, Number] | None = Field(None, description="New bounds, by cost; the others stay.")
    limits: list[str] | None = Field(None, description="All limits from now on that are not such bounds.")
    arms: list[str] | None = Field(None, description="All arms to try from now on.")
    budget: Budget | None = Field(None, description="The new total, of trials or of money, larger or smaller.")
    prices: dict[str, Number] | None = Field(
        None, description="What a trial of an arm that comes new costs, where the budget is money and prices are known."
    )
    most: dict[str, Number] | None = Field(
        None, description="The most that a trial of an arm that comes new can cost, where that is given by arm."
    )
    features: Annotated[dict[str, Any], WithJsonSchema(FEATURES)] | None = Field(
        None, description="Of arms that come new, where arms have features."
    )


class Extend(Body):
    """The new total."""

    budget: Budget


def derive(value: type, without: Sequence[str] = (), more: Mapping[str, Any] = MappingProxyType({})) -> type[BaseModel]:
    """What the document says of a value that crosses the wire, from the annotations of its class.

    ``more`` are entries that ``to_dict`` or the route adds, ``without`` those that it leaves out.

    >>> list(derive(model.Event, without=["at"], more={"id": str}).model_fields)
    ['number', 'kind', 'data', 'id']
    """
    about = (value.__doc__ or "").partition("\n\n")[0]
    return describe(value.__name__, about, {**entries(value, without), **more})


def entries(value: type, without: Sequence[str] = ()) -> dict[str, Any]:
    """The fields of a value, each with its type in JSON."""
    hints = get_type_hints(value, include_extras=True)
    return {f.name: plain(hints[f.name]) for f in dataclasses.fields(value) if f.name not in without}


def describe(name: str, about: str, kinds: Mapping[str, Any]) -> type[BaseModel]:
    """A body of these entries, each with its type."""
    fields: dict[str, Any] = {entry: (kind, ...) for entry, kind in kinds.items()}
    made: type[BaseModel] = create_model(name, __doc__=about, **fields)
    return made


def plain(hint: Any) -> Any:
    """An annotation as JSON has it: what may be NaN or infinite may be null, and a problem is an object.

    >>> plain(Mapping[str, recommendation.Nullable])
    collections.abc.Mapping[str, float | None]
    """
    if hint == recommendation.Nullable:
        return float | None
    if hint is Problem:
        return dict[str, Any]
    if not get_args(hint):
        return hint
    parts = tuple(plain(part) for part in get_args(hint))
    return reduce(or_, parts) if get_origin(hint) in (Union, UnionType) else get_origin(hint)[parts]


def many(entry: type[BaseModel]) -> Any:
    """The type of a list of them."""
    return GenericAlias(list, (entry,))


NEXT = "``next`` is the ``after`` of the next page, null on the last."

State = derive(model.State, more={"id": str})
Experiment = describe(
    "Experiment",
    "All that is known of an experiment without its trials.",
    entries(model.State) | entries(model.Record, without=["key"]) | {"id": str},
)
Trial = derive(model.Trial)
Event = derive(model.Event)
Estimate = derive(recommendation.Estimate)
MeanCost = derive(recommendation.MeanCost)
Account = describe(
    "Account",
    "What was spent of a budget of money, and what is left.",
    {"budget": dict[str, Any], "mean_prices": dict[str, float], "hard": bool, "sentence": str}
    | dict.fromkeys(("spent", "left", "lost"), float),
)
Round = derive(recommendation.Round, more={"mixture": dict[str, float] | None})
Recommendation = derive(
    recommendation.Recommendation,
    without=["history", "account"],
    more={
        "limits": GenericAlias(dict, (str, MeanCost)),
        "account": Union[Account, None],  # noqa: UP007
        "trials": int,
        "support": list[str],
        "violation": dict[str, float | None],
        "estimates": many(Estimate),
        "sentence": str,
        "told": GenericAlias(list, (dict[str, Any],)) | None,
    },
)
Snapshot = describe(
    "Snapshot",
    "Figures, answer and rounds, all of one moment.",
    {"state": State, "recommendation": Recommendation, "rounds": many(Round)},
)
Part = describe("SegmentPolicy", "A segment of a policy.", {"share": float, "weights": dict[str, float]})
Policy = derive(
    policy.Policy,
    without=["by_segment"],
    more={"version": int, "known": dict[str, Any], "segments": GenericAlias(dict, (str, Part))},
)
Handout = describe(
    "Handout",
    "Trials; when there are none, why, and in how many seconds to ask again (null: never).",
    {"trials": many(Trial), "retry_after": float | None, "why": str},
)
Items = describe(
    "Items",
    "What trials are made on: texts, or how many there are; and whether arms share their order. Null for none.",
    {"given": int | list[str] | None, "shared": bool | None, "seed": int | None},
)
Experiments = describe("Experiments", f"A page; {NEXT}", {"experiments": many(State), "next": str | None})
TrialPage = describe("TrialPage", f"A page; {NEXT}", {"trials": many(Trial), "next": str | None})
Rounds = describe("Rounds", f"A page; {NEXT}", {"rounds": many(Round), "next": int | None})
Events = describe("Events", f"A page; {NEXT}", {"events": many(Event), "next": int | None})
OneOutcome = describe("OneOutcome", "What became of a result.", {"outcome": Outcome})
Outcomes = describe("Outcomes", "What became of results, in their order.", {"outcomes": list[Outcome]})
Published = derive(traffic_model.Published)
Version = derive(traffic_model.Version, without=["evidence"], more={"counted": int})
Edge = describe("Edge", "Somebody who reports sums.", entries(traffic_model.EdgeRow) | {"at": str})
Traffic = describe(
    "Traffic",
    "Live traffic so far.",
    {"versions": many(Version), "edges": many(Edge)}
    | {"means": dict[str, float], "version_means": list[dict[str, float]]},
)
Health = describe("Health", "How the server is.", {"status": Literal["ok", "not ready"], "version": str})


def traffic_schema() -> dict[str, Any]:
    """The documents of live traffic as a JSON schema: ``Published``, which is got, and ``Sums``, which are posted.

    ``traffic.schema.json`` beside this file is the same.

    >>> sorted(traffic_schema()["$defs"])
    ['Published', 'Status', 'Sums', 'SumsRow']
    """
    _, made = models_json_schema([(Published, "serialization"), (Sums, "validation")], title="bestmix live traffic")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}
