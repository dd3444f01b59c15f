"""Fresh weights for a deployed policy: its own arms, its own limits, the certainty that it was made with."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.conflict import clearest, differences
from bestmix.answers.evidence import Evidence
from bestmix.answers.logs.tables import Group, read_groups
from bestmix.answers.moments import Moments
from bestmix.answers.policy import Policy
from bestmix.answers.program_safety import described_program_mix
from bestmix.answers.programs import program_of
from bestmix.answers.recommend import recommend
from bestmix.answers.recommend_program import mean_costs
from bestmix.answers.recommendation import MeanCost, Recommendation
from bestmix.answers.safe_search import Selection
from bestmix.arrays import Floats
from bestmix.problems.known import Known
from bestmix.problems.layouts import places
from bestmix.problems.limits import Limit
from bestmix.problems.problem import Problem
from bestmix.problems.quantities import Share
from bestmix.problems.rows import parse_limits

Tables = Mapping[Group, Floats]


@dataclass(frozen=True)
class Refit:
    """What fresh trials say of a policy.

    Attributes
    ----------
    answer
        The recommendation for its arms.
    deployed
        By limit, the mean that the policy as it is has on the fresh trials; empty where some arm has none of them.
    left_out
        Rows of arms that the policy does not have, by arm.
    idle
        Arms of weight zero that stay out, because nobody has tried them: a policy gives them no traffic.
    """

    answer: Recommendation
    deployed: Mapping[str, MeanCost]
    left_out: Mapping[str, int]
    idle: tuple[str, ...] = ()


def refit(policy: Policy, trials: Any, **options: Any) -> Recommendation:
    """The answer for a policy's own arms from fresh trials, and from those before where they are given.

    >>> policy = Policy({"s": 0.5, "l": 0.5}, {"dollars": 1.0}, known={"s": Known(1.0, {"dollars": 0.0})})
    >>> fresh = {"arm": ["l", "l"], "reward": [2.0, 2.2], "dollars": [1.8, 2.2]}
    >>> {arm: round(share, 3) for arm, share in refit(policy, fresh).mixture.items()}
    {'l': 0.5, 's': 0.5}
    """
    return refit_whole(policy, trials, **options).answer


def refit_whole(
    policy: Policy,
    trials: Any,
    *,
    arm: str = "arm",
    reward: str = "reward",
    drop_missing: bool = False,
    before: Any = None,
    known: Mapping[str, Known] | None = None,
    segment: str = "segment",
) -> Refit:
    """The answer, how the policy would have done on the fresh trials, and what was left out.

    >>> policy = Policy({"s": 0.5, "l": 0.5}, {"dollars": 0.5}, known={"s": Known(1.0, {"dollars": 0.0})})
    >>> found = refit_whole(policy, {"arm": ["l", "l", "x"], "reward": [2.0, 2.2, 9.0], "dollars": [1.8, 2.2, 0.0]})
    >>> found.deployed["dollars"].mean, found.left_out
    (1.0, {'x': 1})
    """
    _check_shares(policy)
    asked = policy.knowing(known or {})
    first, *rest = asked.problem.metrics
    columns = arm, first if reward == "reward" else reward, rest, drop_missing, segment if policy.segments else None
    tables: Sequence[Tables] = [read_groups(log, *columns) for log in (trials, before) if log is not None]
    tables, note = _without_drift(policy, _without(asked, _idle(asked, tables)).problem, tables)
    idle = _idle(asked, tables)
    problem = _without(asked, idle).problem
    all_ = _evidence(problem, tables)
    _check_tried(policy, all_)
    strange = Counter[str]()
    for (name, _), table in tables[0].items():
        strange[name] += len(table) if name not in policy.weights else 0
    answer = recommend(
        all_, all_.tried, strategy="refit", safety=policy.safety, selection=_selection(policy, problem, tables)
    )
    return Refit(
        replace(answer, note=" ".join(filter(None, [note, answer.note]))),
        _deployed(policy, _evidence(problem, tables[:1])),
        {name: rows for name, rows in strange.items() if rows},
        idle,
    )


def _shares_asked(policy: Policy) -> dict[str, Limit]:
    """Arms of which limits ask a share, and such a limit of each."""
    limits = parse_limits(policy.limits, policy.bounds)
    return {
        limit.quantity.arm: limit
        for limit in limits
        if isinstance(limit.quantity, Share) and limit.relation != "<=" and limit.bound > 0
    }


def _check_shares(policy: Policy) -> None:
    """Arms of which a limit asks a share are among the policy's, which are all that it can have."""
    for arm, limit in _shares_asked(policy).items():
        if arm not in policy.weights:
            raise checks.InvalidInput(
                "policy",
                expected=f"a weight of {arm!r}, for '{limit}'",
                got=f"weights of {checks.shown(list(policy.weights))} alone",
                remedy="make a policy of a recommendation with that limit",
            )


