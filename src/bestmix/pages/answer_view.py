"""What the pages show of a recommendation: words and numbers, no HTML."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from bestmix import checks
from bestmix.answers.history import ROLES, question, role, spent_on, spread_evenly
from bestmix.answers.number_text import chance_text, level_text, sure
from bestmix.answers.planes import planes
from bestmix.answers.prices import at_estimates, is_other, limit_price
from bestmix.answers.recommendation import Recommendation, Round
from bestmix.answers.table_text import kept_text, shown_intervals
from bestmix.answers.tradeoff import POINTS, tradeoff
from bestmix.answers.tradeoff_sources import movable
from bestmix.answers.wording import certainly, guess_text, items_text, met_at_estimates
from bestmix.pages import charts, formats
from bestmix.pages.curves import Curves, LinesChart, curve_charts, make_curves
from bestmix.pages.tradeoffs import TradeOffChart, tradeoff_chart
from bestmix.problems.goals import Goal
from bestmix.problems.limits import Limit
from bestmix.problems.markov import MarkovProblem
from bestmix.problems.rows import is_bound

MOST_DOUBTS = 5  # conditions nearest to failing
MOST_ROWS = 100  # of any other table
MOST_LIMITS = 4  # whose trade-off is drawn
MOST_SAFE_ARMS = 24  # beyond, the safe mix at many bounds would keep a page waiting
MOST_SAFE_COLUMNS = 16  # the same with segments, or with limits of other kinds
PROGRAM_POINTS = 7  # bounds at which a report shows it then
SAFETY = 0.95  # of an answer, and of trade-offs of one that wants none
RELATIONS = {"<=": "≤", ">=": "≥", "=": "="}


class Verdict(NamedTuple):
    """The answer in three words, and whether they are good news."""

    tone: str
    text: str


class Bound(NamedTuple):
    """How far a mean cost is from its bound, and the chance that it is within."""

    cost: str
    mean: str
    bound: str
    room: str
    exceeded: bool
    price: str  # what a looser bound would add, in words
    chance: str  # that it is kept


class SegmentRow(NamedTuple):
    """A segment: its share of all users, and the shares of the arms within it."""

    name: str
    users: float
    shares: list[float]


class Doubt(NamedTuple):
    """Something that would change the answer: how far away it is, and how likely."""

    text: str
    distance: str
    chance: str


class Arm(NamedTuple):
    """An arm with its estimates: reward first, then the costs."""

    name: str
    role: str
    share: float | None
    trials: str
    estimates: list[str]
    z: float | None


class Spent(NamedTuple):
    """A question that trials were spent on."""

    question: str
    trials: int
    share: float


class WhatIf(NamedTuple):
    """What another limit on a cost would earn."""

    sentences: list[str]
    safety: str
    chart: TradeOffChart


class Rejection(NamedTuple):
    """A column that a round rejected."""

    round: int
    trials: int
    column: str
    score: str
    margin: str


@dataclass(frozen=True)
class Answer:
    """A recommendation, with the mixture after each of its rounds where they are known."""

    rec: Recommendation
    mixtures: Sequence[Mapping[str, float] | None] = ()
    changes: Sequence[int] = ()  # rounds in which the problem was changed
    safe_points: int = POINTS  # bounds at which the safe mix is shown

    @property
    def goal(self) -> str:
        """What is to be as large, or as small, as possible."""
        return self.rec.problem.measures[0]

    @property
    def planes(self) -> dict[str, str]:
        """Limits that have a drawing, with how these are called."""
        return planes(self.rec.problem)

    @property
    def charted(self) -> dict[str, str]:
        """Limits that have a column, with how these are called."""
        return self.rec.problem.charted

    @property
    def limits_name(self) -> str:
        """Upper bounds on mean costs are called bounds."""
        return "bounds" if all(map(is_bound, self.rec.problem.limits)) else "limits"

    @property
    def verdict(self) -> Verdict:
        """Whether the mix keeps the bounds: said with its chance, and as good news only where it was certified."""
        rec = self.rec
        if not rec.mixture:
            return Verdict("muted", "no answer yet")
        if not rec.feasible:
            return Verdict("bad", f"no mix keeps all {self.limits_name}")
        if not rec.problem.bounds:
            return Verdict("good", "no bounds to keep")
        if rec.certainty is None:
            return Verdict("muted", f"how likely the {self.limits_name} are kept cannot be said")
        if rec.certified:
            level = met_at_estimates(rec)
            if len(level) == len(rec.limits):
                return Verdict("muted", "equalities are met at the estimates")
            return Verdict("good", f"keeps all {'other ' if level else ''}{self.limits_name} {certainly(rec)}")
        return Verdict("bad", f"{self.limits_name} not certain: kept with a chance of {chance_text(rec.certainty)}")

    @property
    def best_guess(self) -> str:
        """The optimum at the estimates, where another mix is to be deployed."""
        return guess_text(self.rec)

    @property
    def judged(self) -> str:
        """Which answer the z-scores, the conditions and the chance of the support are about."""
        return "the optimum at the estimates" if is_other(self.rec) else "the answer"

    @property
    def used_arms(self) -> list[str]:
        """Arms that some segment uses, the largest share of all users first."""
        return self.rec.used_arms

    @property
    def segments(self) -> list[SegmentRow]:
        """The mix of each segment; none without segments."""
        arms, users = self.used_arms, self.rec.segment_shares
        parts = self.rec.by_segment.items() if self.rec.mixture else ()
        return [SegmentRow(name, users[name], [part.get(arm, 0.0) for arm in arms]) for name, part in parts]

    @property
    def bounds(self) -> list[Bound]:
        """Every bound with the mean cost of the mix; none before there is a mix."""
        return [self._bound(cost) for cost in self.rec.problem.bounds] if self.rec.mixture else []

    def _bound(self, cost: str) -> Bound:
        rec, limit = self.rec, self.rec.limits.get(cost)
        bound, room, mean = rec.bound(cost), rec.room(cost), rec.mean_cost(cost)
        text = formats.number(mean) if limit is None else formats.estimate(limit.mean, limit.interval)
        chance = "–" if limit is None or not math.isfinite(limit.chance) else kept_text(limit)
        asked = rec.problem.limits[rec.problem.costs.index(cost)]
        side = f"{RELATIONS[asked.relation]} {formats.number(bound)}"
        words = formats.room(room, asked.relation)
        return Bound(_limited(asked, cost), text, side, words, rec.slack[cost] < 0, _price(rec, cost), chance)

    @property
    def doubts(self) -> list[Doubt]:
        """The conditions nearest to failing: what could overturn the answer."""
        known = {column: z for column, z in self.rec.z_scores.items() if math.isfinite(z)}
        nearest = sorted(known, key=lambda column: known[column])[:MOST_DOUBTS]
        return [Doubt(_doubt(self.rec, c), formats.z_score(known[c]), formats.tail(known[c])) for c in nearest]

    @property
    def arms(self) -> list[Arm]:
        """Every arm, those of the mix first."""
        order = sorted(self.rec.estimates.values(), key=lambda e: -self.rec.mixture.get(e.arm, 0.0))
        return [self._arm(e.arm) for e in order]

    def _arm(self, arm: str) -> Arm:
        e = self.rec.estimates[arm]
        trials = "known" if e.known else formats.count(e.trials)
        means = [e.reward, *(e.costs[c] for c in self.rec.problem.charted)]
        estimates = [formats.estimate(*both) for both in zip(means, shown_intervals(self.rec, e), strict=True)]
        return Arm(arm, role(self.rec, arm), self.rec.mixture.get(arm), trials, estimates, self.rec.z_scores.get(arm))

    @property
    def roles(self) -> list[str]:
        """Those that some arm has."""
        found = {role(self.rec, arm) for arm in self.rec.estimates}
        return [name for name in ROLES if name in found]

    @property
    def spent(self) -> list[Spent]:
        """What a strategy that gives reasons spent its trials on."""
        found, problem = spent_on(self.rec.history), self.rec.problem
        total = sum(found.values())
        return [Spent(question(problem, what), n, n / total) for what, n in list(found.items())[:MOST_ROWS]]

    @property
    def unmade_trials(self) -> int:
        """Trials that rounds had planned and that were not made: under way, or taken back by a change."""
        planned: Counter[str] = Counter()
        for finished in self.rec.history:
            planned.update(finished.pulls)
        missing = sum(max(planned[arm] - e.trials, 0) for arm, e in self.rec.estimates.items())
        return max(missing - (self.rec.log_results - self.rec.log_counted), 0)

    @property
    def scored(self) -> bool:
        """Whether rounds have scores; those of live traffic have none."""
        return any(finished.scores for finished in self.rec.history)

    @property
    def rejections(self) -> list[Rejection]:
        """What was rejected in which round."""
        return [_rejection(r, r.rejected) for r in self.rec.history if r.rejected is not None]

    @property
    def spread_trials(self) -> int:
        """Trials that answered no question: those of the first round, and the first ones of an arm that came later."""
        return max(spread_evenly(self.rec.history) - self.rec.log_results, 0)

    @property
    def log(self) -> str:
        """The log that the run began with, in words; nothing where there is none."""
        results, counted = self.rec.log_results, self.rec.log_counted
        if not results:
            return ""
        said = f"{results:,} {'result' if results == 1 else 'results'}"
        return (
            said
            if counted == results
            else f"{said}, which count as {counted:,} {'trial' if counted == 1 else 'trials'}"
        )

    @property
    def problem(self) -> dict[str, str]:
        """What was asked, by name."""
        problem = self.rec.problem
        bounds = ", ".join(_limit(limit) for limit in problem.limits)
        facts = {
            "arms tried": ", ".join(problem.arms) or "none",
            "states": f"{', '.join(problem.segments)}, with the discount {problem.discount:g}"
            if isinstance(problem, MarkovProblem)
            else "",
            "known arms": ", ".join(problem.known),
            "goal": str(problem.goal),
            "bounds on mean costs" if all(map(is_bound, problem.limits)) else "limits": bounds or "none",
            "strategy": self.rec.strategy,
            "budget": self._budget,
            "money": "" if self.rec.account is None else self.rec.account.sentence(),
            "items": items_text(self.rec),
            "log": self.log,
        }
        return {name: fact for name, fact in facts.items() if fact}

    @property
    def _budget(self) -> str:
        if self.rec.account is not None:
            return str(self.rec.account.spend)
        return "none set" if self.rec.budget is None else f"{self.rec.budget:,} trials"

    @cached_property
    def whatifs(self) -> list[WhatIf]:
        """What other limits would earn, the costs one after the other; computed once."""
        quick = self.rec.problem.plain or len(self.rec.estimates) <= MOST_SAFE_ARMS
        costs = movable(self.rec.problem)[:MOST_LIMITS] if self.rec.mixture and quick else ()
        return [row for row in map(self._whatif, costs) if row is not None]

    @property
    def _points(self) -> int:
        """Bounds at which the safe mix is shown; none where it would keep a page waiting."""
        arms, live = len(self.rec.estimates), self.safe_points < POINTS
        if self.rec.problem.plain:
            return self.safe_points if arms <= MOST_SAFE_ARMS else 0
        return PROGRAM_POINTS if arms <= MOST_SAFE_COLUMNS and not live else 0

    def _whatif(self, cost: str) -> WhatIf | None:
        """None where there is nothing to draw, the answer does not tell enough, or the numbers are beyond floats."""
        wanted, points = SAFETY if self.rec.safety is None else self.rec.safety, self._points
        try:
            found = tradeoff(self.rec, cost, safety=wanted if points else None, points=points or POINTS)
        except (ArithmeticError, checks.InvalidInput):
            return None
        drawable = found.pieces and math.isfinite(found.most - found.least)
        return WhatIf(found.sentences(), level_text(wanted), tradeoff_chart(found)) if drawable else None

    @property
    def rounds(self) -> list[tuple[int, Mapping[str, float]]]:
        """Rounds whose mixture is known, with it."""
        pairs = zip(self.rec.history, self.mixtures, strict=False)
        return [(r.number, mixture) for r, mixture in pairs if mixture]

    @property
    def curves(self) -> Curves:
        """Scores and mixture round by round."""
        return make_curves(self.rec.history, self.mixtures, self.changes)

    @property
    def curve_charts(self) -> list[LinesChart]:
        """The curves as drawings, for pages without a script."""
        scores = "standard errors from another answer" if self.spent else "score"
        return curve_charts(self.curves, scores)

    @property
    def drawable(self) -> bool:
        """Whether any arm has a place in a chart."""
        return any(math.isfinite(e.reward) for e in self.rec.estimates.values())

    def arms_chart(self, cost: str) -> charts.ArmsChart:
        """The arms by one cost and the reward."""
        return charts.arms_chart(self.rec, cost)

    def rewards_chart(self) -> charts.RewardsChart:
        """The arms by their reward, for problems without costs."""
        return charts.rewards_chart(self.rec)


def _rejection(finished: Round, column: str) -> Rejection:
    score, margin = formats.score(finished.scores.get(column)), formats.score(finished.margin)
    return Rejection(finished.number, sum(finished.pulls.values()), column, score, margin)


def _price(rec: Recommendation, cost: str) -> str:
    """What a shadow price means, in words."""
    price = rec.shadow_prices.get(cost, math.nan)
    if price <= 0:
        goal, limit = rec.problem.goal, rec.problem.limits[rec.problem.costs.index(cost)]
        what = "the reward" if goal == Goal() else rec.problem.measures[0]
        name = f"The limit on {cost}" if is_bound(limit) else f"“{cost}”"
        if rec.safety is not None and not sure(rec.limits[cost].chance):  # the margin may cost what the limit does not
            return f"{name} does not limit {what} at the estimates; keeping it with certainty may."
        return f"{name} does not limit {what}; a looser one would {'add' if goal.maximise else 'save'} nothing."
    words = limit_price(rec, cost)
    return at_estimates(rec, f"{words}.") if words else ""


def _limit(limit: Limit) -> str:
    """A limit as the list of what was asked shows it."""
    if not is_bound(limit):
        return str(limit)
    return f"{limit.metric} ≤ {formats.number(limit.bound)}"


def _limited(limit: Limit, cost: str) -> str:
    """What a limit is about, as the table of bounds calls it."""
    return cost if is_bound(limit) else limit.about


def _doubt(rec: Recommendation, column: str) -> str:
    inside = column in rec.basis
    cost = rec.problem.slack_cost(column)
    if cost is None:
        return f"{column} has no place in the best mix" if inside else f"{column} belongs in the best mix"
    if not is_bound(rec.problem.limits[rec.problem.costs.index(cost)]):
        return f"the best mix {'only just keeps' if inside else 'keeps with room to spare'} “{cost}”"
    return f"the best mix reaches its bound on {cost}" if inside else f"the best mix stays below its bound on {cost}"
