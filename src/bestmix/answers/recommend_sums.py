"""From sums to the recommendation, with the errors of blocks where there are any."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from bestmix import checks
from bestmix.answers.blocks import Blocks, recommend_in_blocks
from bestmix.answers.bootstrap import same_support
from bestmix.answers.evidence import Evidence
from bestmix.answers.item_sums import evidence_on_items
from bestmix.answers.logs.sum_tables import Sums
from bestmix.answers.logs.tables import Group
from bestmix.answers.moments import Moments
from bestmix.answers.number_text import listed
from bestmix.answers.recommend import SAFETY, recommend
from bestmix.answers.recommendation import Recommendation
from bestmix.problems.problem import Problem

UNCERTAINTIES = ("delta", "bootstrap")


def recommend_sums(
    problem: Problem,
    found: Mapping[Group, Sums],
    blocks: int,
    strategy: str,
    *,
    safety: float | None = SAFETY,
    uncertainty: str = "delta",
    resamples: int = 1000,
    seed: int = 0,
    progress: bool = False,
    items: bool = False,
) -> Recommendation:
    """The recommendation from the sums of each arm (in each segment), in so many blocks; 0 for none.

    Where the blocks are ``items`` that arms have met, the covariances of the arms count.
    """
    sums = {problem.index(*group): part for group, part in found.items()}
    moments = moments_of(problem, found)
    if not blocks:
        if uncertainty == "bootstrap":
            fault, remedy = "the bootstrap redraws blocks, and the sums have none", "give them a column block"
            raise checks.InvalidInput("uncertainty", fault, remedy)
        evidence = Evidence(problem, moments)
        return recommend(evidence, evidence.tried, strategy=strategy, safety=safety)
    parts = Blocks.of(problem, sums, blocks)
    if items:
        evidence = evidence_on_items(problem, moments, parts)
        answer = recommend(evidence, evidence.tried, strategy=strategy, safety=safety)
    else:
        answer = recommend_in_blocks(problem, moments, parts, safety, strategy)
    if uncertainty == "delta" or not answer.feasible:
        return answer
    redrawn = partial(parts.redrawn, segments=max(len(problem.segments), 1))
    share = same_support(problem, redrawn, answer.support, resamples, seed, progress)
    return replace(answer, support_probability=share)


def moments_of(problem: Problem, found: Mapping[Group, Sums]) -> list[Moments]:
    """The moments of every arm that can be tried, in each segment."""
    moments = [Moments(len(problem.measures)) for _ in problem.cells]
    for group, part in found.items():
        moments[problem.index(*group)] = part.moments
    return moments


def with_single_trials(evidence: Evidence, note: str) -> str:
    """A note, with the arms that were tried but once."""
    alone = np.flatnonzero(evidence.counts == 1) if evidence.fit is None else ()
    single = [evidence.problem.trial_names[place] for place in alone]
    lonely = f"One trial only, so no interval of its own: {listed(single)}." if single else ""
    return " ".join(filter(None, [lonely, note]))
