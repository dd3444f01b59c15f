"""An instance of any problem: segments, limits of every kind and partly known arms, with true means and noise.

Its program has a column for each arm in each segment, in the order of ``kernels/layout.py``; means are in the order of
the problem's names, and of its measures.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, NoReturn

import numpy as np

from bestmix import checks
from bestmix.arrays import Flags, Floats, Integers
from bestmix.kernels import jit, layout, segments, simplex
from bestmix.kernels.layout import Layout
from bestmix.kernels.segment_rejects import solve_left
from bestmix.problems import noise as models
from bestmix.problems.instance import Instance
from bestmix.problems.layouts import layout_of, places
from bestmix.problems.markov import within_states
from bestmix.problems.problem import Problem
from bestmix.problems.quantities import Mean, Tail, Visit
from bestmix.problems.solution import check_settled
from bestmix.problems.true_means import read_means, read_noise, read_shares, written_means

STEPS = 2.5  # of an innermost loop that a solution takes for each column and pair of rows
ROUNDING = 1e-12  # of the largest entry of a limit: an excess that is none
ENTRIES = ("problem", "means", "sigma", "events", "noise", "shares")  # of a file


class Truth(NamedTuple):
    """The best mix when means are known: weights (n,), value, prices (R,), and which columns and slacks it uses."""

    weights: Floats
    value: float
    prices: Floats
    basic: Flags
    feasible: bool


class Judged(NamedTuple):
    """True regret, largest excess over a limit, and loss of mixes (runs,), as ``simulation.cells.Outcomes`` says."""

    regret: Floats
    violation: Floats
    loss: Floats


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SegmentInstance(Instance):
    """A problem of any kind with its true means and its noise; ``Instance.from_problem`` makes it.

    Parameters
    ----------
    problem
        What is asked.
    means
        True mean of each measure of each arm that can be tried: by segment, arm and measure; without segments by arm
        and measure; or an array (arms in segments, measures) in the order of ``problem.cells`` and
        ``problem.measures``. What the problem knows may be left out. The mean of a tail is its probability.
    sigma
        Standard deviations of normal noise: one for all measures, or one for each by name; 1 where nothing is said.
    events
        Names of the metrics that are 0 or 1 in each trial; tails always are.
    noise
        Another noise model instead, of the measures in the order of the problem.
    shares
        True shares of the segments, where the problem does not know them.

    Examples
    --------
    >>> problem = Problem(["small", "large"], {"dollars": 1.0}, segments={"free": 0.7, "paid": 0.3})
    >>> instance = SegmentInstance(problem, {
    ...     "free": {"small": {"reward": 0.6, "dollars": 0.2}, "large": {"reward": 0.7, "dollars": 2.0}},
    ...     "paid": {"small": {"reward": 0.5, "dollars": 0.2}, "large": {"reward": 0.9, "dollars": 2.0}},
    ... }, sigma={"dollars": 0.1}, events=["reward"])
    >>> {cell: round(share, 3) for cell, share in instance.mixture.items()}
    {'small in free': 0.556, 'large in free': 0.144, 'large in paid': 0.3}
    """

    shares: tuple[float, ...]

    def __init__(
        self,
        problem: Problem,
        means: Any,
        *,
        sigma: float | Mapping[str, float] | None = None,
        events: Sequence[str] = (),
        noise: models.Noise | None = None,
        shares: Mapping[str, float] | None = None,
    ) -> None:
        if not isinstance(problem, Problem):
            raise checks.InvalidInput("problem", expected="a Problem", got=checks.shown(problem), remedy="build one")
        table = read_means(problem, means)
        table.flags.writeable = False
        set_ = object.__setattr__
        set_(self, "problem", problem)
        set_(self, "means", table)
        set_(self, "noise", read_noise(problem, sigma, events, noise))
        set_(self, "shares", read_shares(problem, shares))
        set_(self, "arms", problem.names)
        set_(self, "costs", problem.costs)
        set_(self, "known", len(problem.known_cells))
        self.noise.check(self.means)

    def __repr__(self) -> str:
        return f"SegmentInstance({self.problem!r}, means of {len(self.arms)} columns, {self.noise.kind} noise)"

    def _no_arrays(self) -> NoReturn:
        groups = len(self.problem.segments)
        other = "arms with features" if self.problem.features else "limits of other kinds"
        what = f"{groups} {self.problem.group}s" if groups else other
        raise checks.InvalidInput(
            "instance",
            f"this needs one segment, a reward and bounds on mean costs alone, got {what}",
            "use simulate, sweep, plan, explain or solve, which serve every instance",
        )

    @property  # type: ignore[misc]
    def reward(self) -> Floats:
        """Only of an instance with bounds on mean costs alone; here see ``means``."""
        self._no_arrays()

    @property  # type: ignore[misc]
    def cost(self) -> Floats:
        """Only of an instance with bounds on mean costs alone; here see ``means``."""
        self._no_arrays()

    @property  # type: ignore[misc]
    def bound(self) -> Floats:
        """Only of an instance with bounds on mean costs alone; here see ``problem.limits``."""
        self._no_arrays()

    @property
    def plain(self) -> bool:
        """Whether it is an instance of the paper, given by arrays."""
        return False

    @cached_property
    def layout(self) -> Layout:
        """Columns and rows of the program."""
        return layout_of(self.problem)

    @cached_property
    def places(self) -> Integers:
        """For each column of the program its number among ``arms`` (n,)."""
        return places(self.problem)

    @cached_property
    def weight(self) -> Floats:
        """Shares of the segments (S,)."""
        return np.array(self.shares)

    @cached_property
    def columns(self) -> Floats:
        """True means of each column of the program (n, M)."""
        return np.array(self.means[self.places])

    @cached_property
    def known_columns(self) -> Flags:
        """Columns of the program that need no trials (n,)."""
        return layout.known_columns(self.layout)

    @cached_property
    def segment(self) -> Integers:
        """Segment of each column of the program (n,)."""
        return np.repeat(np.arange(len(self.weight)), self.layout.sizes)

    @cached_property
    def entries(self) -> tuple[Floats, Floats]:
        """True objective (n,) and limits (n, R) of the program."""
        mu, rows = np.empty(len(self.columns)), np.empty(self.layout.constant.shape)
        layout.set_entries(self.layout, self.columns, mu, rows)
        return mu, rows

    @cached_property
    def truth(self) -> Truth:
        """The best mix, by columns of the program."""
        return truth_of(self.layout, self.weight, self.columns)

    @property
    def mixture(self) -> dict[str, float]:
        """The best mix: the share of all users of each arm (in each segment) that has any."""
        weights = np.zeros(len(self.arms))
        weights[self.places] = self.truth.weights
        return {name: float(w) for name, w in zip(self.arms, weights, strict=True) if w > simplex.FEASIBLE}

    @cached_property
    def groups(self) -> dict[str | None, float]:
        """Share of all users of each segment, or of all steps of each state in the best mix; without any, of all."""
        if not self.problem.flows:
            return dict(zip(self.problem.segments or [None], self.shares, strict=True))
        found: dict[str | None, float] = dict.fromkeys(self.problem.segments, 0.0)
        for cell, weight in zip(self.problem.cells, self.truth.weights.tolist(), strict=True):
            found[cell.segment] += weight
        return found

    def model(self) -> models.Model | None:
        """The noise as the kernels draw it, by columns of the program; None where they cannot."""
        if not isinstance(self.noise, models.CompiledNoise):
            return None
        kind, factor, table, offset, extra = self.noise.compiled(self.means)
        if len(factor):
            factor = np.ascontiguousarray(factor[self.places])
        if table is not None and len(table):
            parts = [table[offset[a] : offset[a + 1]] for a in self.places]
            table, offset = np.vstack(parts), np.cumsum([0, *map(len, parts)])
        return kind, factor, table, offset, extra

    def as_plain(self) -> Instance | None:
        """The same trials seen through the goal and the limits, where these are on means alone: an instance of arrays.

        None where there are segments, limits on shares and the like, features, or noise that keeps its law only as it
        is.
        """
        rows = self.problem.rows
        if (
            not self.problem.plain
            or self.problem.features
            or not isinstance(self.noise, models.Gaussian | models.Empirical)
        ):
            return None
        if isinstance(self.noise, models.Empirical):
            noise: models.Noise = models.Empirical([table @ rows.transform.T for table in self.noise.tables])
        else:
            noise = models.Gaussian(covariance=rows.scatters(self.covariance))
        means = rows.means(self.means)
        names: dict[str, Any] = {"arms": self.arms, "costs": self.costs, "known": self.known}
        return Instance(means[:, 0], means[:, 1:].T, self.problem.bound, noise=noise, **names)

    def with_noise(self, noise: models.Noise) -> "SegmentInstance":
        """The same problem and means with other noise."""
        return self.with_means(self.means, noise)

    def with_means(self, means: Floats, noise: models.Noise | None = None) -> "SegmentInstance":
        """The same problem with other means (n, M) of ``arms``; what the problem knows stays as it is."""
        tried, known = means[: len(self.problem.cells)], self.problem.partly_known
        shares = dict(zip(self.problem.segments, self.shares, strict=True)) if self._learnt else None
        moved = np.where(np.isnan(known), tried, known)
        return SegmentInstance(self.problem, moved, noise=noise or self.noise, shares=shares)

    def sampler(self, seed: int | None = None) -> Callable[..., Any]:
        """A function for ``identify`` that simulates one trial of an arm, in a segment where there are any."""
        measures = self.problem.rows.measures
        tails = [str(measure) for measure in measures if isinstance(measure, Tail)]
        if tails:
            raise checks.InvalidInput(
                "instance",
                f"it knows the probability {tails[0]!r}, not the metric behind it, so that it cannot play a trial",
                "use simulate, which needs none",
            )
        rng = np.random.default_rng(seed)

        def pull(arm: str, segment: str | None = None) -> dict[str, float]:
            row = self.draw(self.problem.index(arm, segment), 1, rng)[0].tolist()
            told = {m.metric: value for m, value in zip(measures, row, strict=True) if isinstance(m, Mean)}
            visits = [m.state for m, value in zip(measures, row, strict=True) if isinstance(m, Visit) and value]
            return told | ({Visit.metric: visits[0]} if visits else {})

        return pull

    def deployed(self, mix: Floats) -> Floats:
        """Mixes (runs, n) of the program's columns on the true shares of the segments, or of states."""
        if self.problem.flows:
            return self._visited(mix)
        totals = np.zeros((len(mix), len(self.weight)))
        for s in range(len(self.weight)):
            totals[:, s] = mix[:, self.segment == s].sum(axis=1)
        served = np.where(totals > 0, self.weight / np.where(totals > 0, totals, 1.0), 0.0)
        return np.asarray(mix * served[:, self.segment])

    def _visited(self, mix: Floats) -> Floats:
        """Shares of all steps (runs, n) that the policies of these mixes make; even ones in a state that has none."""
        within = within_states(self.problem, mix, np.ones(mix.shape[1], dtype=np.bool_))  # (runs, S, n)
        # What comes in, less what is there: zero in all for every policy.
        flow = -self.entries[1][:, -len(self.problem.flows) :]
        system = np.concatenate([within @ flow, within.sum(axis=2, keepdims=True)], axis=2)  # (runs, S, S)
        last = np.zeros((len(mix), within.shape[1], 1))
        last[:, -1] = 1.0
        shares = np.linalg.solve(np.swapaxes(system, 1, 2), last)  # of states
        return np.asarray((within * shares).sum(axis=1))

    def judge(self, mix: Floats) -> Judged:
        """Regret, violation and loss of mixes (runs, n), each deployed on the true shares of segments."""
        (mu, rows), x = self.entries, self.deployed(mix)
        over = x @ rows - self.layout.right
        over[np.abs(over) <= ROUNDING * np.abs(rows).max(axis=0, initial=0.0)] = 0.0
        broken = np.where(self.layout.equality, over, np.maximum(over, 0.0))
        regret = self.truth.value - x @ mu
        loss = np.maximum(regret + broken @ self.truth.prices, 0.0)  # rounding
        return Judged(regret, np.abs(broken).max(axis=1, initial=0.0), loss)

    def wrong(self, basic: Flags, feasible: Flags) -> Flags:
        """Which answers (runs, n + R) are made of other columns and slacks than the best mix; flows have none."""
        if not self.truth.feasible:
            return np.asarray(feasible)
        return np.asarray((basic != self.truth.basic).any(axis=1) | ~feasible)

    @property
    def _learnt(self) -> bool:
        """Whether an experimenter does not know the shares of the segments."""
        return None in self.problem.segments.values()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a TOML or JSON file."""
        shares = dict(zip(self.problem.segments, self.shares, strict=True)) if self._learnt else None
        data = {"problem": self.problem.to_dict(), "means": written_means(self.problem, self.means)}
        return data | ({"shares": shares} if shares else {}) | {"noise": self.noise.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "SegmentInstance":
        """Inverse of ``to_dict``; sigma and events may stand in the place of noise."""
        if not {"problem", "means"} <= set(data) or set(data) - set(ENTRIES):
            raise checks.InvalidInput(
                "instance",
                expected=f"problem, means and perhaps {', '.join(ENTRIES[2:])}",
                got=sorted(data),
                remedy="see an example",
            )
        problem = Problem.from_dict(checks.mapping("problem", data["problem"], "as a problem's file has it"))
        noise = models.from_dict(data["noise"]) if "noise" in data else None
        rest = {name: data[name] for name in ("sigma", "events", "shares") if name in data}
        return cls(problem, data["means"], noise=noise, **rest)


def truth_of(rows: Layout, weight: Floats, means: Floats) -> Truth:
    """The best mix of columns with these true means (n, M) in segments of these shares (S,)."""
    n, limits = rows.constant.shape
    speed = jit.speed_for(STEPS * n * (1 + limits) ** 2)
    program, _, status = speed(solve_left)(rows, weight, means, np.ones(n + limits, dtype=np.bool_))
    check_settled(status)
    mix, prices, basic = np.empty(n), np.empty(limits), np.zeros(n + limits, dtype=np.bool_)
    segments.weights(program, mix)
    segments.prices(program, prices)
    basic[:n] = mix > simplex.FEASIBLE
    for j, x in zip(program.basis, program.x, strict=True):
        if n <= j < n + limits:
            basic[j] = x > simplex.FEASIBLE
    if status != simplex.OPTIMAL:
        return Truth(mix, np.nan, np.full(limits, np.nan), basic, False)
    return Truth(mix, float(segments.value(program)), prices, basic, True)


def by_arrays(instance: Instance) -> Instance:
    """The instance as one with a reward and bounds on mean costs alone, where goal and limits are only signs of these.

    Any other is returned as it is: it says itself what it does not have.

    >>> problem = Problem(["a", "b"], goal="minimise dollars", limits=["quality >= 0.8"])
    >>> by_arrays(SegmentInstance(problem, [[0.2, 0.7], [2.0, 0.9]])).reward
    array([-0.2, -2. ])
    """
    return (instance.as_plain() or instance) if isinstance(instance, SegmentInstance) else instance
