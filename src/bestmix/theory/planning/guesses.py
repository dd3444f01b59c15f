"""What a plan starts from: guessed means in an instance, or a pilot log that is turned into one."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.answers.tradeoff_sources import of_log
from bestmix.arrays import Floats
from bestmix.problems import catalog
from bestmix.problems import noise as models
from bestmix.problems.instance import Instance

PILOT = 100  # trials of each arm that guessed means are taken to be worth


def read_guess(
    source: Any,
    asked: Mapping[str, Any],
    arm: str,
    reward: str,
    drop_missing: bool,
    pilot: float = PILOT,
    segment: tuple[str, str] | None = None,
) -> tuple[Instance, Floats]:
    """The guessed instance, and how many trials of each unknown arm it is worth; ``asked``, ``segment``: of a log.

    A log's goal and limits are turned into those of an instance: a reward to maximise, and costs to keep below bounds.
    """
    if isinstance(source, str) and source in catalog.names():
        source = catalog.load(source)
    if isinstance(source, (str, os.PathLike)) and Path(source).suffix.lower() in (".toml", ".json"):
        source = Instance.load(source)
    if isinstance(source, Instance):
        if any(asked[name] is not None for name in ("bounds", "known")) or asked["limits"] or segment:
            raise checks.InvalidInput("bounds", "an instance has its own bounds and known arms", "leave these out")
        worth = checks.number("pilot", pilot, "give a number of trials, such as 100")
        if worth <= 0:
            raise checks.InvalidInput(
                "pilot", expected="a positive number of trials", got=f"{worth:g}", remedy="try 100"
            )
        return source, np.full(len(source.problem.arms), worth)
    evidence, _ = of_log(source, arm, reward, drop_missing, segment, **asked)
    if evidence.covariances is None:
        raise checks.InvalidInput(
            "log", expected="an arm with at least two trials", got="none", remedy="without a spread nothing is planned"
        )
    means, problem = evidence.means, evidence.problem
    return Instance(
        means[:, 0],
        means[:, 1:].T,
        problem.bound,
        noise=models.Gaussian(covariance=evidence.covariances),
        known=len(problem.known),
        arms=problem.names,
        costs=problem.costs,
    ), evidence.counts.astype(np.float64)
