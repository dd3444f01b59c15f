"""The answer of a run, live or durable: what its strategy, its budget and the log that it began with add to it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from bestmix.answers.conflict import with_conflict
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.recommend import recommend
from bestmix.answers.recommendation import Recommendation
from bestmix.arrays import Integers
from bestmix.strategies.ending import ending
from bestmix.strategies.protocol import Memory, Strategy, certified_mix, least_scatter, left_out, mixes


def run_answer(
    strategy: Strategy,
    evidence: Evidence,
    columns: Integers | None,
    memory: Memory,
    log: tuple[Sequence[Moments], Sequence[Moments | None], float],
    uncounted: int,
    made: int,
    **told: Any,
) -> Recommendation:
    """The recommendation of a run, and notes on the log before it, on results that do not count, and on its end.

    Parameters
    ----------
    strategy, memory
        Of the run.
    evidence, columns
        What the trials have told, and what may be used.
    log
        The sums of all trials, those of the log that it began with, and what a trial of that counts for.
    uncounted, made
        Results that the schedule has no place for, and all trials.
    **told
        The rest of ``recommend``.
    """
    problem = evidence.problem
    rec = recommend(
        replace(evidence, least=least_scatter(strategy, problem)),
        columns,
        strategy=strategy.name,
        mixes=mixes(strategy),
        certified=certified_mix(strategy, problem, memory),
        **told,
    )
    rec = with_conflict(rec, *log)
    notes = rec.note, left_out(strategy, uncounted), ending(strategy, rec, memory, made)
    return replace(rec, note=" ".join(filter(None, notes)))
