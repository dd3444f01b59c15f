"""What the pages show, ready to be written down: words and numbers, no HTML but the drawn plane."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from bestmix.answers.history import question
from bestmix.answers.recommendation import Recommendation
from bestmix.answers.wording import measured
from bestmix.experiments import Experiment, State, Trial
from bestmix.pages import charts

MOST_LINES = 8  # curves in one chart
MOST_ROUNDS = 300  # points of a curve
MOST_ROWS = 100  # arms, rejections or workers in a table
RECENT = 50  # trials that the pace is measured on
ODD = 12  # failed and late trials shown


@dataclass(frozen=True)
class Plain:
    """An experiment whose figures are known, and nothing else."""

    key: str
    state: State

    @property
    def share(self) -> float:
        """How much of the budget is spent."""
        return self.state.complete / self.state.budget if self.state.budget else 1.0


@dataclass(frozen=True)
class View(Plain):
    """One experiment at one moment."""

    rec: Recommendation
    mixtures: Sequence[Mapping[str, float] | None]
    recent: Sequence[Trial]
    leased: Sequence[Trial]
    odd: Sequence[Trial]

    @property
    def time_left(self) -> str:
        """At the pace of the last trials."""
        told = [t.told for t in self.recent if t.told is not None]
        if self.state.status != "running" or len(told) < 2:
            return ""
        seconds = (max(told) - min(told)).total_seconds()
        idle = (datetime.now(UTC) - max(told)).total_seconds()
        if seconds <= 0 or idle > 10 * seconds + 60:
            return "nobody has told a result for a while" if idle > 60 else ""
        return f"about {duration((self.state.budget - self.state.complete) * seconds / (len(told) - 1))} left"

    @property
    def costs(self) -> list[dict[str, Any]]:
        """How far each mean cost is from its bound."""
        rows = []
        for cost, bound in self.rec.problem.bounds.items():
            slack = self.rec.slack[cost]
            mean = bound - slack
            used = mean / bound if bound > 0 and math.isfinite(mean) else math.nan
            price = self.rec.shadow_prices.get(cost, 0.0)
            row = {"cost": cost, "mean": number(mean), "bound": number(bound), "left": left(slack), "over": slack < 0}
            rows.append(row | {"used": used, "price": f"{price:.2g}" if price > 0 else ""})
        return rows

    @property
    def arms(self) -> list[dict[str, Any]]:
        """Estimates, the arms of the mix first."""
        order = sorted(self.rec.estimates.values(), key=lambda e: -self.rec.mixture.get(e.arm, 0.0))
        rows = []
        for e in order[:MOST_ROWS]:
            share = self.rec.mixture.get(e.arm)
            cells = [estimate(e.reward, e.reward_interval)]
            cells += [estimate(e.costs[c], e.cost_intervals[c]) for c in self.rec.problem.costs]
            trials = "known" if e.known else f"{e.trials:,}"
            row: dict[str, Any] = {"arm": e.arm, "role": charts.role(self.rec, e.arm), "share": share, "trials": trials}
            rows.append(row | {"cells": cells, "z": self.rec.z_scores.get(e.arm)})
        return rows

    @property
    def more_arms(self) -> int:
        """Arms that the table leaves out."""
        return max(len(self.rec.estimates) - MOST_ROWS, 0)

    @property
    def rejected(self) -> list[dict[str, Any]]:
        """Who was rejected when and why, the last first."""
        rows = []
        for r in reversed(self.rec.history):
            if r.rejected is not None:
                score, margin = r.scores.get(r.rejected), r.margin
                rows.append({"round": r.number, "what": r.rejected, "why": why(score, margin)})
        return rows[:MOST_ROWS]

    @property
    def spent(self) -> list[dict[str, Any]]:
        """What a strategy that gives reasons spent its trials on."""
        spent: Counter[str] = Counter()
        for r in self.rec.history:
            for conditions in r.reasons.values():
                spent.update(conditions)
        total = spent.total()
        found = spent.most_common(MOST_ROWS)
        return [{"what": question(self.rec.problem, what), "trials": f"{n:,}", "share": n / total} for what, n in found]

    @property
    def workers(self) -> list[dict[str, Any]]:
        """Who holds leases or told something lately."""
        held = Counter(t.worker for t in self.leased)
        first = {t.worker: t.deadline for t in sorted(self.leased, key=lambda t: t.deadline, reverse=True)}
        told = Counter(t.worker for t in self.recent)
        names = sorted({*held, *told}, key=lambda name: (-held[name], -told[name], name))
        rows = [{"name": n, "leases": held[n], "until": first.get(n), "told": told[n]} for n in names]
        return rows[:MOST_ROWS]

    @property
    def charts(self) -> dict[str, Any]:
        """Scores and mixture round by round, for the page's script."""
        rounds = thin(range(len(self.rec.history)), MOST_ROUNDS)
        numbers = [self.rec.history[i].number for i in rounds]
        scores = [dict(self.rec.history[i].scores) for i in rounds]
        mixtures = [self.mixtures[i] for i in rounds]
        shares = [{} if m is None else dict(m) for m in mixtures]
        return {
            "rounds": numbers,
            "scores": series(scores, missing=None),
            "mixture": series(shares, missing=0.0) if any(shares) else [],
        }

    def drawing(self, cost: str | None) -> str:
        """The plane for one cost; empty when there is nothing to draw."""
        bounds = self.rec.problem.bounds
        if not bounds or not any(math.isfinite(e.reward) for e in self.rec.estimates.values()):
            return ""
        return charts.draw(self.rec, cost if cost in bounds else next(iter(bounds)))


