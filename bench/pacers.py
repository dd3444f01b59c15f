"""Courses of budget pacers: routers that decide request by request, with a price that follows the spending.

``thompson`` is the rule of ``PacedThompson``, all courses at once; ``package`` is the router of ``paretobandit`` itself
(``pip install paretobandit``, for this bench alone), without the contexts of its prompts, which need an encoder.
"""

import logging
from collections.abc import Iterator, Sequence
from importlib.util import find_spec

import numpy as np

from bestmix import Instance
from bestmix.strategies.rivals import PacedThompson

TARGETS = {"tight": 3.0e-4, "moderate": 6.62e-4}  # dollars a request, as in the package's own experiments
PRIOR = 1164.0  # requests that its prior counts for, as in the package's own experiments


def installed() -> bool:
    """Whether the package is there, with what it needs."""
    return all(find_spec(name) is not None for name in ("pareto_bandit", "joblib", "sklearn"))


def thompson(
    instance: Instance, size: int, rounds: int, before: int, seeds: Sequence[int]
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Shares of arms (courses, K) in each round, and the sums of their costs as they came (courses, L)."""
    rule, rng, bound = PacedThompson(), np.random.default_rng(list(seeds)), instance.bound
    runs, arms, every = len(seeds), len(instance.arms), np.arange(len(seeds))
    first = np.array([instance.draw(a, runs * before, rng).reshape(runs, before, -1) for a in range(arms)])
    sums, squares = first.sum(axis=2), (first[..., 0] ** 2).sum(axis=2)  # (K, courses, 1 + L), (K, courses)
    counts = np.full((arms, runs), float(before))
    smooth, price = np.tile(bound, (runs, 1)), np.zeros((runs, len(bound)))
    for _ in range(rounds):
        drawn = np.array([instance.draw(a, runs * size, rng).reshape(size, runs, -1) for a in range(arms)])
        noise, started, spent = rng.standard_normal((size, arms, runs)), counts.copy(), np.zeros((runs, len(bound)))
        for i in range(size):
            mean = sums / counts[..., None]
            variance = (squares - counts * mean[..., 0] ** 2).sum(axis=0) / (counts - 1.0).sum(axis=0)
            value = mean[..., 0] + np.sqrt(variance / counts) * noise[i] - (mean[..., 1:] * price / bound).sum(axis=2)
            chosen = value.argmax(axis=0)
            told = drawn[chosen, i, every]
            counts[chosen, every] += 1.0
            sums[chosen, every] += told
            squares[chosen, every] += told[:, 0] ** 2
            spent += told[:, 1:]
            smooth += rule.smoothing * (told[:, 1:] - smooth)
            price = np.clip(price + rule.rate * (smooth / bound - 1.0), 0.0, rule.most)
        yield ((counts - started) / size).T, spent


def package(
    instance: Instance, size: int, rounds: int, before: int, seed: int, warm: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The same of one course of the package's router, (1, K) and (1, 1).

    It is told as many trials of each arm as the others and has no constant preference for cheap arms, so that the
    pacer decides alone; or, ``warm``, all of its defaults and a prior at the true mean rewards.
    """
    from pareto_bandit import BanditRouter
    from pareto_bandit.budget_pacer import BudgetPacer
    from pareto_bandit.feature_service import FeatureService

    logging.getLogger("pareto_bandit").setLevel(logging.CRITICAL)
    rng, x, arms = np.random.default_rng(seed), np.ones(1), {arm: a for a, arm in enumerate(instance.arms)}
    router = BanditRouter.create(
        feature_service=FeatureService.for_precomputed(1),
        priors="none",
        budget_pacer=BudgetPacer(float(instance.bound[0])),
        bandit_seed=seed,
        **({} if warm else {"cost_penalty": 0.0}),
    )
    for arm, a in arms.items():
        for row in instance.draw(a, before, rng):
            router.bandit.update(arm, x, float(row[0]), advance_time=False)
        if warm:
            mean, bandit = instance.means[a, :1], router.bandit
            bandit.A[arm], bandit.A_inv[arm] = np.full((1, 1), PRIOR), np.full((1, 1), 1.0 / PRIOR)
            bandit.b[arm], bandit.theta[arm] = PRIOR * mean, mean.copy()
    for _ in range(rounds):
        drawn, counts, spent = [instance.draw(a, size, rng) for a in arms.values()], np.zeros(len(arms)), 0.0
        for i in range(size):
            arm, log = router.route(x)
            reward, log.cost_usd = map(float, drawn[arms[arm]][i])
            router.process_feedback(log.request_id, reward=reward)
            counts[arms[arm]] += 1.0
            spent += log.cost_usd
        yield counts[None] / size, np.full((1, 1), spent)
