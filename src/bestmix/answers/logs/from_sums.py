"""The best mix from sums: of each arm the number of trials, the sums of its metrics and of their products.

That is all that estimates need, whatever the number of trials: one row for each arm (and segment), or several that are
added up.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.logs.evidence import log_problem
from bestmix.answers.logs.sum_tables import BLOCK, Names, read_sums, unit_column
from bestmix.answers.recommend import SAFETY
from bestmix.answers.recommend_sums import UNCERTAINTIES, moments_of, recommend_sums, with_single_trials
from bestmix.answers.recommendation import Recommendation
from bestmix.problems.goals import Goal
from bestmix.problems.known import Known
from bestmix.problems.limits import Limit
from bestmix.problems.rows import log_rows


def from_sums(
    frame: Any,
    arm: str = "arm",
    n: str = "n",
    reward: str = "reward",
    bounds: Mapping[str, float] | None = None,
    known: Mapping[str, Known] | None = None,
    *,
    goal: str | Goal = "maximise reward",
    limits: Sequence[str | Limit] = (),
    segment: str | None = None,
    segments: Mapping[str, float] | None = None,
    safety: float | None = SAFETY,
    block: str | None = BLOCK,
    uncertainty: str = "delta",
    resamples: int = 1000,
    seed: int = 0,
    progress: bool = False,
    item: str | None = None,
    features: Mapping[str, Any] | None = None,
) -> Recommendation:
    """Best mix of arms of which only sums are kept.

    Parameters
    ----------
    frame
        What ``from_log`` takes, or a .json file, with a row for each arm (and segment), or several that are added up:
        the number of trials, the sum of each metric in a column of its name, and the sum of the product of each two
        metrics, squares too, in columns such as ``quality*quality`` and ``quality*dollars``. Sums of third powers,
        ``dollars*dollars*dollars``, may be there: without them nothing is known of how skewed a metric is. A tail has
        its text for a name, as in ``p(seconds > 2)``, and needs no powers. In place of sums it may have means and
        unbiased covariances: ``mean(quality)``, ``var(quality)``, ``cov(quality, dollars)``. ``sums_query`` writes the
        query that makes such a table in a database.
    arm, n, reward, segment
        Names of the columns with the arm, the number of trials, the sum of the reward, and the segment.
    bounds, known, goal, limits, segments, safety
        As for ``from_log``.
    block
        Name of the column with the block of trials that are not independent of each other, such as the day or a hash of
        the user: errors are then those of whole blocks. Without a column ``block``, trials count as independent.
    uncertainty, resamples, seed, progress
        As for ``from_log``; the bootstrap redraws whole blocks.
    item
        Or the name of the column with the item, such as a prompt, that the trials of a row were made on, where arms
        were tried on the same ones: what they have in common on an item counts in all variances.
    features
        As for ``Problem``, by arm; there must be no blocks then.

    Examples
    --------
    >>> sums = {"arm": ["s", "l"], "n": [2, 2], "reward": [2.2, 4.2], "reward*reward": [2.44, 8.84],
    ...         "dollars": [0.2, 4.0], "reward*dollars": [0.24, 8.44], "dollars*dollars": [0.04, 8.08]}
    >>> from_sums(sums, bounds={"dollars": 1.0}, safety=None).mixture
    {'s': 0.5263..., 'l': 0.4736...}
    """
    rows = log_rows(goal, limits, bounds, reward)
    names = Names.of(rows.measures, reward)
    checks.choice("uncertainty", uncertainty, UNCERTAINTIES)
    unit = block if item is None else unit_column(item, None if block == BLOCK else block)
    found, number = read_sums(frame, names, arm, n, segment, unit)
    if features is not None and number:
        raise checks.InvalidInput("features", "with blocks there is no fit of all arms", "leave out the blocks")
    problem = log_problem(list(found), bounds, known, rows.goal, limits, segments, features)
    chosen: dict[str, Any] = {"uncertainty": uncertainty, "resamples": resamples, "seed": seed, "progress": progress}
    answer = recommend_sums(problem, found, number, "sums", safety=safety, items=item is not None, **chosen)
    evidence = Evidence(problem, moments_of(problem, found))
    return replace(answer, note=with_single_trials(evidence, answer.note))