def look(experiment: Experiment, trials: bool = True) -> View:
    """Read what a page shows; however many trials there are, few are read."""
    picture = experiment.picture()
    rec = experiment.answer(picture)
    recent, leased, odd = list[Trial](), list[Trial](), list[Trial]()
    if trials:
        recent = [t for t in experiment.trials(limit=RECENT, newest_first=True) if t.told is not None]
        leased = experiment.trials("leased", limit=1000)
        for state in ("failed", "expired", "surplus", "withdrawn"):
            odd += experiment.trials(state, limit=ODD, newest_first=True)
        odd = sorted(odd, key=lambda t: -t.token)[:ODD]
    return View(experiment.record.key, picture.state, rec, picture.mixtures, recent, leased, odd)


def series(rounds: list[dict[str, float]], missing: float | None) -> list[dict[str, Any]]:
    """Curves of the columns that matter most at the end: name and values.

    >>> series([{"a": 1.0, "b": 2.0}, {"a": 3.0}], missing=None)
    [{'name': 'a', 'values': [1.0, 3.0]}, {'name': 'b', 'values': [2.0, None]}]
    """
    last: dict[str, tuple[int, float]] = {}
    for place, values in enumerate(rounds):
        last |= {name: (place, value) for name, value in values.items() if value is not None and math.isfinite(value)}
    names = sorted(last, key=lambda name: (-last[name][0], -last[name][1]))[:MOST_LINES]
    return [{"name": name, "values": [_point(values.get(name, missing)) for values in rounds]} for name in names]


def _point(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 6)


def thin(places: Sequence[int], most: int) -> list[int]:
    """At most so many of them, evenly, with the last.

    >>> thin(range(10), 4)
    [0, 3, 6, 9]
    """
    if len(places) <= most:
        return list(places)
    return [places[round(i * (len(places) - 1) / (most - 1))] for i in range(most)]


def why(score: float | None, margin: float | None) -> str:
    """Why a column was rejected, in words.

    >>> why(0.5, 0.25)
    'lowest score, 0.5; the next was 0.25 better'
    """
    if score is None or not math.isfinite(score):
        return "no feasible mix contains it"
    return f"lowest score, {score:.4g}" + ("" if margin is None else f"; the next was {margin:.3g} better")


def duration(seconds: float) -> str:
    """A time that people understand.

    >>> duration(42), duration(600), duration(7300), duration(200_000)
    ('42 s', '10 min', '2 h', '2 days')
    """
    for size, unit in ((86400.0, " days"), (3600.0, " h"), (60.0, " min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.0f} s"


def left(slack: float) -> str:
    """What is left of a bound."""
    if not math.isfinite(slack):
        return "–"
    return "at its bound" if slack == 0 else f"{slack:.3g} below" if slack > 0 else f"{-slack:.3g} too much"


def number(value: float | None) -> str:
    """A number, or a dash."""
    return "–" if value is None or not math.isfinite(value) else f"{value:.4g}"


def estimate(mean: float, interval: tuple[float, float]) -> str:
    """A mean with half of its interval."""
    return measured(mean, (interval[1] - interval[0]) / 2) if math.isfinite(mean) else number(mean)
