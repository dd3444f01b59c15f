"""What an experiment on live traffic keeps and tells: versions of its weights, and who reports sums."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from bestmix.answers.moments import Moments
from bestmix.experiments.model import Status, moment
from bestmix.problems.problem import Problem
from bestmix.problems.quantities import Tail

if TYPE_CHECKING:  # the client needs the values alone, without the arithmetic that strategies load
    from bestmix.strategies.traffic import Plan

Shares = Mapping[str, Mapping[str, float]]  # of arms, by segment; without segments in one of no name


@dataclass(frozen=True)
class Version:
    """The weights of one round, and what they were planned from.

    Attributes
    ----------
    number
        That of the round, from 1.
    weights, alone, explore, requests, certified, alarm, carry
        As ``strategies.traffic.Plan`` has them.
    expected
        Requests that were expected in the round.
    evidence
        The sums of every arm that it was planned from.
    at, seconds
        When it was published, in seconds since 1970, and how long the round may take.
    """

    number: int
    weights: Shares
    alone: Shares
    explore: float
    requests: int
    certified: bool
    alarm: str
    carry: Mapping[str, float]
    expected: int
    at: float
    seconds: float
    evidence: Sequence[Moments] = ()

    @classmethod
    def planned(
        cls, number: int, plan: "Plan", expected: int, at: float, seconds: float, evidence: Sequence[Moments]
    ) -> "Version":
        """The version that a plan makes."""
        return cls(number, *plan, expected, at, seconds, evidence)

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without the evidence."""
        return {name: value for name, value in vars(self).items() if name != "evidence"}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], evidence: Sequence[Moments] = ()) -> "Version":
        """Inverse of ``to_dict``."""
        return cls(**{**data, "evidence": evidence})


@dataclass(frozen=True)
class EdgeRow:
    """Somebody who reports sums, as a store keeps it.

    Attributes
    ----------
    name
        What it calls itself.
    sequence
        Number of the last report that was counted.
    requests
        How many requests its reports had in all.
    version
        The newest version in its last report.
    at
        When that came, in seconds since 1970.
    """

    name: str
    sequence: int
    requests: int
    version: int
    at: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the time in ISO 8601."""
        return asdict(self) | {"at": moment(self.at).isoformat()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "EdgeRow":
        """Inverse of ``to_dict``."""
        known = {name: data[name] for name in cls.__dataclass_fields__}
        return cls(**known | {"at": datetime.fromisoformat(data["at"]).timestamp()})


@dataclass(frozen=True)
class Published:
    """The document that edges cache: what requests follow until the next one.

    Attributes
    ----------
    experiment
        Its key.
    version
        What reports call these weights.
    status
        Of the experiment; when it does not run, nothing explores.
    segments
        Shares of the arms in each segment; without segments, in one of no name.
    explore, certified, alarm
        Share that explores, whether the traffic keeps every limit with the wanted certainty, and what is wrong.
    valid_until
        When to look for the next version at the latest.
    measures
        What is added up of every request, in this order: a metric's value, or 1 where it is beyond a threshold.
    """

    experiment: str
    version: int
    status: Status
    segments: Shares
    explore: float
    certified: bool
    alarm: str
    valid_until: datetime
    measures: Sequence[Mapping[str, Any]]

    @property
    def tag(self) -> str:
        """A text that changes whenever the document does."""
        return f"{self.version}-{self.status.value}"

    def to_dict(self) -> dict[str, Any]:
        """Plain data; the time in ISO 8601."""
        return vars(self) | {"status": self.status.value, "valid_until": self.valid_until.isoformat()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Published":
        """Inverse of ``to_dict``."""
        known = {name: data[name] for name in cls.__dataclass_fields__}
        until = datetime.fromisoformat(data["valid_until"])
        return cls(**known | {"status": Status(data["status"]), "valid_until": until})


@dataclass(frozen=True)
class Weights:
    """What the requests of one segment follow: shares of arms, which version they are, and until when they hold."""

    weights: Mapping[str, float]
    version: int
    valid_until: datetime
    explore: float
    certified: bool
    alarm: str


@dataclass(frozen=True)
class TrafficState:
    """An experiment's traffic at one moment: its versions with the requests of each, its edges, and what it cost."""

    versions: Sequence[Version]
    requests: Sequence[int]  # of each version
    edges: Sequence[EdgeRow]
    means: Mapping[str, float] = field(default_factory=dict)  # of what each limit is about, over all requests
    version_means: Sequence[Mapping[str, float]] = ()  # and over those of each version

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "versions": [v.to_dict() | {"counted": n} for v, n in zip(self.versions, self.requests, strict=True)],
            "edges": [edge.to_dict() for edge in self.edges],
            "means": dict(self.means),
            "version_means": [dict(means) for means in self.version_means],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "TrafficState":
        """Inverse of ``to_dict``."""
        versions = [{name: v[name] for name in v if name != "counted"} for v in data["versions"]]
        counted = [v["counted"] for v in data["versions"]]
        means = data.get("means", {}), data.get("version_means", [{}] * len(versions))  # which old servers do not tell
        return cls([*map(Version.from_dict, versions)], counted, [*map(EdgeRow.from_dict, data["edges"])], *means)


def published(key: str, problem: Problem, status: Status, version: Version) -> Published:
    """The document of a version; when the experiment does not run, it serves the mix for when nothing explores."""
    running = status == Status.running
    return Published(
        key,
        version.number,
        status,
        version.weights if running else version.alone,
        version.explore if running else 0.0,
        version.certified,
        version.alarm,
        moment(version.at + version.seconds),
        measures_of(problem),
    )


def measures_of(problem: Problem) -> list[dict[str, Any]]:
    """What is added up of every request.

    >>> measures_of(Problem(["a"], limits=["p(seconds > 2) <= 5%"]))
    [{'name': 'reward', 'metric': 'reward'},
     {'name': 'p(seconds > 2)', 'metric': 'seconds', 'comparison': '>', 'threshold': 2.0}]
    """
    return [
        {"name": name, "metric": measure.metric}
        | ({"comparison": measure.comparison, "threshold": measure.threshold} if isinstance(measure, Tail) else {})
        for name, measure in zip(problem.measures, problem.rows.measures, strict=True)
    ]
