"""What a plan starts from: guessed means in an instance, or a pilot log that is turned into one."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.logs.evidence import evidence_of, log_evidence, of_log
from bestmix.answers.programs import program_of, segment_shares
from bestmix.arrays import Flags, Floats
from bestmix.problems import catalog
from bestmix.problems import noise as models
from bestmix.problems.instance import Instance
from bestmix.problems.layouts import places
from bestmix.problems.problem import Problem
from bestmix.problems.quantities import Visit
from bestmix.problems.rows import is_bound, log_rows, parse_limits
from bestmix.problems.segment_instance import SegmentInstance

PILOT = 100  # trials of each arm that guessed means are taken to be worth
STEPS: Mapping[str, Any] = {"discount": None, "start": None, "next_state": "next"}  # of a log of trials


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
    in_words: bool = False,
) -> tuple[Instance, Floats]:
    """The guessed instance, and how many trials of each unknown arm it is worth; ``asked``, ``segment``: of a log.

    With ``in_words`` a log's goal and limits stay what they are: an instance of arrays has a reward and upper bounds.
    """
    guess = as_instance(source)
    if guess is not None:
        given = ("bounds", "known", "features", "discount", "start")
        if any(asked.get(name) is not None for name in given) or asked["limits"] or segment:
            raise checks.InvalidInput("bounds", "an instance has its own bounds and known arms", "leave these out")
        worth = checks.number("pilot", pilot, "give a number of trials, such as 100")
        if worth <= 0:
            raise checks.InvalidInput(
                "pilot", expected="a positive number of trials", got=f"{worth:g}", remedy="try 100"
            )
        return guess, np.full(len(guess.problem.cells), worth)
    return read_log(source, arm, reward, drop_missing, segment, in_words=in_words, **asked)


def read_log(
    source: Any,
    arm: str,
    reward: str,
    drop_missing: bool = False,
    segment: str | tuple[str, str] | None = None,
    in_words: bool = False,
    **asked: Any,
) -> tuple[Instance, Floats]:
    """The instance whose means are the estimates of a log, and how many trials of each arm there are.

    The goal and the limits on means of a log with one segment are turned into those of an instance of arrays: a reward
    to maximise, and costs to keep below bounds. ``segment`` is the column of the segments, or with one of them.
    """
    steps = {name: asked.pop(name, other) for name, other in STEPS.items()}
    features = asked.pop("features", None)
    if features is not None or steps != STEPS:
        if isinstance(segment, tuple):
            raise checks.InvalidInput(
                "segment", "one segment alone goes without features and states", "give a log of its rows alone"
            )
        evidence, _ = evidence_of(source, arm, reward, drop_missing, segment, features=features, **steps, **asked)
        return _of_fit(evidence) if features is not None else _of_steps(evidence), _worth(evidence)
    other = not _on_means(asked) or (in_words and not _on_bounds(asked))
    if isinstance(segment, str) or (segment is None and other):
        evidence, _ = log_evidence(source, arm, reward, drop_missing, segment, **asked)
        return _of_program(evidence), _worth(evidence)
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
    ), _worth(evidence)


def _worth(evidence: Evidence) -> Floats:
    """As how many trials of its own each arm's estimate counts."""
    return evidence.counts.astype(np.float64) if evidence.fit is None else evidence.fit.worth


def _on_means(asked: Mapping[str, Any]) -> bool:
    """Whether all limits are on means alone."""
    limits = parse_limits(asked["limits"], asked["bounds"] or {})
    return all(not limit.on_share and limit.arm is None and not limit.equality for limit in limits)


def _on_bounds(asked: Mapping[str, Any]) -> bool:
    """Whether something is to be maximised within upper bounds alone."""
    limits = parse_limits(asked["limits"], asked["bounds"] or {})
    return log_rows(asked["goal"], asked["limits"], asked["bounds"], "reward").goal.maximise and all(
        map(is_bound, limits)
    )


def _of_fit(evidence: Evidence) -> SegmentInstance:
    """An instance with the fitted means for true ones, so that arms are linear in their features, and normal noise."""
    fit = evidence.fit
    if fit is None:
        raise checks.InvalidInput(
            "features", "the trials do not bear a fit by them", "leave them out, or make more trials"
        )
    for name, means in zip(evidence.problem.trial_names, fit.means, strict=True):
        if np.isnan(means).any():
            raise checks.InvalidInput("features", f"no trial tells of '{name}'", "try it, or another of its kind")
    noise = models.Gaussian(covariance=fit.covariances)
    return SegmentInstance(evidence.problem, evidence.measured[: len(fit.means)], noise=noise)


def _of_steps(evidence: Evidence) -> SegmentInstance:
    """An instance with the estimates for true means, and the deviation of each metric that all actions have together.

    Values that were 0 or 1 in all trials stay such, and so do the states that come next.
    """
    problem, counts = evidence.problem, evidence.counts
    freedom = np.maximum(counts - 1, 0).sum()
    if not counts.all() or not freedom:
        untried = [name for name, n in zip(problem.trial_names, counts, strict=True) if not n]
        fault = f"there is no trial of '{untried[0]}'" if untried else "no action has two trials"
        raise checks.InvalidInput("log", fault, "every action needs some in every state to be planned with")
    deviation = np.sqrt(np.diagonal(evidence.measured_scatters.sum(axis=0)) / freedom)
    events: Flags = np.asarray(evidence.events[: len(counts)].all(axis=0))
    told = [m for m, measure in enumerate(problem.rows.measures) if not isinstance(measure, Visit)]
    return SegmentInstance(
        problem,
        evidence.measured[: len(counts)],
        sigma={problem.measures[m]: float(deviation[m]) for m in told if not events[m]},
        events=[problem.measures[m] for m in told if events[m]],
    )


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
