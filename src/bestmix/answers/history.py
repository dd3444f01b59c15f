"""The history of a search in words: what its trials were spent on, which columns it rejected."""

from collections import Counter
from collections.abc import Iterable

from bestmix.answers.recommendation import ELASTIC, Recommendation, Round
from bestmix.problems.problem import Problem

ROLES = ("support", "other", "rejected", "known")


def question(problem: Problem, condition: str) -> str:
    """What the condition of a column leaves open.

    >>> problem = Problem(["small", "large"], {"dollars": 1.0})
    >>> question(problem, "large"), question(problem, "slack of dollars")
    ('large belongs to the mix', 'the bound on dollars is worth using up')
    """
    if condition == ELASTIC:
        return "any mix keeps the bounds"
    cost = problem.slack_cost(condition)
    return f"{condition} belongs to the mix" if cost is None else f"the bound on {cost} is worth using up"


def spent_on(history: Iterable[Round]) -> dict[str, int]:
    """Trials by the condition that they were spent on, the most first; empty where a strategy gives no reasons.

    >>> spent_on([Round(1, {"a": 9, "b": 1}, reasons={"a": {"b": 2, "infeasibility": 7}, "b": {"b": 1}})])
    {'infeasibility': 7, 'b': 3}
    """
    spent: Counter[str] = Counter()
    for finished in history:
        for conditions in finished.reasons.values():
            spent.update(conditions)
    return dict(spent.most_common())


def spread_evenly(history: Iterable[Round]) -> int:
    """Trials of rounds that were spent on no condition: the first of every arm, before anything is known of it.

    >>> spread_evenly([Round(1, {"a": 5, "b": 5}), Round(2, {"a": 3, "new": 5}, reasons={"a": {"b": 3}})])
    15
    """
    return sum(sum(finished.pulls.values()) - sum(spent_on([finished]).values()) for finished in history)


def is_rejected(history: Iterable[Round], column: str) -> bool:
    """Whether a round has rejected the column.

    >>> is_rejected([Round(1, {"a": 2, "b": 2}, rejected="a")], "a")
    True
    """
    return any(finished.rejected == column for finished in history)


def role(rec: Recommendation, arm: str) -> str:
    """What an arm is in an answer: one of ``ROLES``.

    In the mix it is of the support, whatever happened before. Only what a round rejected is rejected;
    an arm that is merely not in the mix may come back with the next trials.

    >>> from bestmix import from_log
    >>> rec = from_log({"arm": ["s", "s", "l", "l"], "reward": [1.0, 1.2, 2.0, 2.2]})
    >>> role(rec, "l"), role(rec, "s")
    ('support', 'other')
    """
    if arm in rec.mixture:
        return "support"
    if is_rejected(rec.history, arm):
        return "rejected"
    return "known" if rec.estimates[arm].known else "other"


def describe(problem: Problem, finished: Round) -> str:
    """A round in one line.

    >>> describe(Problem(["a", "b"]), Round(1, {"a": 2, "b": 2}, rejected="a", margin=0.25))
    'round 1: 4 trials, rejected a (margin 0.25)'
    """
    made = sum(finished.pulls.values())
    trials = f"round {finished.number}: {made} trial{'' if made == 1 else 's'}"
    if finished.reasons:
        return f"{trials}, most on whether {question(problem, next(iter(spent_on([finished]))))}"
    if finished.rejected is None:
        return trials
    if problem.slack_cost(finished.rejected) is not None:
        return f"{trials}, {question(problem, finished.rejected)}"
    margin = "" if finished.margin is None else f" (margin {finished.margin:.2g})"
    return f"{trials}, rejected {finished.rejected}{margin}"
