"""Another bound or limit, another set of arms: how a problem changes while trials are made, and how that is told.

Sums of trials do not depend on bounds, so a change loses nothing as long as trials tell what the new limits read.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from bestmix import checks
from bestmix.problems.features import Features
from bestmix.problems.limits import Limit
from bestmix.problems.problem import Problem
from bestmix.problems.quantities import Mean
from bestmix.problems.rows import is_bound
from bestmix.problems.spend import Spend


@dataclass(frozen=True)
class Wish:
    """What is to change; None stays as it is."""

    bounds: Mapping[str, float] | None = None  # by cost, others stay
    limits: Sequence[str | Limit] | None = None  # all that are no bounds; a bound among them is one of ``bounds``
    arms: Iterable[str] | None = None  # all that are to be tried from now on
    budget: int | Spend | None = None
    prices: Mapping[str, float] | None = None  # of arms that come new, where the budget is money and prices are known
    most: float | Mapping[str, float] | None = None  # that trials of these can cost, where that is given by arm
    features: Mapping[str, Any] | None = None  # of arms that come new, where arms have features


def amended(problem: Problem, wish: Wish) -> Problem:
    """The problem with what is wished for; a change that earlier trials cannot speak to is refused.

    >>> amended(Problem(["a", "b"], {"dollars": 5.0}), Wish(bounds={"dollars": 4.0})).bounds
    {'dollars': 4.0}
    """
    data = problem.to_dict()
    if wish.arms is not None and problem.flows:
        raise checks.InvalidInput(
            "arms", "with states the actions stay as they are", "start another run from these trials"
        )
    if wish.features is not None and wish.arms is None:
        raise checks.InvalidInput(
            "features", expected="arms that come new with them", got="none", remedy="name all arms"
        )
    if wish.arms is not None:
        data["arms"] = list(checks.names("arms", wish.arms, "arm"))
        data["features"] = _features(problem, data["arms"], wish.features)
        data["known"] = {arm: known for arm, known in data["known"].items() if _stays(problem, arm, data["arms"])}
    limits = _parsed(wish.limits or [])
    bounds = checks.mapping("bounds", wish.bounds or {}, "of cost names to bounds")
    strange = [name for name in bounds if name not in data["bounds"]]
    if strange:
        raise checks.InvalidInput(
            "bounds",
            expected=f"some of {checks.shown(list(data['bounds']))}",
            got=checks.shown(strange[0]),
            remedy="a limit of another kind is changed by limits=[...]",
        )
    data["bounds"] |= {cast(Mean, limit.quantity).metric: limit.bound for limit in limits if is_bound(limit)}
    data["bounds"] |= {name: checks.number(f"bounds[{name!r}]", bound) for name, bound in bounds.items()}
    if wish.limits is not None:
        data["limits"] = _in_order(problem, [limit for limit in limits if not is_bound(limit)])
    new = Problem.from_dict(data)
    if new.measures != problem.measures:
        raise checks.InvalidInput(
            "limits",
            expected=f"limits on what the trials so far tell ({', '.join(problem.measures)})",
            got=", ".join(new.measures),
            remedy="keep a limit on each, if only one that never binds; or start another run from these trials",
        )
    return new


def _stays(problem: Problem, arm: str, arms: Sequence[str]) -> bool:
    """Whether what is known of an arm still has one: it is tried, or was known as a whole."""
    return arm in arms or arm not in problem.arms


def _features(problem: Problem, arms: Sequence[str], given: Mapping[str, Any] | None) -> dict[str, Features]:
    """Those of the arms that stay, and of those that come new what is given."""
    more = dict(checks.mapping("features", given or {}, "of arms to their features"))
    wrong = [arm for arm in more if arm in problem.features or arm not in arms or not problem.features]
    if wrong:
        expected = "those of arms that come new" if problem.features else "none: the arms have none"
        raise checks.InvalidInput("features", expected=expected, got=checks.shown(wrong[0]), remedy="leave it out")
    known = problem.features | more
    new = [arm for arm in arms if arm not in known]
    if problem.features and new:
        raise checks.InvalidInput(
            "arms", f"{checks.shown(new[0])} has no features as the others have", "give them: features={...}"
        )
    return {arm: known[arm] for arm in arms} if problem.features else {}


def _parsed(limits: Sequence[str | Limit]) -> list[Limit]:
    if isinstance(limits, str) or not isinstance(limits, Sequence):
        raise checks.InvalidInput("limits", expected="a list of limits", got=checks.shown(limits), remedy="write one")
    return [limit if isinstance(limit, Limit) else Limit.parse(limit) for limit in limits]


def _in_order(problem: Problem, limits: Sequence[Limit]) -> list[str]:
    """Limits in an order in which the metrics come as they came before."""
    order = list(problem.rows.measures)
    ranks = {limit: min([order.index(c) for c in limit.columns if c in order], default=len(order)) for limit in limits}
    return [str(limit) for limit in sorted(limits, key=ranks.__getitem__)]


def same_shape(old: Problem, new: Problem) -> bool:
    """Whether the same columns are weighed: another bound, or another limit in the place of one.

    >>> same_shape(Problem(["a"], {"x": 1.0}), Problem(["a"], {"x": 2.0}))
    True
    """
    sizes = [(p.names, len(p.limits), p.plain, [limit.equality for limit in p.limits]) for p in (old, new)]
    return sizes[0] == sizes[1]


def changes(old: Problem, new: Problem, before: int | Spend, budget: int | Spend, tried: Collection[str] = ()) -> str:
    """What has changed, in words; arms that were ``tried`` before come back.

    >>> changes(Problem(["a", "b"], {"x": 1.0}), Problem(["b", "c"], {"x": 2.0}), 90, 90)
    'x <= 2 instead of x <= 1; c is new; a is retired'
    >>> changes(Problem(["b"]), Problem(["a", "b"]), 90, 90, tried=["a", "b"])
    'a is back'
    """
    parts = []
    was, now = ([str(limit) for limit in p.limits] for p in (old, new))
    gone, come = [t for t in was if t not in now], [t for t in now if t not in was]
    if gone or come:
        parts.append(" and ".join(come) + (" instead of " if come else "without ") * bool(gone) + " and ".join(gone))
    parts += [f"{arm} is {'back' if arm in tried else 'new'}" for arm in new.arms if arm not in old.arms]
    parts += [f"{arm} is retired" for arm in old.arms if arm not in new.arms]
    parts += [f"a budget of {budget} instead of {before}"] if budget != before else []
    return "; ".join(parts)


def wish_for(old: Problem, new: Problem) -> Wish | None:
    """What leads from one problem to another; None where the goal, the segments, features or what is known differ.

    >>> wish_for(Problem(["a"], {"x": 1.0}), Problem(["a", "b"], {"x": 2.0}))
    Wish(bounds={'x': 2.0}, limits=[], arms=['a', 'b'], budget=None, prices=None, most=None, features=None)
    """
    before, after = old.to_dict(), new.to_dict()
    parts = ("goal", "segments", "known", "states", "actions", "discount", "start")
    if any(before.get(part) != after.get(part) for part in parts) or before["bounds"].keys() != after["bounds"].keys():
        return None
    come = {arm: row for arm, row in new.features.items() if arm not in old.features}
    if bool(new.features) != bool(old.features) or {**old.features, **new.features} != {**old.features, **come}:
        return None
    return Wish(after["bounds"], after.get("limits", []), after.get("arms"), features=come or None)
