"""The answer: verdict, mixture, prices, estimates, how sure it is, and how it came about."""

import html
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from bestmix.answers import certainty
from bestmix.answers.evidence import Evidence
from bestmix.answers.policy import Policy
from bestmix.arrays import Integers
from bestmix.problems.problem import Problem
from bestmix.problems.solution import solve_means

LEVEL = 0.95  # of the intervals
ELASTIC = "infeasibility"  # the condition that no mix is feasible, beside those of the columns


@dataclass(frozen=True)
class Round:
    """What happened in one round of a search.

    ``scores`` are by column; where a score took too long to compute exactly it is left out.
    ``margin`` is by how much the next column did better than the rejected one. Scores of an
    infeasible round are minus infinity. ``reasons`` says, arm by arm, how many of its trials were spent
    on which condition of the answer: the column that could still enter the mix, or leave it.
    """

    number: int
    pulls: Mapping[str, int]
    scores: Mapping[str, float] = field(default_factory=dict)
    rejected: str | None = None
    margin: float | None = None
    reasons: Mapping[str, Mapping[str, int]] = field(default_factory=dict)


def question(condition: str) -> str:
    """What the condition of a column leaves open.

    >>> question("large"), question("slack of dollars")
    ('large belongs to the mix', 'the bound on dollars is worth using up')
    """
    if condition == ELASTIC:
        return "any mix keeps the bounds"
    if condition.startswith("slack of "):
        return f"the bound on {condition.removeprefix('slack of ')} is worth using up"
    return f"{condition} belongs to the mix"


@dataclass(frozen=True)
class Estimate:
    """An arm's estimated means, each with the ends of its 95% interval (low, high)."""

    arm: str
    trials: int
    known: bool
    reward: float
    reward_interval: tuple[float, float]
    costs: Mapping[str, float]
    cost_intervals: Mapping[str, tuple[float, float]]


