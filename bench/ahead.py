"""Planning ahead: how long an experiment takes with 8 workers whose trials take log-normal times, and its errors."""

import heapq
from dataclasses import dataclass, field

import numpy as np
from rich.progress import track

from bench.timing import Figure, console
from bestmix import Challenger, Instance, catalog, families, open_experiment, solve

TITLE = "Planning ahead: time with 8 workers and log-normal durations"
WORKERS = 8
SPREAD = 1.0  # of the logarithm of a duration


@dataclass(order=True)
class Running:
    """A trial that is under way, in the order in which they end."""

    ends: float
    token: int
    trial: object = field(compare=False)


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    runs = runs or (3 if quick else 40)
    cases = [("16 arms, 300 trials", families.uniform_instance(16, 1, 5), 300, 30)]
    cases += [] if quick else [("D2P, 3,000 trials", catalog.load("D2P"), 3_000, 32)]
    return [figure for case in cases for figure in compared(*case, runs)]


def compared(name: str, instance: Instance, budget: int, ahead: int, runs: int) -> list[Figure]:
    """Time over the ideal, in which no worker ever waits, and wrong supports, with and without planning ahead."""
    waits, plans = (
        np.array([outcome(instance, budget, slots, seed) for seed in track(range(runs), name, console=console)])
        for slots in (0, ahead)
    )
    note = f"{waits[:, 0].mean():.2f} -> {plans[:, 0].mean():.2f} times the ideal"
    wrong = f"{100 * waits[:, 1].mean():.0f}% -> {100 * plans[:, 1].mean():.0f}% wrong supports of {runs} runs"
    return [
        Figure(f"{name}: time", plans[:, 0].mean() / waits[:, 0].mean(), "x", 1.0, at_most=True, note=note),
        Figure(f"{name}: wrong supports", 100 * plans[:, 1].mean(), "%", note=wrong),
    ]


def outcome(instance: Instance, budget: int, ahead: int, seed: int) -> tuple[float, bool]:
    """Time over the ideal, and whether the support is wrong."""
    exp = open_experiment("memory://", "bench", instance.problem, budget, Challenger(ahead=ahead), lease=1e7)
    rng, now, paid, running = np.random.default_rng(seed), 0.0, 0.0, list[Running]()
    while not exp.done:
        for trial in exp.ask(WORKERS - len(running)) if len(running) < WORKERS else []:
            duration = float(rng.lognormal(0.0, SPREAD))
            paid += duration
            heapq.heappush(running, Running(now + duration, trial.token, trial))
        ended = heapq.heappop(running)
        now = ended.ends
        reward, *costs = instance.draw(instance.arms.index(ended.trial.arm), 1, rng)[0].tolist()
        exp.tell(ended.trial, reward, costs)
    best = solve(instance)
    support = {arm for arm, share in zip(instance.arms, best.mixture, strict=True) if share > 0}
    return now / (paid / WORKERS), set(exp.recommend(safety=None).support) != support
