"""What pages show of live traffic: the newest versions of its weights, and who reports."""

from dataclasses import dataclass
from datetime import UTC, datetime

from bestmix.experiments.model import moment
from bestmix.experiments.traffic_model import TrafficState, Version
from bestmix.pages import formats

LAST_VERSIONS = 20  # listed
QUIET = 30.0  # seconds without a report after which an edge is said to be quiet


@dataclass(frozen=True)
class VersionRow:
    """One version: how many requests it had, how much of it explored, and what its weights were."""

    number: int
    published: datetime
    requests: int
    explore: float
    certified: str
    weights: str


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
    >>> TrafficView(exp.traffic()).alarm
    'nothing is certain before every arm has 10 trials'
    """

    state: TrafficState

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
        pairs = zip(self.state.versions, self.state.requests, strict=True)
        return [_version(version, n) for version, n in pairs][: -LAST_VERSIONS - 1 : -1]

    @property
    def edges(self) -> list[EdgeLine]:
        """Those that were heard of last come first."""
        now = datetime.now(UTC).timestamp()
        return [
            EdgeLine(e.name, e.requests, e.version, f"{formats.duration(max(now - e.at, 0.0))} ago", now - e.at > QUIET)
            for e in sorted(self.state.edges, key=lambda edge: -edge.at)
        ]


def _version(version: Version, requests: int) -> VersionRow:
    certified = "yes" if version.certified else version.alarm or "no"
    shares = [
        (f"{segment}: " if segment else "")
        + ", ".join(f"{arm} {formats.percent(share)}" for arm, share in table.items())
        for segment, table in version.weights.items()
    ]
    return VersionRow(version.number, moment(version.at), requests, version.explore, certified, "; ".join(shares))
