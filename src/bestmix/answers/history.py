"""The history of a search in words: what its trials were spent on, which columns it rejected."""

from collections import Counter
from collections.abc import Iterable

from bestmix.answers.recommendation import ELASTIC, Round
from bestmix.problems.problem import Problem


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


def is_rejected(history: Iterable[Round], column: str) -> bool:
    """Whether a round has rejected the column.

    >>> is_rejected([Round(1, {"a": 2, "b": 2}, rejected="a")], "a")
    True
    """
    return any(finished.rejected == column for finished in history)


def describe(problem: Problem, finished: Round) -> str:
    """A round in one line.

    >>> describe(Problem(["a", "b"]), Round(1, {"a": 2, "b": 2}, rejected="a", margin=0.25))
    'round 1: 4 trials, rejected a (margin 0.25)'
    """
    trials = f"round {finished.number}: {sum(finished.pulls.values())} trials"
    if finished.reasons:
        return f"{trials}, most on whether {question(problem, next(iter(spent_on([finished]))))}"
    if finished.rejected is None:
        return trials
    if problem.slack_cost(finished.rejected) is not None:
        return f"{trials}, {question(problem, finished.rejected)}"
    margin = "" if finished.margin is None else f" (margin {finished.margin:.2g})"
    return f"{trials}, rejected {finished.rejected}{margin}"
