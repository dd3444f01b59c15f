"""What a user knows before the first trial: the arms, the goal, the limits, the segments, and known means.

Inside, arms are columns 0..K-1, the unknown arms first (0..K0-1) and the known ones after them; the
slack of limit l is column K + l. With segments there is a column for each arm in each segment.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from bestmix import checks, files
from bestmix.arrays import Floats
from bestmix.problems import trial_values
from bestmix.problems.features import Features, design, read_features
from bestmix.problems.goals import Goal
from bestmix.problems.known import Known, check_known
from bestmix.problems.limits import Limit
from bestmix.problems.notation import written_name
from bestmix.problems.quantities import Mean
from bestmix.problems.rows import Rows, is_bound, parse_limits, read_limits

ENTRIES = ("arms", "bounds", "known", "goal", "limits", "segments", "tracked", "features")  # of a file
EXAMPLE = 'write, for example, {"arms": ["small", "large"], "bounds": {"dollars": 5}}'
SHARES_ADD_UP = 1e-6  # shares of segments may miss a total of 1 by so much


class Cell(NamedTuple):
    """What a trial is of: an arm, and with segments, in one of them."""

    arm: str
    segment: str | None = None

    def __str__(self) -> str:
        return self.arm if self.segment is None else f"{written_name(self.arm)} in {written_name(self.segment)}"


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Problem:
    """The best mix of these arms is wanted, with every limit kept.

    Parameters
    ----------
    arms
        Names of the arms that can be tried.
    bounds
        The largest acceptable mean of each cost: short for limits such as ``"dollars <= 5"``.
    known
        Means that are known already. An arm that is not among ``arms`` is known as a whole: it takes part in the mix
        and is never tried. Of one that is, some means may be known, such as its price.
    goal
        What to maximise or minimise, such as ``"minimise dollars"``.
    limits
        What the mix must keep, as texts or as ``Limit``: ``"quality >= 0.9"``, ``"share(large) <= 40%"``,
        ``"p(seconds > 2) <= 5%"``, ``"complaints / visits <= 1%"``, ``"seconds <= 1.1 * seconds(small)"``, each also
        of one segment, as in ``"dollars <= 2 in free"``.
    segments
        Groups of users that may have mixes of their own, with their shares of all users; or their names alone, where
        the shares are learnt from who arrives.
    tracked
        Further metrics that every trial tells, which neither the goal nor a limit is about, such as what it costs.
    features
        What the arms that can be tried are made of, where the means of all metrics are linear in it: by arm a mapping
        of names to numbers or texts, beside which a constant counts, or the rows of a table (arms, features) as it is.
        Estimates of all arms then come from one fit of all trials.

    Examples
    --------
    >>> problem = Problem(arms=["small", "large"], bounds={"dollars": 5.0},
    ...                   known={"off": Known(reward=0.0, costs={"dollars": 0.0})})
    >>> problem.names
    ('small', 'large', 'off')
    >>> cheap = Problem(["small", "large"], goal="minimise dollars", limits=["quality >= 0.9"])
    >>> cheap.metrics, cheap.bounds
    (('dollars', 'quality'), {'quality >= 0.9': 0.9})
    """

    arms: tuple[str, ...]
    bounds: dict[str, float]
    known: dict[str, Known]
    rows: Rows
    segments: dict[str, float | None]
    features: dict[str, Features]

    def __init__(
        self,
        arms: Iterable[str],
        bounds: Mapping[str, float] | None = None,
        known: Mapping[str, Known] | None = None,
        *,
        goal: str | Goal = "maximise reward",
        limits: Sequence[str | Limit] = (),
        segments: Mapping[str, float] | Iterable[str] | None = None,
        tracked: Sequence[str] = (),
        features: Any = None,
    ) -> None:
        bounds = checks.mapping("bounds", bounds or {}, "of cost names to bounds")
        known = checks.mapping("known", known or {}, "of arm names to Known(reward, costs)")
        rows = asked_rows(goal, limits, bounds, tracked)
        self._set(checks.names("arms", arms, "arm"), rows, known, _segments(segments))
        object.__setattr__(self, "features", read_features(self.arms, features))
        self._check(bounds)
        self._check_features()

    def _set(
        self, arms: tuple[str, ...], rows: Rows, known: Mapping[str, Any], segments: dict[str, float | None]
    ) -> None:
        set_ = object.__setattr__
        set_(self, "arms", arms)
        set_(self, "rows", rows)
        set_(self, "bounds", {n: limit.bound for n, limit in zip(rows.names, rows.limits, strict=True)})
        set_(self, "known", {n: check_known(n, k) for n, k in known.items()})
        set_(self, "segments", segments)
        set_(self, "features", {})

    def _check(self, bounds: Mapping[str, float]) -> None:
        """Refuse what contradicts itself."""
        if self.rows.goal.quantity.metric in bounds:
            metric = self.rows.goal.quantity.metric
            raise checks.InvalidInput(
                "bounds",
                f"{metric!r} is what the goal is about",
                f"write limits=['{metric} <= ...'] to limit it as well",
            )
        if not self.arms and not self.known:
            raise checks.InvalidInput(
                "arms", expected="at least one arm", got="none", remedy="name the options to choose from"
            )
        for limit in self.rows.limits:
            limit.check([*self.arms, *self.known], list(self.segments))
        for name, known in self.known.items():
            self._check_known(name, known)
        slacks = [name for name in self.names if name in self.columns[len(self.names) :]]
        if slacks:
            raise checks.InvalidInput(
                "arms", f"{slacks[0]!r} is what the slack of a cost is called", "choose another name"
            )

    def _check_features(self) -> None:
        """Refuse what one fit of all arms cannot serve."""
        other = [str(limit) for limit in self.limits if limit.arm is not None or limit.equality]
        if self.features and (self.segments or other):
            raise checks.InvalidInput(
                "features",
                expected="one segment, and limits of at most or at least a number, with them",
                got=f"'{other[0]}'" if other else f"{len(self.segments)} segments",
                remedy="leave the features out, or what does not go with them",
            )

    def _check_known(self, name: str, known: Known) -> None:
        if name not in self.arms:
            goal = self.measures[0]
            if known.reward is None and goal not in known.costs:
                raise checks.InvalidInput(
                    f"known[{name!r}]", f"its mean {goal} is missing", "list it under arms as well"
                )
            costs = [cost for cost in known.costs if known.reward is not None or cost != goal]
            asked = [measure for measure in self.measures[1:] if measure not in self.tracked]
            checks.same_names(f"known[{name!r}].costs", costs, asked, "bounded cost")
        elif not np.isnan(self._means(name, known)).any():
            raise checks.InvalidInput("known", f"{name!r} is listed under arms too", "an arm is either tried or known")

    def _means(self, name: str, known: Known) -> Floats:
        """Known means of the measures (M,); NaN for the others, zero for what an arm that is never tried would cost."""
        unknown = [cost for cost in known.costs if cost not in self.measures]
        if unknown:
            expected = f"means of {', '.join(map(repr, self.measures))}"
            raise checks.InvalidInput(f"known[{name!r}].costs", expected=expected, got=checks.shown(unknown[0]))
        never = dict.fromkeys([] if name in self.arms else self.tracked, 0.0)
        means = np.array([known.costs.get(measure, never.get(measure, np.nan)) for measure in self.measures])
        if known.reward is not None:
            means[0] = known.reward
        return means

    @property
    def goal(self) -> Goal:
        """What is to be as large, or as small, as possible."""
        return self.rows.goal

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Every limit, the bounds on mean costs first."""
        return self.rows.limits

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of what a trial returns, the goal's first."""
        return self.rows.metrics

    @property
    def tracked(self) -> tuple[str, ...]:
        """Metrics that neither the goal nor a limit is about."""
        return self.rows.tracked

    @property
    def untracked(self) -> "Problem":
        """The same problem, whose trials tell only what the goal and the limits are about.

        >>> Problem(["a", "b"], tracked=["dollars"]).untracked.metrics
        ('reward',)
        """
        return Problem.from_dict(self.to_dict() | {"tracked": []}) if self.tracked else self

    def with_limits(self, limits: Sequence[Limit]) -> "Problem":
        """The same arms, goal and segments with these limits instead.

        >>> Problem(["a", "b"], {"dollars": 5.0}).with_limits([Limit.parse("dollars <= 6")]).bounds
        {'dollars': 6.0}
        """
        shares = list(self.segments) if None in self.segments.values() else dict(self.segments)
        asked: dict[str, Any] = {"goal": self.goal, "limits": limits, "segments": shares or None}
        return Problem(self.arms, known=self.known, tracked=self.tracked, features=self.features, **asked)

    def tracking(self, metrics: Sequence[str]) -> "Problem":
        """The same problem, whose trials tell these metrics as well.

        >>> Problem(["a", "b"]).tracking(["dollars"]).metrics
        ('reward', 'dollars')
        """
        data = self.to_dict()
        return Problem.from_dict(data | {"tracked": [*self.tracked, *metrics]}) if metrics else self

    @cached_property
    def measures(self) -> tuple[str, ...]:
        """Names of what is measured in a trial, the goal's first: metrics, and tails of metrics."""
        return tuple(m.metric if isinstance(m, Mean) else str(m) for m in self.rows.measures)

    @cached_property
    def design(self) -> Floats | None:
        """Rows (K0, d) whose span is that of the features of what can be tried; None where there are none.

        >>> Problem(["a", "b", "c"], features=[[1, 0], [1, 1], [1, 2]]).design.shape
        (3, 2)
        """
        return design(self.features) if self.features else None

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """What can be tried: each unknown arm, in each segment."""
        return tuple(Cell(arm, segment) for segment in self.segments or [None] for arm in self.arms)

    @cached_property
    def known_cells(self) -> tuple[Cell, ...]:
        """Each arm that is known as a whole, in each segment."""
        whole = [name for name in checks.names("known", self.known, "arm") if name not in self.arms]
        return tuple(Cell(arm, segment) for segment in self.segments or [None] for arm in whole)

    @cached_property
    def trial_names(self) -> tuple[str, ...]:
        """Names of what can be tried."""
        return tuple(map(str, self.cells))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Every arm (in each segment), the unknown ones first."""
        return (*self.trial_names, *map(str, self.known_cells))

    @property
    def costs(self) -> tuple[str, ...]:
        """Names of what is limited: of a cost with a bound the metric, else the limit's text."""
        return self.rows.names

    @cached_property
    def charted(self) -> dict[str, str]:
        """Costs that every arm has a mean of, each quantity once, with how a table's head or an axis calls it.

        >>> Problem(["a", "b"], {"dollars": 5.0}, limits=["dollars >= 2", "share(a) <= 40%"]).charted
        {'dollars': 'dollars'}
        """
        found: dict[Any, str] = {}
        order = sorted(zip(self.costs, self.limits, strict=True), key=lambda pair: pair[1].segment is not None)
        for cost, limit in order:
            if not limit.on_share and limit.quantity != self.goal.quantity:
                found.setdefault(limit.quantity, cost)
        return {cost: cost if cost in self.metrics else str(quantity) for quantity, cost in found.items()}

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns of the linear program: the arms, then the slacks."""
        return (*self.names, *(f"slack of {cost}" for cost in self.costs))

    def slack_cost(self, column: str) -> str | None:
        """The cost whose slack this column is; None for an arm.

        >>> problem = Problem(["slack of time"], {"dollars": 5.0})
        >>> problem.slack_cost("slack of dollars"), problem.slack_cost("slack of time")
        ('dollars', None)
        """
        slacks = self.columns[len(self.names) :]
        return self.costs[slacks.index(column)] if column in slacks else None

    @property
    def group(self) -> str:
        """What a segment is called."""
        return "segment"

    @property
    def everybody(self) -> str:
        """What a segment is a share of."""
        return "users"

    @property
    def flows(self) -> tuple[str, ...]:
        """States whose flow is a row of the program, after those of the limits; none without states."""
        return ()

    @cached_property
    def plain(self) -> bool:
        """Whether it is the paper's problem but for signs and derived metrics: one group, and limits on means alone.

        >>> Problem(["a", "b"], limits=["quality >= 0.9"]).plain, Problem(["a", "b"], limits=["share(a) <= 40%"]).plain
        (True, False)
        """
        limits = all(not limit.on_share and limit.arm is None and not limit.equality for limit in self.limits)
        return limits and not self.segments and not set(self.known) & set(self.arms)

    @property
    def bound(self) -> Floats:
        """What each limit allows at most (L,), for rows in the form "at most"."""
        return self.rows.right

    @cached_property
    def known_measures(self) -> Floats:
        """Means of the measures of every arm that is known as a whole, in each segment: (K - K0, M)."""
        means = [self._means(cell.arm, self.known[cell.arm]) for cell in self.known_cells]
        result = np.array(means, dtype=np.float64).reshape(len(means), len(self.rows.measures))
        result.flags.writeable = False
        return result

    @cached_property
    def partly_known(self) -> Floats:
        """Known means of the measures of what can be tried (K0, M); NaN where trials must tell."""
        nothing = np.full(len(self.rows.measures), np.nan)
        return np.array(
            [self._means(c.arm, self.known[c.arm]) if c.arm in self.known else nothing for c in self.cells]
        ).reshape(len(self.cells), len(nothing))

    @cached_property
    def known_means(self) -> Floats:
        """The goal and the limits in the known arms' means, one arm a row: (K - K0, 1 + L)."""
        return self.rows.means(self.known_measures)

    def index(self, arm: str, segment: str | None = None) -> int:
        """Position of an arm that can be tried, in a segment where there are any."""
        self.check_segment(segment)
        if arm in self.arms:
            place = list(self.segments).index(segment) if segment is not None else 0
            return place * len(self.arms) + self.arms.index(arm)
        if arm in self.known:
            raise checks.InvalidInput("arm", f"{arm!r} is a known arm and is never tried", "its means were given")
        raise checks.InvalidInput(
            "arm",
            expected=f"one of {checks.shown(list(self.arms))}",
            got=checks.shown(arm),
            remedy="check the spelling",
        )

    def cell(self, name: str) -> Cell:
        """The arm, and the segment where there are any, of one of the names.

        >>> Problem(["a"], segments={"free": 0.7, "paid": 0.3}).cell("a in paid")
        Cell(arm='a', segment='paid')
        """
        return (*self.cells, *self.known_cells)[self.names.index(name)]

    def check_segment(self, segment: str | None) -> None:
        """Refuse a segment that there is not, and none where there are some.

        >>> Problem(["a"], segments={"free": 0.7, "paid": 0.3}).check_segment("gold")
        Traceback (most recent call last):
        bestmix.checks.InvalidInput: segment: expected one of ['free', 'paid'], got 'gold'; check the spelling
        """
        if segment is None and not self.segments:
            return
        if segment not in self.segments:
            these = (
                f"one of {checks.shown(list(self.segments))}" if self.segments else "none: the problem has no segments"
            )
            remedy = "say which" if segment is None else "check the spelling"
            raise checks.InvalidInput("segment", expected=these, got=checks.shown(segment), remedy=remedy)

    def trial_rows(self, rewards: Any, costs: Any = None) -> Floats:
        """Metrics of trials (m, metrics): all by name, or the goal's with the others by name or in order.

        >>> problem = Problem(["a"], goal="minimise dollars", limits=["quality >= 0.9"])
        >>> problem.trial_rows({"quality": [1.0, 0.0], "dollars": 0.2})
        array([[0.2, 1. ],
               [0.2, 0. ]])
        """
        if isinstance(rewards, Mapping):
            if costs is not None:
                raise checks.InvalidInput("costs", expected="none beside metrics by name", got=checks.shown(costs))
            return self._named_rows(rewards)
        rewards = checks.array("rewards", np.atleast_1d(np.asarray(rewards, dtype=object)), (None,), "(trials,)")
        return np.column_stack([rewards, self.cost_rows(costs, len(rewards))])

    def value(self, metric: str, value: Any, called: str = "") -> float:
        """One value of a metric as a number; errors name the metric, or what it is ``called``."""
        return checks.number(called or metric, value)

    def shown_value(self, metric: str, value: Any) -> Any:
        """A value of a metric as tables have it."""
        return value

    def read_value(self, metric: str, text: str) -> float:
        """Inverse of ``shown_value`` for the text in a table."""
        return float(text)

    def _named_rows(self, values: Mapping[str, Any]) -> Floats:
        return trial_values.named_rows(self.metrics, values)

    def cost_rows(self, costs: Any, rows: int) -> Floats:
        """Metrics but for the goal's of ``rows`` trials as (rows, L), by name or in the problem's order."""
        return trial_values.cost_rows(self.metrics[1:], costs, rows)

    def __eq__(self, other: object) -> bool:
        same_order = isinstance(other, Problem) and self.columns == other.columns
        return same_order and isinstance(other, Problem) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.names, tuple(self.bounds.items()), str(self.goal)))

    def __repr__(self) -> str:
        """As it can be written.

        >>> Problem(["small", "large"], {"dollars": 5.0}, goal="maximise quality", limits=["share(large) <= 40%"])
        Problem(['small', 'large'], bounds={'dollars': 5.0}, goal='maximise quality', limits=['share(large) <= 40%'])
        """
        given = {name: value for name, value in (self.to_dict() | {"known": self.known}).items() if value}
        arms = given.pop("arms", [])
        return f"Problem({', '.join([repr(arms), *(f'{name}={value!r}' for name, value in given.items())])})"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a TOML or JSON file; what version 0.1 did not have only where it is used."""
        bounds = {n: limit.bound for n, limit in zip(self.costs, self.limits, strict=True) if is_bound(limit)}
        known = {name: known.to_dict() for name, known in self.known.items()}
        data: dict[str, Any] = {"arms": list(self.arms), "bounds": bounds, "known": known}
        if self.goal != Goal():
            data["goal"] = str(self.goal)
        if len(bounds) < len(self.limits):
            data["limits"] = [str(limit) for limit in self.limits if not is_bound(limit)]
        if self.segments:
            learnt = None in self.segments.values()
            data["segments"] = list(self.segments) if learnt else dict(self.segments)
        if self.tracked:
            data["tracked"] = list(self.tracked)
        if self.features:
            data["features"] = {arm: row.copy() for arm, row in self.features.items()}
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Problem":
        """Inverse of ``to_dict``; only ``arms`` must be there, or ``states`` and what comes with them."""
        checks.mapping("problem", data, "with the entries arms, bounds and so on")
        if "states" in data:
            from bestmix.problems.markov import MarkovProblem

            return MarkovProblem.from_dict(data)
        checks.entries("problem", data, ENTRIES, ENTRIES[:1], EXAMPLE)
        known = checks.mapping("known", data.get("known", {}), "of arm names to reward and costs")
        means = {name: Known.from_dict(name, entry) for name, entry in known.items()}
        rest = {name: data[name] for name in ("goal", "segments", "tracked", "features") if name in data}
        return cls(data["arms"], None, means, limits=read_limits(data), **rest)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the problem to a .toml or .json file."""
        files.write(path, self.to_dict())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Problem":
        """Read a problem from a .toml or .json file."""
        return cls.from_dict(files.read(path, "a problem"))


