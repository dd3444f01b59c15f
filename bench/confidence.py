"""Challenger that stops when it is sure: how often it is wrong, and what the certainty costs.

The cost is the mean number of trials, relative to the budget at which Challenger with a fixed budget is
wrong in as many runs as it may be.
"""

from rich.progress import track

from bench.timing import Figure, console
from bestmix import Challenger, Instance, catalog, families, simulate
from bestmix.reproduction.trials import ENOUGH
from bestmix.strategies.challenger import NEWEST
from bestmix.theory.planning.error_rates import ErrorRates, trials_for

TITLE = "Stopping at a confidence"
DELTAS = (0.05, 0.01)
SEED, CAP = 7_000_003, 10**9


def measure(quick: bool) -> list[Figure]:
    runs = 500 if quick else 5_000
    some = instances(quick)
    return near_ties(runs) + [
        figure
        for name in track(some, "instances", console=console, transient=True)
        for figure in judge(name, some[name], runs)
    ]


def instances(quick: bool) -> dict[str, Instance]:
    """The catalog, instances with uniform means, and small ones, on which a single rival decides."""
    found = {name: catalog.load(name) for name in catalog.names()[:: 4 if quick else 1]}
    noise = {"sigma_reward": 0.1, "sigma_cost": 0.5}
    found["3 arms, 1 cost"] = Instance([0.6, 0.7, 0.9], [[1.0, 4.0, 9.0]], [5.0], **noise)
    found["2 arms, 1 cost"] = Instance([0.6, 0.62], [[1.0, 4.0]], [5.0], **noise)
    for arms, costs, count in ((4, 1, 6), (16, 1, 10), (24, 2, 5)):
        for seed in range(2_000, 2_000 + (1 if quick else count)):
            found[f"uniform {arms} x {costs}, seed {seed}"] = families.uniform_instance(arms, costs, seed)
    return found


def near_ties(runs: int) -> list[Figure]:
    """Two arms whose rewards differ by little, in standard deviations, where any fixed level is passed by chance."""
    figures = []
    for gap in (0.2, 0.05, 0.01):
        instance = Instance([0.6, 0.6 + 0.1 * gap], [[1.0, 4.0]], [5.0], sigma_reward=0.1, sigma_cost=0.5)
        for delta in DELTAS:
            for edition in (1, NEWEST):
                stopped = simulate(instance, Challenger(delta=delta, edition=edition), CAP, runs, SEED, threads=1)
                low, high = stopped.interval
                what = f"two arms {gap} apart, delta {delta}, edition {edition}: errors"
                note = f"{low:.2%} to {high:.2%}; {stopped.mean_pulls:,.0f} trials"
                figures.append(Figure(what, 100 * stopped.error_rate, "%", 100 * delta, at_most=True, note=note))
    return figures


def judge(name: str, instance: Instance, runs: int) -> list[Figure]:
    """Error and cost for each delta."""
    rates, points = ErrorRates(instance, Challenger(), SEED, threads=1), {}
    while not points or points[max(points)] > ENOUGH:
        budget = rates.growing(len(points))
        points[budget] = rates.rough_rate(budget, runs)
    figures = []
    for delta in DELTAS:
        stopped = simulate(instance, Challenger(delta=delta), CAP, runs, SEED)
        fixed = trials_for(delta, points, runs)
        what, note = f"{name}, delta {delta}", f"{stopped.mean_pulls:,.0f} trials against {fixed:,.0f}"
        figures.append(Figure(f"{what}: errors", 100 * stopped.error_rate, "%", 100 * delta, at_most=True))
        figures.append(Figure(f"{what}: trials", stopped.mean_pulls / fixed, target=2.5, at_most=True, note=note))
    return figures
