"""Fresh weights for a deployed policy: its own arms, its own limits, the certainty that it was made with."""

from collections.abc import Mapping
from typing import Any

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.policy import Policy
from bestmix.answers.recommend import recommend
from bestmix.answers.recommendation import Recommendation
from bestmix.answers.tables import read_trials
from bestmix.problems.problem import Known, Problem


def refit(
    policy: Policy,
    trials: Any,
    *,
    arm: str = "arm",
    reward: str = "reward",
    drop_missing: bool = False,
    before: Any = None,
    known: Mapping[str, Known] | None = None,
) -> Recommendation:
    """The answer for a policy's own arms from fresh trials, and from those before where they are given.

    >>> policy = Policy({"s": 0.5, "l": 0.5}, {"dollars": 1.0}, known={"s": Known(1.0, {"dollars": 0.0})})
    >>> fresh = {"arm": ["l", "l"], "reward": [2.0, 2.2], "dollars": [1.8, 2.2]}
    >>> {arm: round(share, 3) for arm, share in refit(policy, fresh).mixture.items()}
    {'l': 0.5, 's': 0.5}
    """
    given = {**policy.known, **(known or {})}
    known = {name: means for name, means in given.items() if name in policy.weights}
    arms = [name for name in policy.weights if name not in known]
    logs = [log for log in (trials, before) if log is not None]
    tables = [read_trials(log, arm, reward, list(policy.bounds), drop_missing) for log in logs]
    moments = []
    for name in arms:
        if not any(name in table for table in tables):
            raise checks.InvalidInput(
                "trials", expected=f"fresh trials of {name!r}", got="none", remedy="try every arm of the policy"
            )
        moments.append(Moments(1 + len(policy.bounds)))
        for table in tables:
            if name in table:
                moments[-1].add(table[name])
    evidence = Evidence(Problem(arms, policy.bounds, known), moments)
    return recommend(evidence, evidence.tried, strategy="refit", safety=policy.safety)
