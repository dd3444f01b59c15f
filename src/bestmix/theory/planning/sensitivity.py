"""What a plan is worth when the guesses are a little wrong: budgets of instances drawn around them."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from bestmix.arrays import Floats
from bestmix.problems import noise as models
from bestmix.problems.instance import Instance
from bestmix.problems.segment_instance import SegmentInstance
from bestmix.problems.solution import solve
from bestmix.problems.uniqueness import broken_condition
from bestmix.simulation.executors import cores, interruptible
from bestmix.strategies import Strategy
from bestmix.theory.planning.bisection import Bisection
from bestmix.theory.planning.error_rates import ErrorRates

RUNS = 300  # of each budget of a draw: a rough figure is enough
MANY_DRAWS = 10  # of which a part can be told
FURTHEST = 64  # times the planned budget, where the search for a draw's budget ends


@dataclass(frozen=True)
class Sensitivity:
    """Budgets of one strategy for instances drawn around the guesses.

    Attributes
    ----------
    strategy
        Whose budgets.
    budgets
        One for each draw, ascending; None, at the end, for a draw that needs more than ``furthest`` trials.
    same_support
        Share of the draws whose best mix has the guessed support.
    furthest
        Where the search was given up.
    planned
        The budget planned for the guesses themselves, estimated in the same rough way.
    """

    strategy: str
    budgets: tuple[int | None, ...]
    same_support: float
    furthest: int
    planned: int | None

    def quantile(self, share: float) -> int | None:
        """The budget that is enough for this share of the draws; None beyond ``furthest``."""
        place = min(int(np.ceil(share * len(self.budgets))), len(self.budgets)) - 1
        return self.budgets[max(place, 0)]

    def sentence(self, from_log: bool = False) -> str:
        """The finding in plain language; ``from_log`` where the guesses are means of a pilot log."""
        draws = len(self.budgets)
        lead = "Means of a pilot may be luck: in" if from_log else "Guesses a little off: in"
        whose = "these means" if from_log else "the guesses"
        ends = (0.1, 0.9) if draws >= MANY_DRAWS else (0.0, 1.0)
        low, middle, high = (self._shown(self.quantile(q)) for q in (ends[0], 0.5, ends[1]))
        which = "80% of the draws: " if draws >= MANY_DRAWS else "from the least to the most: "
        return (
            f"{lead} {draws} draws around them {self.strategy} needs about {middle} trials ({which}{low} to {high}), "
            f"and {self._shown(self.planned)} for {whose} themselves by the same quick estimate; "
            f"{self.same_support:.0%} of the draws have the same support."
        )

    def _shown(self, budget: int | None) -> str:
        return f"more than {self.furthest:,}" if budget is None else f"{budget:,}"


def sensitivity_of(
    instance: Instance,
    counts: Floats,
    strategy: Strategy,
    error: float,
    planned: int,
    draws: int,
    seed: int,
    threads: int | None,
    arriving: bool = False,
) -> Sensitivity:
    """Estimate the strategy's budget for instances whose means scatter like those of ``counts`` trials."""
    rng = np.random.default_rng([seed, draws])
    best, furthest = solve(instance), FURTHEST * planned
    drawn = [around(instance, counts, rng) for _ in range(draws)]
    solved = [solve(one) for one in drawn]

    def need(one: Instance) -> int | None:
        if solve(one).feasible and broken_condition(one):
            return None
        return Bisection(ErrorRates(one, strategy, seed, 1, arriving), error).quick(planned, RUNS, furthest)

    with interruptible(ThreadPoolExecutor(threads or cores())) as pool:
        rough, *budgets = pool.map(need, [instance, *drawn])
    ordered = sorted(b for b in budgets if b is not None)
    beyond = (None,) * (draws - len(ordered))
    same = sum(s.feasible == best.feasible and s.basis == best.basis for s in solved)
    return Sensitivity(strategy.name, (*ordered, *beyond), same / draws, furthest, rough)


def around(instance: Instance, counts: Floats, rng: np.random.Generator) -> Instance:
    """An instance whose unknown means scatter around this one's like those of so many trials."""
    means = instance.means.copy()
    for a, count in enumerate(counts):
        spread = models.root(instance.covariance[a] / count)
        means[a] += spread @ rng.standard_normal(means.shape[1])
    return with_means(instance, means)


def with_means(instance: Instance, means: Floats) -> Instance:
    """The same problem and noise with other means, as far as the noise allows them."""
    noise: Any = instance.noise
    if isinstance(noise, models.Mixed):
        means = np.where(noise.binary, np.clip(means, 0.0, 1.0), means)
        total = np.where(noise.exclusive, means, 0.0).sum(axis=1, keepdims=True)
        means = np.where(noise.exclusive, means / np.maximum(total, 1.0), means)
    if isinstance(noise, models.Empirical):
        shifts = means - instance.means
        noise = models.Empirical([table + shift for table, shift in zip(noise.tables, shifts, strict=True)])
        means = noise.means
    elif isinstance(noise, models.Bounded):
        means = np.clip(means, noise.low, noise.high)
    elif isinstance(noise, models.Bernoulli):
        columns = slice(None) if noise.sigma_cost is None else slice(0, 1)
        means = means.copy()
        means[:, columns] = np.clip(means[:, columns], 0.0, 1.0)
    if isinstance(instance, SegmentInstance):
        return instance.with_means(means, noise)
    names: dict[str, Any] = {"known": instance.known, "arms": instance.arms, "costs": instance.costs}
    return Instance(means[:, 0], means[:, 1:].T, instance.bound, noise=noise, **names)
