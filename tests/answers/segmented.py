"""Problems with segments and their trials, for tests."""

import numpy as np

from bestmix import Problem
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments

ARMS = ["small", "medium", "large"]
QUALITY = {"free": (0.85, 0.92, 0.97), "paid": (0.6, 0.8, 0.95)}
DOLLARS = (0.1, 0.4, 2.0)
SHARES = {"free": 0.7, "paid": 0.3}


def problem(*limits, segments=SHARES, known=None):
    return Problem(ARMS, goal="minimise dollars", limits=["quality >= 0.87", *limits], known=known, segments=segments)


def trial(arm, segment, rng):
    place = ARMS.index(arm)
    dollars = DOLLARS[place] * (0.8 + 0.4 * rng.random())
    return {"dollars": dollars, "quality": float(rng.random() < QUALITY[segment][place])}


def evidence(asked, trials=400, seed=0):
    """What so many trials of each arm in each segment tell."""
    rng = np.random.default_rng(seed)
    moments = []
    for cell in asked.cells:
        like = cell.segment if cell.segment in QUALITY else "free"
        rows = [trial(cell.arm, like, rng) for _ in range(trials)]
        table = asked.trial_rows({name: [row[name] for row in rows] for name in asked.metrics})
        moments.append(Moments(len(asked.measures)).plus(asked.rows.measure(table)))
    return Evidence(asked, moments)
