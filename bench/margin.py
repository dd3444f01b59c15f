"""The last share of a fixed budget for the margin of the safe mix: what the deployed mix loses, with and without it."""

import numpy as np
from rich.progress import track

from bench.timing import Figure, console
from bestmix import Challenger, Instance, catalog, families, solve

TITLE = "The last 30% of the trials to the margin of the safe mix"
SHARE = 0.3
CASES = {"H2": 8_000, "A2": 6_000, "D2P": 20_000, "H1": 20_000, "D3P": 20_000, "uniform 12 x 2": 6_000}


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    runs = runs or (10 if quick else 150)
    cases = list(CASES.items())[: 2 if quick else None]
    listed = track(cases, "instances", console=console, transient=True)
    return [figure for name, budget in listed for figure in compared(name, load(name), budget, runs)]


def load(name: str) -> Instance:
    return catalog.load(name) if name in catalog.names() else families.uniform_instance(12, 2, 77)


def compared(name: str, instance: Instance, budget: int, runs: int) -> list[Figure]:
    """Loss of the safe mix against that without the share, of the same runs; and how often the support is wrong."""
    plain, narrow = (
        np.array([outcome(strategy, instance, budget, seed) for seed in range(runs)])
        for strategy in (Challenger(), Challenger(margin_share=SHARE))
    )
    change = narrow[:, 0] - plain[:, 0]
    error = 1.96 * change.std(ddof=1) / np.sqrt(runs)
    losses = f"{plain[:, 0].mean():.4f} -> {narrow[:, 0].mean():.4f}, {change.mean():+.4f} +- {error:.4f}"
    console.print(f"{name}, {budget} trials: loss {losses}", highlight=False)
    what = f"{name}, {budget} trials"
    shares = [f"{100 * plain[:, k].mean():.1f}% -> {100 * narrow[:, k].mean():.1f}%" for k in (1, 2)]
    return [
        Figure(f"{what}: loss", narrow[:, 0].mean() / plain[:, 0].mean(), "x", 1.0, at_most=True, note=losses),
        Figure(f"{what}: limits broken", 100 * narrow[:, 1].mean(), "%", note=shares[0]),
        Figure(f"{what}: wrong supports", 100 * narrow[:, 2].mean(), "%", note=shares[1]),
    ]


def outcome(strategy: Challenger, instance: Instance, budget: int, seed: int) -> tuple[float, bool, bool]:
    """Loss of the recommended mix, whether it breaks a limit, and whether the support is wrong."""
    search, rng = strategy.start(instance.problem, budget), np.random.default_rng(seed)
    while owed := search.ask():
        for arm, count in owed.items():
            rows = instance.draw(instance.arms.index(arm), count, rng)
            search.tell(arm, rows[:, 0], rows[:, 1:])
    said, best = search.recommend(), solve(instance)
    mean = np.array([said.mixture.get(arm, 0.0) for arm in instance.arms]) @ instance.means
    excess = np.maximum(mean[1:] - instance.bound, 0.0)
    support = {arm for arm, share in zip(instance.arms, best.mixture, strict=True) if share > 0}
    return best.value - mean[0] + excess @ best.dual, bool((excess > 1e-12).any()), set(said.support) != support
