"""What Thompson sampling with a budget pacer earns and spends while it learns, and the mix that it ends with."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bestmix.arrays import Floats
from bestmix.reproduction.rival_instances import Subject
from bestmix.simulation.cells import Truth
from bestmix.strategies.rivals import PacedThompson


@dataclass(frozen=True, eq=False)
class Paced:
    """Means over runs; spending is that of the cost with the largest share of its bound.

    Attributes
    ----------
    best
        Reward of the best mix.
    reward, spending
        While learning.
    final_reward, final_spending
        Of the mix that runs end with: the shares of the later half of the trials.
    loss, kept
        Of these mixes: mean loss against the best one, and how many keep all limits.
    """

    best: float
    reward: float
    spending: float
    final_reward: float
    final_spending: float
    loss: float
    kept: float


def measure_paced(subject: Subject, runs: int, seed: int) -> Paced | None:
    """Simulate the pacer with the subject's budget; None where a bound is not positive, or its noise not simulated."""
    instance, costs = subject.instance, len(subject.instance.bound)
    if not (instance.bound > 0).all():
        return None
    run = PacedThompson().ended(instance, subject.budget)
    if run is None:
        return None
    answer, weight, pulls = np.zeros((runs, 1 + costs), np.int64), np.zeros((runs, 1 + costs)), np.zeros(runs, np.int64)
    late, spend = np.empty((runs, len(instance.arms))), np.empty((runs, 1 + costs))
    run(np.random.default_rng([seed, subject.budget]), answer, weight, pulls, late, spend)
    return summarise(subject, late, spend)


def summarise(subject: Subject, late: Floats, spend: Floats) -> Paced:
    """What runs came to: shares of the later half (runs, K), mean reward and costs while learning (runs, 1 + L)."""
    instance, truth = subject.instance, Truth.of(subject.instance)
    final, runs = late @ instance.means, len(late)
    mixed = np.zeros((runs, 1 + len(instance.bound)), dtype=np.int64)  # whatever the basis: a mix, and no verdict
    judged = truth.judge(mixed, final, np.full(runs, subject.budget))
    return Paced(
        truth.best.value,
        float(spend[:, 0].mean()),
        float((spend[:, 1:] / instance.bound).max(axis=1).mean()),
        float(final[:, 0].mean()),
        float((final[:, 1:] / instance.bound).max(axis=1).mean()),
        float(judged.loss.mean()),
        float((judged.violation <= 0).mean()),
    )


def paced_rows(asked: Sequence[Subject], runs: int, seed: int) -> list[dict[str, str]]:
    """A row for each instance that the pacer can be run on."""
    rows = []
    for subject in asked:
        if one := measure_paced(subject, runs, seed):
            rows.append(
                {
                    "paced Thompson": subject.name,
                    "requests": f"{subject.budget:,}",
                    "best reward": f"{one.best:.3f}",
                    "while learning": f"{one.reward:.3f}",
                    "spending / bound": f"{one.spending:.3f}",
                    "mix at the end": f"{one.final_reward:.3f}",
                    "its spending / bound": f"{one.final_spending:.3f}",
                    "its loss": f"{one.loss:.4f}",
                    "limits kept": f"{one.kept:.0%}",
                }
            )
    return rows