@dataclass(frozen=True, eq=False)
class Recommendation:
    """The best mix as far as the trials tell.

    Attributes
    ----------
    problem, strategy, budget
        What was asked.
    complete
        Whether the search had finished.
    feasible
        The verdict. When False the mixture is the one with the least violation.
    mixture
        Probability of each arm that has any.
    value
        Estimated mean reward of the mixture.
    slack
        Bound minus estimated mean cost, by cost.
    shadow_prices
        What one more unit of each bound would add to the value, by cost; empty when infeasible.
    basis
        Names of the basis's columns: the arms of the support, and the slacks of bounds that do not bind.
    estimates
        Means with intervals, by arm.
    support_probability
        Estimated chance that the support is right; None when it cannot be said.
    z_scores
        By column: how many standard errors the answer is from changing because of it.
    history
        The rounds.
    """

    problem: Problem
    strategy: str
    budget: int | None
    complete: bool
    feasible: bool
    mixture: Mapping[str, float]
    value: float
    slack: Mapping[str, float]
    shadow_prices: Mapping[str, float]
    basis: tuple[str, ...]
    estimates: Mapping[str, Estimate]
    support_probability: float | None
    z_scores: Mapping[str, float]
    history: tuple[Round, ...] = ()
    note: str = ""

    @property
    def support(self) -> tuple[str, ...]:
        """Arms of the mixture."""
        return tuple(self.mixture)

    @property
    def violation(self) -> dict[str, float]:
        """By how much each failing bound is exceeded."""
        return {cost: -s for cost, s in self.slack.items() if s < 0}

    @cached_property
    def trials(self) -> int:
        """Trials made."""
        return sum(e.trials for e in self.estimates.values())

    def policy(self) -> Policy:
        """The mixture, ready to be deployed."""
        return Policy(self.mixture, self.problem.bounds, self.feasible)

    def sentence(self) -> str:
        """The answer in plain language.

        Examples
        --------
        >>> from bestmix import Problem, Known, Uniform
        >>> both = {"a": Known(1.0, {"dollars": 0.0}), "b": Known(3.0, {"dollars": 2.0})}
        >>> Uniform().start(Problem([], {"dollars": 1.0}, both), budget=0).recommend().sentence()
        'Mix 50% a with 50% b: estimated reward 2, dollars at its bound.'
        """
        if not self.mixture:
            return "No arm has been tried yet, so there is no answer."
        parts = [f"{share:.0%} {arm}" if share < 1 else arm for arm, share in self.mixture.items()]
        verb = "Use" if len(parts) == 1 else "Mix"
        mix, reward = " with ".join(parts), f"estimated reward {measured(self.value, self._half_width())}"
        if self.violation and not self.feasible:
            failing = ", ".join(f"{c} {_short(v)} above its bound" for c, v in self.violation.items())
            return f"No mix keeps all bounds. The closest is {mix}: {failing}, {reward}."
        if not self.feasible:
            kept = "The arms that the search kept have no mix within the bounds; all arms together have one"
            return f"{kept}: {verb.lower()} {mix}: {reward}."
        mixed = f"{verb} {mix}: {reward}"
        for cost, slack in self.slack.items():
            mixed += f", {cost} at its bound" if slack == 0 else f", {cost} {_short(slack)} below its bound"
        if self.support_probability is not None:
            mixed += f"; chance that this support is right {chance_text(self.support_probability)}"
        return mixed + "."

    def _half_width(self) -> float:
        """Of the interval of the mix's reward."""
        widths = [self.estimates[a].reward_interval for a in self.mixture]
        return math.sqrt(sum((p * (w[1] - w[0]) / 2) ** 2 for p, w in zip(self.mixture.values(), widths, strict=True)))

    def rows(self) -> list[list[str]]:
        """The table of arms, as text, that the terminal and the notebook show; a header first."""
        header = ["arm", "share", "trials", "reward", *self.problem.costs]
        rows = []
        for e in sorted(self.estimates.values(), key=lambda e: -self.mixture.get(e.arm, 0.0)):
            share = f"{self.mixture[e.arm]:.1%}" if e.arm in self.mixture else "-"
            trials = "known" if e.known else str(e.trials)
            costs = [_estimate(e.costs[c], e.cost_intervals[c]) for c in self.problem.costs]
            rows.append([e.arm, share, trials, _estimate(e.reward, e.reward_interval), *costs])
        foot = ["the mix", "", str(self.trials), measured(self.value, self._half_width())]
        foot += [f"{self.problem.bounds[c] - s:.4g} of {self.problem.bounds[c]:.4g}" for c, s in self.slack.items()]
        return [header, *rows, foot]

    def __str__(self) -> str:
        rows = self.rows()
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)).rstrip() for row in rows]
        rule = "-" * max(map(len, lines))
        prices = ", ".join(f"{c} {_short(p)}" for c, p in self.shadow_prices.items() if p > 0)
        extra = [f"One more unit of a bound would add to the reward: {prices}."] if prices else []
        extra += [self.note] if self.note else []
        if not self.complete:
            extra.append("The search is not finished.")
        return "\n".join([self.sentence(), "", lines[0], rule, *lines[1:-1], rule, lines[-1], *extra])

    def _repr_html_(self) -> str:
        rows = [[html.escape(cell) for cell in row] for row in self.rows()]
        head = "".join(f"<th>{cell}</th>" for cell in rows[0])
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows[1:])
        return (
            f"<p>{html.escape(self.sentence())}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, without NaN or infinities: what cannot be said is None."""
        data = {
            "problem": self.problem.to_dict(),
            "strategy": self.strategy,
            "budget": self.budget,
            "trials": self.trials,
            "complete": self.complete,
            "feasible": self.feasible,
            "support": list(self.support),
            "mixture": dict(self.mixture),
            "value": self.value,
            "slack": dict(self.slack),
            "violation": self.violation,
            "shadow_prices": dict(self.shadow_prices),
            "basis": list(self.basis),
            "support_probability": self.support_probability,
            "z_scores": dict(self.z_scores),
            "estimates": [asdict(e) for e in self.estimates.values()],
            "history": [asdict(r) for r in self.history],
            "note": self.note,
            "sentence": self.sentence(),
        }
        plain: dict[str, Any] = finite(data)
        return plain

    def to_json(self) -> str:
        """``to_dict`` as JSON text."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)


def recommend(
    evidence: Evidence,
    columns: Integers | None,
    *,
    strategy: str,
    budget: int | None = None,
    complete: bool = True,
    history: Sequence[Round] = (),
) -> Recommendation:
    """Recommendation from what is known; ``columns`` None is a verdict of infeasible."""
    problem = evidence.problem
    usable = evidence.tried if columns is None else np.intersect1d(columns, evidence.tried)
    estimates = {e.arm: e for e in _estimates(evidence)}
    common = {"problem": problem, "strategy": strategy, "budget": budget, "complete": complete}
    if not (usable < len(problem.names)).any():
        return _untried(columns, estimates, common)
    solution = solve_means(evidence.means, problem.bound, usable)
    feasible, note = columns is not None and solution.feasible, ""
    if not feasible:
        solution = solve_means(evidence.means, problem.bound, evidence.tried)
        if solution.feasible:
            note = "The arms left by the search have no feasible mix, although all arms together have one."
    z = certainty.z_scores(evidence, solution) if feasible else None
    return Recommendation(
        feasible=feasible,
        mixture={n: float(p) for n, p in zip(problem.names, solution.mixture, strict=True) if p > 0},
        value=solution.value,
        slack=dict(zip(problem.costs, map(float, solution.slack), strict=True)),
        shadow_prices=dict(zip(problem.costs, map(float, solution.dual), strict=True)) if feasible else {},
        basis=tuple(problem.columns[j] for j in solution.basis),
        estimates=estimates,
        support_probability=certainty.support_probability(z),
        z_scores={} if z is None else dict(zip(problem.columns, map(float, z), strict=True)),
        history=tuple(history),
        note=note,
        **common,  # type: ignore[arg-type]
    )


def _untried(columns: Integers | None, estimates: dict[str, Estimate], common: dict[str, Any]) -> Recommendation:
    """Before any trial there is no answer, unless only one arm is left to choose and there is no bound to keep."""
    problem: Problem = common["problem"]
    left = [] if columns is None else [problem.names[j] for j in columns if j < len(problem.names)]
    mixture = {left[0]: 1.0} if common["complete"] and len(left) == 1 and not problem.bounds else {}
    return Recommendation(
        feasible=bool(mixture),
        mixture=mixture,
        value=math.nan,
        slack=dict.fromkeys(problem.costs, math.nan),
        shadow_prices={},
        basis=tuple(mixture),
        estimates=estimates,
        support_probability=None,
        z_scores={},
        note="No trials were made.",
        **common,
    )


def _estimates(evidence: Evidence) -> list[Estimate]:
    from scipy.special import stdtrit

    problem, result = evidence.problem, []
    for a, name in enumerate(problem.names):
        known = a >= len(evidence.moments)
        mean = evidence.means[a]
        half = np.zeros_like(mean)
        if not known:
            m = evidence.moments[a]
            t = stdtrit(m.count - 1, 0.5 + LEVEL / 2) if m.count > 1 else math.inf
            half = t * np.sqrt(np.diag(m.covariance()) / m.count) if m.count > 1 else np.full_like(mean, math.inf)
        ends = [(float(x - h), float(x + h)) for x, h in zip(mean, half, strict=True)]
        result.append(
            Estimate(
                name,
                0 if known else evidence.moments[a].count,
                known,
                float(mean[0]),
                ends[0],
                dict(zip(problem.costs, map(float, mean[1:]), strict=True)),
                dict(zip(problem.costs, ends[1:], strict=True)),
            )
        )
    return result


def finite(data: Any) -> Any:
    """Nested plain data with every NaN and infinity replaced by None."""
    if isinstance(data, Mapping):
        return {key: finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data


def chance_text(chance: float) -> str:
    """A chance in per cent, never rounded up to certainty.

    >>> chance_text(0.94), chance_text(0.9999)
    ('94%', 'above 99%')
    """
    return f"{chance:.0%}" if chance < 0.995 else "above 99%"


def measured(mean: float, half: float) -> str:
    """A mean with half of its interval, both to the second digit of the latter.

    >>> measured(0.74826, 0.0124), measured(1234.5, 187.0), measured(-0.0004, 0.0996), measured(2.0, 0.0)
    ('0.748 ± 0.012', '1230 ± 190', '0.00 ± 0.10', '2')
    """
    if not (0 < half < math.inf and math.isfinite(mean)):
        return f"{mean:.4g}"
    half = float(f"{half:.1e}")
    places = 1 - math.floor(math.log10(half))
    mean = round(mean, places) + 0.0  # no minus before a zero
    if not -6 < places < 8:
        digits = max(4, 2 + math.ceil(math.log10(abs(mean)) - math.log10(half))) if mean else 4
        return f"{mean:.{min(digits, 15)}g} ± {half:.2g}"
    return f"{mean:.{max(places, 0)}f} ± {half:.{max(places, 0)}f}"


def _short(value: float) -> str:
    return f"{value:.3g}"


def _estimate(mean: float, interval: tuple[float, float]) -> str:
    if math.isnan(mean):
        return "not tried"
    return measured(mean, (interval[1] - interval[0]) / 2)
