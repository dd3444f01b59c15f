"""The best mix from a log of trials that were made already."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from bestmix import checks
from bestmix.answers.bootstrap import bootstrap
from bestmix.answers.evidence import Evidence
from bestmix.answers.logs.evidence import crowd_note, log_evidence, log_problem
from bestmix.answers.logs.feature_columns import log_features
from bestmix.answers.logs.steps import check_steps, read_steps, steps_evidence
from bestmix.answers.logs.sum_tables import unit_column
from bestmix.answers.logs.sums import LogColumns, read_log_sums
from bestmix.answers.logs.tables import has_column, read_groups, read_groups_on_items
from bestmix.answers.recommend import SAFETY, recommend
from bestmix.answers.recommend_sums import UNCERTAINTIES, moments_of, recommend_sums, with_single_trials
from bestmix.answers.recommendation import Recommendation
from bestmix.arrays import Floats
from bestmix.problems.goals import Goal
from bestmix.problems.items import Items
from bestmix.problems.known import Known
from bestmix.problems.limits import Limit
from bestmix.problems.problem import Problem
from bestmix.problems.rows import log_rows


def from_log(
    frame: Any,
    arm: str = "arm",
    reward: str = "reward",
    bounds: Mapping[str, float] | None = None,
    known: Mapping[str, Known] | None = None,
    *,
    uncertainty: str = "delta",
    resamples: int = 1000,
    seed: int = 0,
    drop_missing: bool = False,
    safety: float | None = SAFETY,
    goal: str | Goal = "maximise reward",
    limits: Sequence[str | Limit] = (),
    segment: str | None = None,
    segments: Mapping[str, float] | None = None,
    progress: bool = False,
    block: str | None = None,
    blocks: int | Literal["day"] | None = None,
    item: str | None = None,
    discount: float | None = None,
    start: str | Mapping[str, float] | None = None,
    next_state: str = "next",
    features: Sequence[str] | Mapping[str, Any] | None = None,
) -> Recommendation:
    """Best mix of the arms in a log, one trial a row.

    Parameters
    ----------
    frame
        A path of a log (.csv, .jsonl or .parquet; the first two also with .gz), which may stand for several files, as
        ``"logs/*.parquet"`` does; ``"-"`` for standard input, a pandas or polars frame, or a mapping of columns.
    arm, reward
        Names of the columns that hold the arm and the reward, which the answer calls by that name: with
        ``reward="quality"`` the goal is ``"maximise quality"``. A goal about another metric has its own column.
    bounds
        The largest acceptable mean of each cost, by the cost's column. Other columns are ignored.
    known
        Arms whose means are known and that the log need not hold.
    uncertainty
        ``"delta"``: the support's probability from the z-scores. ``"bootstrap"``: the share of
        ``resamples`` redrawn logs, drawn within each arm, that lead to the same support. Of an arm with more than a
        thousand rows, those nearest to its mean are redrawn together, by their normal distribution.
    drop_missing
        Leave out rows with a missing value; otherwise they are an error.
    safety
        The wanted certainty that the recommended mix keeps all limits; None for the optimum at the estimates.
    goal, limits
        As for ``Problem``: every metric that they read is a column.
    segment, segments
        Name of the column that holds the segment; and the segments' shares of all users, where these are not those of
        the log's rows.
    progress
        Whether the bootstrap shows a progress bar.
    block, blocks
        Name of the column with what rows have in common, such as a user or a day, where they are no independent trials:
        errors are then those of whole blocks, and the bootstrap redraws these. With ``blocks=100`` there are so many,
        by a hash of the column; with ``"day"`` one for each day of a time; with None one for each value.
    item
        Or the column with the item, such as a prompt, that a row was tried on, where arms were tried on the same ones:
        what they have in common on an item counts in all variances. Items are independent of each other.
    discount, start, next_state
        Where rows are steps between states, as in ``MarkovProblem``: ``arm`` is the column of the action, ``segment``
        that of the state, and ``next_state`` that of the state which comes next. The answer is a policy.
    features
        Columns that say what each arm is made of, where the means of all metrics are linear in it, such as
        ``["model", "text(version)"]``, the last one for numbers that are mere names; or as for ``Problem``, by arm,
        where arms that the log does not have may be among them.

    Examples
    --------
    >>> log = {"model": ["s", "s", "l", "l"], "quality": [1.0, 1.2, 2.0, 2.2], "dollars": [0.0, 0.2, 1.8, 2.2]}
    >>> answer = from_log(log, arm="model", reward="quality", bounds={"dollars": 1.0})
    >>> {arm: round(share, 3) for arm, share in answer.mixture.items()}
    {'s': 0.732, 'l': 0.268}
    >>> {arm: round(share, 3) for arm, share in answer.best_guess.items()}
    {'s': 0.526, 'l': 0.474}
    """
    checks.choice("uncertainty", uncertainty, UNCERTAINTIES)
    asked: dict[str, Any] = {"bounds": bounds, "known": known, "goal": goal, "limits": limits, "segments": segments}
    chosen: dict[str, Any] = {"resamples": resamples, "seed": seed, "progress": progress}
    block = unit_column(item, block, blocks)
    beside = {"known": known, "segments": segments, "item": item, "block": block, "blocks": blocks}
    check_steps(discount, start, next_state, beside | {"uncertainty": None if uncertainty == "delta" else uncertainty})
    if features is not None:
        for name, value in {"item": item, "block": block, "discount": discount}.items():
            if value is not None:
                raise checks.InvalidInput(name, "with features all arms have one fit, which knows none", "leave it out")
        if uncertainty == "bootstrap":
            raise checks.InvalidInput("uncertainty", "the bootstrap knows no features", "leave it out, 'delta' does")
        asked["features"] = log_features(frame, arm, features)
    if discount is not None:
        wanted = {name: asked[name] for name in ("bounds", "goal", "limits")}
        evidence = steps_evidence(frame, arm, reward, segment, next_state, discount, start, drop_missing, **wanted)
        answer = recommend(evidence, evidence.tried, strategy="log", safety=safety)
        return replace(answer, note=with_single_trials(evidence, answer.note))
    if uncertainty == "bootstrap" and block is None:
        evidence, tables = log_evidence(frame, arm, reward, drop_missing, segment, **asked)
        answer = _redrawn(evidence, tables, safety, **chosen)
        return _noted(answer, evidence, arm, segment)
    rows = log_rows(goal, limits, bounds, reward)
    _check_rows(frame, rows.metrics[0], reward)
    found, number = read_log_sums(frame, rows, LogColumns.of(rows, arm, reward, segment, block, blocks), drop_missing)
    problem = log_problem(list(found), **asked | {"goal": rows.goal})
    chosen |= {"uncertainty": uncertainty, "items": item is not None}
    answer = recommend_sums(problem, found, number, "log", safety=safety, **chosen)
    return _noted(answer, Evidence(problem, moments_of(problem, found)), arm, segment)


def _noted(answer: Recommendation, evidence: Evidence, arm: str, segment: str | None) -> Recommendation:
    """The answer with notes of what has hardly a trial; arms with features need not have many."""
    crowd = crowd_note(evidence, arm, segment) if evidence.fit is None else ""
    return replace(answer, note=" ".join(filter(None, [crowd, with_single_trials(evidence, answer.note)])))


def _check_rows(frame: Any, metric: str, reward: str) -> None:
    """Raise where rows are not trials but sums of them, as their columns tell."""
    name = reward if metric == "reward" else metric
    if has_column(frame, f"{name}*{name}") and has_column(frame, "n"):
        fault = f"its rows are sums of trials: they have the columns 'n' and '{name}*{name}'"
        raise checks.InvalidInput("log", fault, "use from_sums, in the shell bestmix solve --sums")


def _redrawn(
    evidence: Evidence, tables: Mapping[int, Floats], safety: float | None, resamples: int, seed: int, progress: bool
) -> Recommendation:
    """The recommendation with the bootstrap of rows."""
    problem = evidence.problem
    answer = recommend(evidence, evidence.tried, strategy="log", safety=safety)
    none = np.empty((0, len(problem.measures)))
    redrawn = [tables.get(place, none) for place in range(len(problem.cells))]
    share = bootstrap(problem, redrawn, answer.support, resamples, seed, progress) if answer.feasible else None
    return replace(answer, support_probability=share)


def read_metrics(
    problem: Problem, frame: Any, arm: str = "arm", reward: str = "reward", segment: str | None = None
) -> list[Floats]:
    """Metrics of the trials in a log, for each arm of a problem (in each segment): (trials, metrics)."""
    if problem.flows:
        return read_steps(problem, frame, arm, reward, segment)
    first, *rest = problem.metrics
    found = read_groups(frame, arm, reward if first == "reward" else first, rest, segment=segment)
    tables = {problem.index(*group): table for group, table in found.items()}
    none = np.empty((0, len(problem.metrics)))
    return [tables.get(place, none) for place in range(len(problem.cells))]


def read_on_items(
    problem: Problem, frame: Any, arm: str, reward: str, segment: str | None, item: str, items: Items
) -> tuple[list[Floats], list[list[int | None]]]:
    """``read_metrics`` with the item of each trial, None where it is none of a run's items."""
    tables, texts = read_texts(problem, frame, arm, reward, segment, item)
    on = [[None if text is None else items.find(text) for text in own] for own in texts]
    if not any(index is not None for own in on for index in own):
        named = [text for own in texts for text in own if text is not None]
        raise checks.InvalidInput(
            "item",
            expected=f"some of the {len(items)} items in column {item!r} of the log",
            got=f"{checks.shown(named[0])} and its like" if named else "none",
            remedy="name another column, or leave it out, and the log's trials count without items",
        )
    return tables, on


def read_texts(
    problem: Problem, frame: Any, arm: str, reward: str, segment: str | None, item: str
) -> tuple[list[Floats], list[list[str | None]]]:
    """``read_metrics`` with the text of each trial's item, None where it has none."""
    first, *rest = problem.metrics
    found = read_groups_on_items(frame, arm, [reward if first == "reward" else first, *rest], segment, item)
    trials = {problem.index(*group): own for group, own in found.items()}
    none = np.empty((0, len(problem.metrics))), list[str | None]()
    chosen = [trials.get(place, none) for place in range(len(problem.cells))]
    return [table for table, _ in chosen], [texts for _, texts in chosen]