def asked_rows(
    goal: str | Goal, limits: Sequence[str | Limit], bounds: Mapping[str, float], tracked: Sequence[str]
) -> Rows:
    """The goal and the limits as they may be written."""
    checks.names("bounds", bounds, "cost")
    goal = goal if isinstance(goal, Goal) else Goal.parse(goal)
    return Rows(goal, parse_limits(limits, bounds), checks.names("tracked", tracked, "metric"))


def _segments(given: Mapping[str, float] | Iterable[str] | None) -> dict[str, float | None]:
    """Segments with their shares of all users, which add up to 1; None where these are to be learnt."""
    if given is None:
        return {}
    names = checks.names("segments", given, "segment")
    if not isinstance(given, Mapping):
        return dict.fromkeys(names)
    shares = {name: checks.number(f"segments[{name!r}]", given[name]) for name in names}
    low = [name for name, share in shares.items() if not share > 0]
    if low:
        raise checks.InvalidInput(
            f"segments[{low[0]!r}]", expected="a share above 0", got=shares[low[0]], remedy="leave empty segments out"
        )
    total = sum(shares.values())
    if shares and abs(total - 1.0) > SHARES_ADD_UP:
        raise checks.InvalidInput(
            "segments", expected="shares that add up to 1", got=f"{total:g}", remedy="divide each by the total"
        )
    return dict(shares)
