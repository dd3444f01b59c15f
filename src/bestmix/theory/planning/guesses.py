"""What a plan starts from: guessed means in an instance, or a pilot log that is turned into one."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.logs.from_log import log_evidence
from bestmix.answers.programs import program_of, segment_shares
from bestmix.answers.tradeoff_sources import of_log
from bestmix.arrays import Floats
from bestmix.problems import catalog
from bestmix.problems import noise as models
from bestmix.problems.instance import Instance
from bestmix.problems.layouts import places
from bestmix.problems.problem import Known, Problem
from bestmix.problems.rows import parse_limits
from bestmix.problems.segment_instance import SegmentInstance

PILOT = 100  # trials of each arm that guessed means are taken to be worth


def as_instance(source: Any) -> Instance | None:
    """The instance that was given, by its file or by its name in the catalog too; None for a log."""
    if isinstance(source, str) and catalog.has(source):
        return catalog.load(source)
    if isinstance(source, (str, os.PathLike)) and Path(source).suffix.lower() in (".toml", ".json"):
        return Instance.load(source)
    return source if isinstance(source, Instance) else None


def read_guess(
    source: Any,
    asked: Mapping[str, Any],
    arm: str,
    reward: str,
    drop_missing: bool,
    pilot: float = PILOT,
    segment: str | tuple[str, str] | None = None,
) -> tuple[Instance, Floats]:
    """The guessed instance, and how many trials of each unknown arm it is worth; ``asked``, ``segment``: of a log."""
    guess = as_instance(source)
    if guess is not None:
        if any(asked[name] is not None for name in ("bounds", "known")) or asked["limits"] or segment:
            raise checks.InvalidInput("bounds", "an instance has its own bounds and known arms", "leave these out")
        worth = checks.number("pilot", pilot, "give a number of trials, such as 100")
        if worth <= 0:
            raise checks.InvalidInput(
                "pilot", expected="a positive number of trials", got=f"{worth:g}", remedy="try 100"
            )
        return guess, np.full(len(guess.problem.cells), worth)
    return read_log(source, arm, reward, drop_missing, segment, **asked)


def read_log(
    source: Any,
    arm: str,
    reward: str,
    drop_missing: bool = False,
    segment: str | tuple[str, str] | None = None,
    *,
    known: Mapping[str, Known] | None = None,
    **asked: Any,
) -> tuple[Instance, Floats]:
    """The instance whose means are the estimates of a log, and how many trials of each arm there are.

    The goal and the limits on means of a log with one segment are turned into those of an instance of arrays: a reward
    to maximise, and costs to keep below bounds. ``segment`` is the column of the segments, or with one of them.
    """
    asked["known"] = known
    if isinstance(segment, str) or (segment is None and not _on_means(asked)):
        evidence, _ = log_evidence(source, arm, reward, drop_missing, segment, **asked)
        return _of_program(evidence), evidence.counts.astype(np.float64)
    evidence, _ = of_log(source, arm, reward, drop_missing, segment, **asked)
    if evidence.pooled is None:
        raise checks.InvalidInput(
            "log", expected="an arm with at least two trials", got="none", remedy="without a spread nothing is planned"
        )
    means, problem = evidence.means, evidence.problem
    return Instance(
        means[:, 0],
        means[:, 1:].T,
        problem.bound,
        noise=models.Gaussian(covariance=evidence.support_estimates.covariances),
        known=len(problem.known),
        arms=problem.names,
        costs=problem.costs,
    ), evidence.counts.astype(np.float64)


def _on_means(asked: Mapping[str, Any]) -> bool:
    """Whether all limits are on means alone."""
    limits = parse_limits(asked["limits"], asked["bounds"] or {})
    return all(not limit.on_share and limit.arm is None and not limit.equality for limit in limits)


def _of_program(evidence: Evidence) -> SegmentInstance:
    """An instance with the estimates for true means, normal noise, and the shares of segments of the log."""
    problem, program = evidence.problem, program_of(evidence, as_possible=True)
    untried = [name for name, n in zip(problem.trial_names, evidence.counts, strict=True) if not n]
    if untried or not program.judgeable:
        fault = f"there is no trial of '{untried[0]}'" if untried else "no arm has two trials"
        raise checks.InvalidInput("log", fault, "every arm needs some in every segment to be planned with")
    covariance = np.empty_like(program.data.covariances)
    covariance[places(problem)] = program.data.covariances
    data = problem.to_dict()
    if problem.segments and not problem.flows:
        data["segments"] = dict(zip(problem.segments, segment_shares(evidence)[0].tolist(), strict=True))
    means = evidence.measured[: len(problem.cells)]
    return SegmentInstance(Problem.from_dict(data), means, noise=models.Gaussian(covariance=covariance))
