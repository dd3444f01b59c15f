"""Certified mixes where arms have very different numbers of trials, or users come in blocks of very different sizes.

Each run is a log of its own, from ``from_log``: a quiet arm with hundreds of trials beside a noisy one with a few, as a
new model has them in a log; the same with equal noise; and rows of heavy and light users whose costs differ.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from rich.progress import track

from bench.deploy import BROKEN, at_most
from bench.timing import Figure, console
from bestmix import Recommendation, from_log

TITLE = "Limits broken by certified mixes where trials are unevenly spread"
RUNS = 2_000
FIRST_SEED = 96_000
NOISE = 0.3  # deviation of rewards
REWARDS = (0.5, 0.8)  # of the cheapest arm and of the dearest


class Uneven(NamedTuple):
    """Arms with so many trials, whose costs have these means and deviations; the limit is 1.

    As features they have these means, where these are asked for.
    """

    trials: Sequence[int]
    cost: Sequence[float]
    deviation: Sequence[float]
    features: bool = False

    def __str__(self) -> str:
        counts, spread = ("/".join(f"{x:g}" for x in values) for values in (self.trials, self.deviation))
        return f"{counts} trials, deviations {spread}{', by features' if self.features else ''}"

    def broken(self, rng: np.random.Generator) -> bool | None:
        """Whether a certified mix breaks the limit; None where there is none."""
        rows = [rng.normal(mean, s, n) for mean, s, n in zip(self.cost, self.deviation, self.trials, strict=True)]
        means = np.linspace(*REWARDS, len(self.trials))
        rewards = [rng.normal(mean, NOISE, n) for mean, n in zip(means, self.trials, strict=True)]
        names = [f"arm{a}" for a in range(len(self.trials))]
        log = {"arm": np.repeat(names, self.trials), "reward": np.concatenate(rewards), "cost": np.concatenate(rows)}
        cost = dict(zip(names, self.cost, strict=True))
        features = {name: {"price": mean} for name, mean in cost.items()} if self.features else None
        return too_dear(from_log(log, bounds={"cost": 1.0}, features=features), cost)


class Users(NamedTuple):
    """Blocks of rows whose costs go together; the logarithms of the sizes have this deviation."""

    blocks: int
    spread: float

    def __str__(self) -> str:
        return f"{self.blocks} blocks, deviation of log sizes {self.spread:g}"

    def broken(self, rng: np.random.Generator) -> bool | None:
        """Whether a certified mix breaks the limit; None where there is none."""
        sizes = 2 + (5.0 * np.exp(self.spread * rng.normal(size=self.blocks))).astype(int)
        user = np.repeat(np.arange(self.blocks), sizes)
        arm, apart = rng.integers(0, 2, len(user)), rng.normal(0.0, NOISE, self.blocks)
        cost = np.array([0.6, 1.4])[arm] + apart[user] + rng.normal(0.0, 0.1, len(user))
        reward = np.array(REWARDS)[arm] + rng.normal(0.0, 0.1, len(user))
        log = {"arm": np.array(["a", "b"])[arm], "reward": reward, "cost": cost, "user": user.astype(str)}
        return too_dear(from_log(log, bounds={"cost": 1.0}, block="user"), {"a": 0.6, "b": 1.4})


CASES: tuple[Uneven | Users, ...] = (
    Uneven((500, 5), (0.5, 1.5), (0.05, 0.15)),
    Uneven((500, 5), (0.1, 1.5), (0.02, 0.3)),
    Uneven((500, 20), (0.5, 1.5), (0.02, 0.5)),
    Uneven((100, 4), (0.5, 1.5), (0.02, 0.5)),
    Uneven((500, 20, 5), (0.5, 1.2, 1.5), (0.02, 0.3, 0.3)),
    Uneven((500, 20, 3), (0.5, 1.2, 1.5), (0.02, 0.05, 1.0)),
    Uneven((500, 5), (0.1, 1.5), (0.02, 0.3), features=True),
    Uneven((500, 20, 3), (0.5, 1.2, 1.5), (0.02, 0.05, 1.0), features=True),
    Uneven((500, 5), (0.5, 1.5), (0.15, 0.15)),
    Uneven((500, 20, 5), (0.5, 1.2, 1.5), (0.2, 0.2, 0.2)),
    Uneven((5, 5), (0.5, 1.5), (0.05, 0.15)),
    Users(30, 1.5),
    Users(100, 1.5),
    Users(30, 0.0),
)


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    return [judge(str(case), case.broken, runs or (50 if quick else RUNS)) for case in CASES]


def judge(what: str, broken: Callable[[np.random.Generator], bool | None], runs: int) -> Figure:
    """Of the certified mixes, those that break the limit."""
    listed = track(range(runs), what, console=console, transient=True)
    found = [broken(np.random.default_rng([FIRST_SEED, k])) for k in listed]
    certified, wrong = sum(b is not None for b in found), sum(b is True for b in found)
    share = 100 * wrong / max(certified, 1)
    note = f"95% interval up to {100 * at_most(wrong, max(certified, 1)):.2g}%; {certified} certified of {runs}"
    console.print(f"{what}: {share:.1f}%; {note}", highlight=False)
    return Figure(f"{what}: broken", share, "%", 100 * BROKEN, at_most=True, note=note)


def too_dear(rec: Recommendation, cost: dict[str, float]) -> bool | None:
    if not rec.certified:
        return None
    return sum(share * cost[arm] for arm, share in rec.mixture.items()) > 1.0
