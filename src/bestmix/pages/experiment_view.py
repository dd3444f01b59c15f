"""What the pages show of an experiment: its answer, how far it is, its workers and what did not count; no HTML."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from bestmix.experiments import State, Trial
from bestmix.pages import formats
from bestmix.pages.answer_view import MOST_ROWS, SAFETY, Answer
from bestmix.pages.traffic import LAST_VERSIONS, TrafficView

if TYPE_CHECKING:
    from bestmix.client import RemoteExperiment
    from bestmix.experiments import Experiment

SAFE_POINTS = 6  # bounds at which a page that is made anew all the time shows the safe mix
RECENT_TRIALS = 50  # that the pace is measured on
LEASED_TRIALS = 1000  # that workers are counted in
UNCOUNTED_TRIALS = 12  # shown of those that did not count
LONGEST_WHY, BEGINNING = 200, 60  # characters of a worker's reason, and of its beginning
UNCOUNTED = {
    "failed": "reported as failed",
    "expired": "lease ran out",
    "surplus": "left out: its place was filled",
    "withdrawn": "no longer wanted",
}


class Worker(NamedTuple):
    """Somebody who holds leases, or gave results lately."""

    name: str
    leases: int
    results: int
    until: datetime | None


class Uncounted(NamedTuple):
    """A trial that did not count, and why."""

    trial: int
    arm: str
    what: str
    worker: str
    why: str


def _both_ends(why: str) -> str:
    """A reason without its middle, where it is long: the last line of a traceback says what went wrong.

    >>> len(_both_ends("x" * 1000)), _both_ends("no luck")
    (201, 'no luck')
    """
    return why if len(why) <= LONGEST_WHY else f"{why[:BEGINNING]}…{why[BEGINNING - LONGEST_WHY :]}"


@dataclass(frozen=True)
class Summary:
    """An experiment whose figures are known, and nothing else."""

    key: str
    state: State

    @property
    def share(self) -> float:
        """How much of the budget is spent."""
        return self.state.complete / self.state.budget if self.state.budget else 1.0

    @property
    def budgeted(self) -> bool:
        """Whether there is a budget of which a share is spent."""
        return bool(self.money) or not self.state.unlimited

    @property
    def unit(self) -> str:
        """What is counted."""
        return "trials"

    @property
    def money(self) -> str:
        """What is spent and left, where the budget is one of money and that is known."""
        return ""

    @property
    def progress(self) -> str:
        """Trials that count, of how many, or for how much money; or requests of live traffic."""
        most = "" if self.state.unlimited else f" of {formats.count(self.state.budget)}"
        trials = f"{formats.count(self.state.complete)}{most} {self.unit}"
        return f"{trials}, {self.money}" if self.money else trials


@dataclass(frozen=True)
class View(Summary):
    """One experiment at one moment."""

    answer: Answer
    recent: Sequence[Trial] = ()
    leased: Sequence[Trial] = ()
    uncounted: Sequence[Trial] = ()
    traffic: TrafficView | None = None
    items: Mapping[str, Any] | None = None  # that trials are made on: how many, and whether arms share their order
    live: bool = False  # whether it is on live traffic

    @property
    def unit(self) -> str:
        """What is counted: every request of live traffic is a trial, and called a request."""
        return "requests" if self.live else super().unit

    @property
    def share(self) -> float:
        """How much of the budget is spent, of trials or of money."""
        account = self.answer.rec.account
        return super().share if account is None else min(account.spent / account.spend.amount, 1.0)

    @property
    def money(self) -> str:
        """What is spent and left, where the budget is one of money."""
        return "" if self.answer.rec.account is None else str(self.answer.rec.account)

    @property
    def time_left(self) -> str:
        """At the pace of the last trials."""
        times = [t.told for t in self.recent if t.told is not None]
        if self.state.status != "running" or len(times) < 2 or self.state.unlimited:
            return ""
        seconds = (max(times) - min(times)).total_seconds()
        idle = (datetime.now(UTC) - max(times)).total_seconds()
        if seconds <= 0 or idle > 10 * seconds + 60:
            return "no result has come for a while" if idle > 60 else ""
        return f"about {formats.duration((self.state.budget - self.state.complete) * seconds / (len(times) - 1))} left"

    @property
    def items_used(self) -> str:
        """On how many items arms were tried, and whether they meet on them; no text where there are none."""
        if self.items is None:
            return ""
        used, number = formats.count(self.answer.rec.items or 0), formats.count(self.items["number"])
        order = "shared by all arms" if self.items["shared"] else "each arm in an order of its own"
        return f"{used} of {number} items used, {order}"

    @property
    def workers(self) -> list[Worker]:
        """Who holds leases or gave results lately."""
        leases = Counter(t.worker for t in self.leased)
        until = {t.worker: t.deadline for t in sorted(self.leased, key=lambda t: t.deadline, reverse=True)}
        results = Counter(t.worker for t in self.recent if t.reward is not None)
        names = sorted({*leases, *results}, key=lambda name: (-leases[name], -results[name], name))
        return [Worker(name, leases[name], results[name], until.get(name)) for name in names[:MOST_ROWS]]

    @property
    def uncounted_rows(self) -> list[Uncounted]:
        """Trials that failed or came too late."""
        return [
            Uncounted(t.token, t.arm, UNCOUNTED[t.state.value], t.worker, _both_ends(t.note)) for t in self.uncounted
        ]


def read(
    experiment: "Experiment | RemoteExperiment",
    recent: int = RECENT_TRIALS,
    uncounted: int = UNCOUNTED_TRIALS,
    safety: float | None = SAFETY,
) -> View:
    """Read what a page shows: one snapshot, and the last trials; however many there are, few are read.

    Parameters
    ----------
    experiment
        One that is open, here or through a server.
    recent, uncounted
        How many of the last trials, and of the last that did not count.
    safety
        The wanted certainty of the answer.
    """
    view = read_answer(experiment, safety)
    if view.live:
        return replace(view, traffic=TrafficView(experiment.traffic(last=LAST_VERSIONS), experiment.problem))
    found = [t for state in UNCOUNTED for t in experiment.trials(state, limit=uncounted, newest_first=True)]
    newest = sorted(found, key=lambda t: -t.token)[:uncounted]
    last = experiment.trials(limit=recent, newest_first=True)
    return replace(view, recent=last, leased=experiment.trials("leased", limit=LEASED_TRIALS), uncounted=newest)


def read_answer(experiment: "Experiment | RemoteExperiment", safety: float | None = SAFETY) -> View:
    """Read the snapshot without any trials."""
    now = experiment.snapshot(safety)
    changes = [change["round"] for change in now.state.changes]
    answer = Answer(now.recommendation, now.mixtures, changes, SAFE_POINTS)
    live = experiment.record.strategy.get("kind") == "Traffic"
    return View(experiment.record.key, now.state, answer, items=experiment.record.items, live=live)
