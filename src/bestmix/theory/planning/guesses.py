"""What a plan starts from: guessed means in an instance, or a pilot log that is turned into one."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.tables import read_trials
from bestmix.arrays import Floats
from bestmix.problems import catalog
from bestmix.problems import noise as models
from bestmix.problems.instance import Instance
from bestmix.problems.problem import Known, Problem


def read_guess(
    source: Any,
    bounds: Mapping[str, float] | None,
    known: Mapping[str, Known] | None,
    arm: str,
    reward: str,
    drop_missing: bool,
    pilot: float,
) -> tuple[Instance, Floats]:
    """The guessed instance, and how many trials of each unknown arm it is worth."""
    if isinstance(source, str) and source in catalog.names():
        source = catalog.load(source)
    if isinstance(source, (str, os.PathLike)) and Path(source).suffix.lower() in (".toml", ".json"):
        source = Instance.load(source)
    if isinstance(source, Instance):
        if bounds is not None or known is not None:
            raise checks.InvalidInput("bounds", "an instance has its own bounds and known arms", "leave these out")
        worth = checks.number("pilot", pilot, "give a number of trials, such as 100")
        if worth <= 0:
            raise checks.InvalidInput(
                "pilot", expected="a positive number of trials", got=f"{worth:g}", remedy="try 100"
            )
        return source, np.full(len(source.problem.arms), worth)
    limits = dict(checks.mapping("bounds", bounds or {}, "of cost columns to bounds"))
    rows = read_trials(source, arm, reward, list(limits), drop_missing)
    problem = Problem(list(rows), limits, known)
    moments = [Moments(1 + len(limits)).plus(table) for table in rows.values()]
    evidence = Evidence(problem, moments)
    if evidence.covariances is None:
        raise checks.InvalidInput(
            "log", expected="an arm with at least two trials", got="none", remedy="without a spread nothing is planned"
        )
    means = evidence.means
    return Instance(
        means[:, 0],
        means[:, 1:].T,
        problem.bound,
        noise=models.Gaussian(covariance=evidence.covariances),
        known=len(problem.known),
        arms=problem.names,
        costs=problem.costs,
    ), evidence.counts.astype(np.float64)
