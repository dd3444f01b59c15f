"""Fresh weights for a deployed policy: its own arms, its own limits, the certainty that it was made with."""

from collections.abc import Mapping
from typing import Any

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.policy import Policy
from bestmix.answers.recommend import recommend
from bestmix.answers.recommendation import Recommendation
from bestmix.answers.tables import read_groups
from bestmix.problems.problem import Known


def refit(
    policy: Policy,
    trials: Any,
    *,
    arm: str = "arm",
    reward: str = "reward",
    drop_missing: bool = False,
    before: Any = None,
    known: Mapping[str, Known] | None = None,
    segment: str = "segment",
) -> Recommendation:
    """The answer for a policy's own arms from fresh trials, and from those before where they are given.

    >>> policy = Policy({"s": 0.5, "l": 0.5}, {"dollars": 1.0}, known={"s": Known(1.0, {"dollars": 0.0})})
    >>> fresh = {"arm": ["l", "l"], "reward": [2.0, 2.2], "dollars": [1.8, 2.2]}
    >>> {arm: round(share, 3) for arm, share in refit(policy, fresh).mixture.items()}
    {'l': 0.5, 's': 0.5}
    """
    problem = policy.knowing(known or {}).problem
    first, *rest = problem.metrics
    columns = arm, reward if first == "reward" else first, rest, drop_missing, segment if problem.segments else None
    tables = [read_groups(log, *columns) for log in (trials, before) if log is not None]
    moments = []
    for cell in problem.cells:
        found = [problem.rows.measure(table[cell]) for table in tables if cell in table]
        if not found:
            raise checks.InvalidInput(
                "trials", expected=f"fresh trials of {str(cell)!r}", got="none", remedy="try every arm of the policy"
            )
        moments.append(Moments(len(problem.measures)))
        for rows in found:
            moments[-1].add(rows)
    evidence = Evidence(problem, moments)
    return recommend(evidence, evidence.tried, strategy="refit", safety=policy.safety)
