"""What pages show of live traffic: the newest versions of its weights, and who reports."""

from dataclasses import dataclass
from datetime import UTC, datetime

from bestmix.experiments.model import moment
from bestmix.experiments.traffic_model import TrafficState, Version
from bestmix.pages import formats
from bestmix.problems.limits import Limit
from bestmix.problems.problem import Problem

LAST_VERSIONS = 20  # listed
QUIET = 30.0  # seconds without a report after which an edge is said to be quiet


@dataclass(frozen=True)
class VersionRow:
    """One version: how many requests it had, how much of it explored, and what limits are about on average."""

    number: int
    published: datetime
    requests: int
    explore: float
    certified: str
    means: list[str]


@dataclass(frozen=True)
class Spent:
    """What a limit is about, its mean over all requests so far, the limit, and whether the mean is beyond it."""

    quantity: str
    mean: str
    limit: str
    beyond: bool


@dataclass(frozen=True)
class EdgeLine:
    """Who reports: how many requests so far, the newest version, and when it was last heard of."""

    name: str
    requests: int
    version: int
    heard: str
    quiet: bool


@dataclass(frozen=True)
class TrafficView:
    """Live traffic as it was at one moment.

    Examples
    --------
    >>> from bestmix import Problem, Traffic, open_experiment
    >>> exp = open_experiment("memory://", "live", Problem(["a", "b"]), traffic=Traffic())
    >>> TrafficView(exp.traffic(), exp.problem).alarm
    'nothing is certain before every arm has 10 trials'
    """

    state: TrafficState
    problem: Problem

    @property
    def limits(self) -> list[Spent]:
        """What every limit is about: its mean over all requests, beside what is allowed."""
        costs = zip(self.problem.costs, self.problem.limits, strict=True)
        return [_spent(limit, self.state.means.get(cost)) for cost, limit in costs]

    @property
    def arms(self) -> list[str]:
        """Arms that the newest version serves."""
        return list(dict.fromkeys(arm for table in self.newest.weights.values() for arm in table))

    @property
    def shares(self) -> list[tuple[str, list[str]]]:
        """Shares of these arms in each segment, in the newest version."""
        return [
            (segment, [formats.percent(table[arm]) if table.get(arm) else "–" for arm in self.arms])
            for segment, table in self.newest.weights.items()
        ]

    @property
    def newest(self) -> Version:
        """The version in use."""
        return self.state.versions[-1]

    @property
    def alarm(self) -> str:
        """What is wrong, if anything is."""
        return self.newest.alarm

    @property
    def counted(self) -> int:
        """Requests of the version in use that are in."""
        return self.state.requests[-1]

    @property
    def versions(self) -> list[VersionRow]:
        """The newest ones first."""
        told = zip(self.state.versions, self.state.requests, self.state.version_means, strict=True)
        rows = [_version(version, n, [means.get(cost) for cost in self.problem.costs]) for version, n, means in told]
        return rows[: -LAST_VERSIONS - 1 : -1]

    @property
    def edges(self) -> list[EdgeLine]:
        """Those that were heard of last come first."""
        now = datetime.now(UTC).timestamp()
        return [
            EdgeLine(e.name, e.requests, e.version, f"{formats.duration(max(now - e.at, 0.0))} ago", now - e.at > QUIET)
            for e in sorted(self.state.edges, key=lambda edge: -edge.at)
        ]


def _version(version: Version, requests: int, means: list[float | None]) -> VersionRow:
    certified = "yes" if version.certified else version.alarm or "no"
    shown = [*map(formats.number, means)]
    return VersionRow(version.number, moment(version.at), requests, version.explore, certified, shown)


def _spent(limit: Limit, mean: float | None) -> Spent:
    over = mean is not None and limit.arm is None and limit.sign * mean > limit.sign * limit.bound
    where = "" if limit.segment is None else f" in {limit.segment}"
    return Spent(f"{limit.quantity}{where}", formats.number(mean), str(limit), over)
