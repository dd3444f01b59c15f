"""Requests of live traffic for tests: sums of drawn metrics."""

import numpy as np

from bestmix import Problem, Traffic

ROUTER = Problem(["small", "large"], {"dollars": 1.0})
MEANS = {"small": (0.5, 0.25), "large": (0.75, 1.5)}
QUICK = Traffic(explore="10%", serve="small", requests=400, seconds=60.0)


def row(version, arm, table, segment=None):
    """A row of a report from requests (n, 2)."""
    products = table.T @ table
    data = {"version": version, "arm": arm, "n": len(table)}
    data["sums"] = dict(zip(("reward", "dollars"), table.sum(axis=0).tolist(), strict=True))
    names = ("reward*reward", "reward*dollars", "dollars*dollars")
    data["products"] = dict(zip(names, products[np.triu_indices(2)].tolist(), strict=True))
    return data | ({} if segment is None else {"segment": segment})


def drawn(arm, n, rng):
    """Metrics of requests, in quarters, so that their sums are exact."""
    return np.round(4 * (np.array(MEANS[arm]) + 0.5 * rng.standard_normal((n, 2)))) / 4


def report(experiment, requests, rng):
    """Rows of requests that follow the weights."""
    now = experiment.weights()
    counts = rng.multinomial(requests, list(now.weights.values()))
    return [row(now.version, a, drawn(a, n, rng)) for a, n in zip(now.weights, counts, strict=True) if n]
