"""The API's bodies, as the OpenAPI document describes them."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from bestmix.experiments.experiment import MOST_ASKED
from bestmix.experiments.model import LONGEST_NAME, LONGEST_NOTE

MOST_RESULTS = 10_000  # in one batch
TEXT = r"^[^\x00]*$"

Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME, pattern=TEXT)]
Note = Annotated[str, Field(max_length=LONGEST_NOTE, pattern=TEXT)]
TrialId = Annotated[str, Field(max_length=40, description="The trial's id, from ask.")]
Number = Annotated[float, Field(allow_inf_nan=False, strict=True)]
Whole = Annotated[int, Field(strict=True)]


class Body(BaseModel):
    """What is sent: nothing but the fields that are known."""

    model_config = ConfigDict(extra="forbid")


class Create(Body):
    """A new experiment."""

    name: Name
    problem: dict[str, Any] = Field(
        description="Arms, bounds on mean costs, and arms whose means are known.",
        examples=[{"arms": ["small", "large"], "bounds": {"dollars": 5.0}}],
    )
    budget: Whole = Field(ge=0, le=2**53, description="The most trials to make.")
    strategy: dict[str, Any] | None = Field(None, examples=[{"kind": "SFSR", "score": "intersection"}])
    lease: Number = Field(60.0, gt=0, description="Seconds that a worker has for a trial.")
    failures: Whole = Field(100, ge=1, le=2**53, description="Failed trials that end it.")
    notes: Note = ""


class Change(Body):
    """A new name or new notes."""

    name: Name | None = None
    notes: Note | None = None


class Ask(Body):
    """How many trials, for whom."""

    n: Whole = Field(1, ge=1, le=MOST_ASKED)
    worker: Name = "http"
    key: Name | None = Field(None, description="An idempotency key: asking again with it gets the same trials.")


class Tell(Body):
    """A result."""

    trial: TrialId
    reward: Number
    costs: dict[str, Number] = Field(default_factory=dict)


class TellMany(Body):
    """Results; all of them are taken or none."""

    results: list[Tell] = Field(max_length=MOST_RESULTS)


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


class Extend(Body):
    """The new total."""

    budget: Whole = Field(ge=0, le=2**53)


class State(BaseModel):
    """An experiment's figures at one moment."""

    id: str
    name: str
    status: Literal["running", "paused", "done", "stopped", "failed"]
    reason: str
    notes: str
    budget: int
    round: int
    complete: int
    leased: int
    waiting: int
    expired: int
    failed: int
    surplus: int
    handed: int
    created: datetime
    ended: datetime | None


class Experiment(State):
    """All that is known of an experiment without its trials."""

    problem: dict[str, Any]
    strategy: dict[str, Any]
    first_budget: int
    lease: float
    failures: int


class Experiments(BaseModel):
    """A page of experiments; ``after`` of the next page is the last name of this one."""

    experiments: list[State]
    next: str | None


class Trial(BaseModel):
    """One trial that was handed out."""

    id: str
    arm: str
    round: int
    token: int
    slot: int
    state: Literal["leased", "complete", "expired", "failed", "surplus", "withdrawn"]
    worker: str
    deadline: datetime
    asked: datetime
    told: datetime | None
    reward: float | None
    costs: dict[str, float] | None
    note: str


class Handout(BaseModel):
    """Trials; when there are none, why, and in how many seconds to ask again (null: never)."""

    trials: list[Trial]
    retry_after: float | None
    why: str


class TrialPage(BaseModel):
    """A page of trials; ``next`` is the ``after`` of the next page, null on the last."""

    trials: list[Trial]
    next: str | None


class Told(BaseModel):
    """What became of a result."""

    outcome: Literal["counted", "repeated", "surplus"]


class ToldMany(BaseModel):
    """What became of results, in their order."""

    outcomes: list[Literal["counted", "repeated", "surplus"]]


class Estimate(BaseModel):
    """An arm's estimated means with 95% intervals."""

    arm: str
    trials: int
    known: bool
    reward: float | None
    reward_interval: tuple[float | None, float | None]
    costs: dict[str, float | None]
    cost_intervals: dict[str, tuple[float | None, float | None]]


class Round(BaseModel):
    """What happened in one round; ``mixture`` is the answer after it."""

    number: int
    pulls: dict[str, int]
    scores: dict[str, float | None]
    rejected: str | None
    margin: float | None
    reasons: dict[str, dict[str, int]]
    mixture: dict[str, float] | None = None


class Rounds(BaseModel):
    """A page of rounds; ``next`` is the ``after`` of the next page, null on the last."""

    rounds: list[Round]
    next: int | None


class Recommendation(BaseModel):
    """The best mix as far as the trials tell; its rounds are under history."""

    problem: dict[str, Any]
    strategy: str
    budget: int | None
    trials: int
    complete: bool
    feasible: bool
    support: list[str]
    mixture: dict[str, float]
    value: float | None
    slack: dict[str, float | None]
    violation: dict[str, float | None]
    shadow_prices: dict[str, float | None]
    basis: list[str]
    support_probability: float | None
    z_scores: dict[str, float | None]
    estimates: list[Estimate]
    note: str
    sentence: str


class Policy(BaseModel):
    """Weights to deploy."""

    weights: dict[str, float]
    bounds: dict[str, float]
    feasible: bool


class Event(BaseModel):
    """Something that happened."""

    number: int
    kind: str
    data: dict[str, Any]
    at: datetime


class Events(BaseModel):
    """A page of events; ``next`` is the ``after`` of the next page, null on the last."""

    events: list[Event]
    next: int | None


class Health(BaseModel):
    """How the server is."""

    status: Literal["ok", "not ready"]
    version: str