def _check_tried(policy: Policy, evidence: Evidence) -> None:
    """Every arm that the policy uses, or that a limit is relative to, has trials."""
    problem, asked = evidence.problem, _shares_asked(policy)
    tried = {cell: n > 0 for cell, n in zip(problem.cells, evidence.counts, strict=True)}
    for cell, some in tried.items():
        if not some and (policy.of(cell.segment).get(cell.arm, 0.0) > 0 or cell.arm in asked):
            raise checks.InvalidInput(
                "trials", expected=f"fresh trials of {str(cell)!r}", got="none", remedy="try every arm of the policy"
            )
    told = {cell.arm for cell, some in tried.items() if some} | set(problem.known)
    for limit in problem.limits:
        if limit.arm is not None and limit.arm not in told:
            raise checks.InvalidInput(
                "trials",
                expected=f"fresh trials of {limit.arm!r}, which '{limit}' is relative to",
                got="none",
                remedy="give those before as well, or try it",
            )


def _without_drift(policy: Policy, problem: Problem, tables: Sequence[Tables]) -> tuple[Sequence[Tables], str]:
    """The trials that count, and a note where those before differ from the fresh ones, which then count alone.

    They count together all the same where the fresh ones alone do not tell of every arm.
    """
    if len(tables) < 2:
        return tables, ""
    fresh, before = (_evidence(problem, [table]) for table in tables)
    found = differences(problem, before.moments, fresh.moments)
    if not found:
        return tables, ""
    told = f"The trials before and the fresh ones of {found[0].arm} differ by more than chance: "
    told += clearest(found, "before", "now")
    try:
        _check_tried(policy, fresh)
    except checks.InvalidInput:
        both = "Not all arms have fresh trials, so both count: limits may be broken more often than told"
        return tables, f"{told}. {both}."
    return tables[:1], f"{told}. Those before do not count."


def _idle(policy: Policy, tables: Sequence[Tables]) -> tuple[str, ...]:
    """Arms without weight, trials or known means, that no limit refers to."""
    parts = policy.by_segment.values() if policy.segments else [policy.weights]
    tried = {name for table in tables for name, _ in table}
    named = {limit.arm for limit in policy.problem.limits} | _shares_asked(policy).keys()
    unused = [arm for arm in policy.weights if not any(part.get(arm, 0.0) for part in parts)]
    return tuple(arm for arm in unused if arm not in tried | named | set(policy.known))


def _without(policy: Policy, arms: Sequence[str]) -> Policy:
    """The policy without some arms of weight zero."""
    data = policy.to_dict()
    for part in (data, *data["segments"].values()):
        part["weights"] = {arm: weight for arm, weight in part["weights"].items() if arm not in arms}
    return Policy.from_dict(data)


def _selection(policy: Policy, problem: Problem, tables: Sequence[Tables]) -> Selection | None:
    """How far the trials before chose the policy's arms out of others; None where there are no others."""
    names = {name for table in tables[1:] for name, _ in table}
    others = sorted(names - set(policy.weights) - set(problem.known))
    if not others:
        return None
    wider = Problem.from_dict(problem.to_dict() | {"arms": [*problem.arms, *others]})
    all_ = _evidence(wider, tables)
    own = np.flatnonzero(np.isin(wider.columns, problem.columns))
    found = recommend(all_, own, strategy="refit", safety=None)
    tried = sum(1 for cell, n in zip(wider.cells, all_.counts, strict=True) if n and cell.arm in others)
    return Selection(found.support_probability, tried)


def _evidence(problem: Problem, tables: Sequence[Tables]) -> Evidence:
    moments = []
    for cell in problem.cells:
        moments.append(Moments(len(problem.measures)))
        for table in tables:
            if cell in table:
                moments[-1].add(problem.rows.measure(table[cell]))
    return Evidence(problem, moments)


def _deployed(policy: Policy, fresh: Evidence) -> dict[str, MeanCost]:
    """Means of what the limits are about, under the policy's own weights."""
    problem, program = fresh.problem, program_of(fresh)
    cells = [*problem.cells, *problem.known_cells]
    within = np.array([policy.of(cells[place].segment).get(cells[place].arm, 0.0) for place in places(problem)])
    if not program.judgeable or not program.usable[within > 0].all():
        return {}
    weights = within * program.weight[program.segment]
    found = described_program_mix(program, weights, 1.0)  # the fresh trials had no say in these weights
    return dict(zip(problem.costs, mean_costs(fresh, program, found), strict=True))
