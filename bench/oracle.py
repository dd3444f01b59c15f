"""What knowing the instance would be worth: fixed shares of the trials, chosen with the true means, against Challenger.

The shares are those with the least sum of normal tails of the answer's conditions. They cannot react to what the
trials say, so that an adaptive strategy may well need fewer.
"""

from collections.abc import Callable
from functools import partial

import numpy as np
from rich.progress import track
from scipy.optimize import minimize
from scipy.stats import norm

from bench.timing import Figure, console
from bestmix import Instance, catalog, solve
from bestmix.kernels import conditions, jit
from bestmix.plots.gains import geometric_mean
from bestmix.problems.solution import solve_means
from bestmix.reproduction import beyond
from bestmix.reproduction.trials import ENOUGH, RIVALS, STRATEGIES, TARGETS
from bestmix.simulation.cells import BLOCK
from bestmix.theory.planning.error_rates import HOPELESS, ErrorRates, trials_for

TITLE = "Trials that shares need which know the instance, and that Challenger needs, for the same error"
SEED = 9_000_011


def measure(quick: bool) -> list[Figure]:
    runs, count = (250, 1) if quick else (2_000, 12)
    groups = {
        family.label: [family.make(family.arms, family.costs, seed) for seed in range(3_000, 3_000 + count)]
        for family in beyond.FAMILIES
        if family.costs < 3
    }
    groups["D"] = [catalog.load(name) for name in catalog.names() if name.startswith("D")][: 1 if quick else None]
    figures = []
    for label, instances in groups.items():
        needs = [needed(instance, runs) for instance in track(instances, label, console=console, transient=True)]
        for k, target in enumerate(TARGETS):
            shares, ours, paper = (geometric_mean([need[who][k] for need in needs]) for who in range(3))
            note = f"of SFSR and SFSR-L the better needs {paper / ours:.2f} times Challenger's; {len(needs)} instances"
            figures.append(Figure(f"{label}, {target:.0%} error: fixed shares", shares / ours, note=note))
    return figures


def needed(instance: Instance, runs: int) -> list[list[float]]:
    """Trials for each target: of fixed shares, of Challenger, of the better of the paper's."""
    pulls = {}
    for strategy in STRATEGIES:
        rates = ErrorRates(instance, strategy, SEED, threads=1)
        pulls[strategy.name] = climb(rates, partial(rates.rough_rate, runs=runs), runs)
    shares = FixedShares(instance)
    better = [min(pulls[name][k] for name in RIVALS) for k in range(len(TARGETS))]
    return [climb(rates, lambda budget: shares.error(budget, runs), runs), pulls["Challenger"], better]


def climb(rates: ErrorRates, error: Callable[[int], float], runs: int) -> list[float]:
    """Trials for each target, from the errors at growing budgets."""
    points: dict[int, float] = {}
    while not points or points[max(points)] > ENOUGH:
        budget = rates.growing(len(points))
        points[budget] = error(budget)
    return [trials_for(target, points, runs) for target in TARGETS]


class FixedShares:
    """Each arm's share of the trials, chosen with the true means and covariances, the same for all arms here."""

    def __init__(self, instance: Instance) -> None:
        arms, costs = len(instance.arms), len(instance.costs)
        state = conditions.new_state(arms, arms, costs)
        state.counts[:] = 1  # so that every arm's covariance is the pooled one
        state.pooled[:] = np.diag([1.0] + [0.25] * costs)
        speed = jit.speed_for(instance.means.size)
        speed(conditions.solve)(instance.means, instance.bound, np.arange(arms + costs), state)
        speed(conditions.conditions)(state)
        term = np.zeros((len(state.gap), arms))  # of each condition's variance, over the trials of an arm
        for i, j in enumerate(state.basis.column):
            if j < arms:
                term[:, j] += state.coefficient[i]
        term[np.arange(arms), np.arange(arms)] += state.own[:arms]
        open_to_doubt = term.any(axis=1) & np.isfinite(state.gap)
        self.gap, self.term = state.gap[open_to_doubt], term[open_to_doubt]
        self.instance, self.basis = instance, solve(instance).basis
        self.rng = np.random.default_rng(SEED)

    def trials(self, budget: int) -> np.ndarray:
        """Of each arm, at least one."""

        def log_error(log_share: np.ndarray) -> tuple[float, np.ndarray]:
            share = np.exp(log_share - log_share.max())
            share /= share.sum()
            variance = self.term @ (1 / share) / budget
            z = self.gap / np.sqrt(variance)
            tail = norm.logsf(z)
            total = np.logaddexp.reduce(tail)
            slope = np.exp(norm.logpdf(z) - total) * z / (2 * variance) @ (-self.term / share**2 / budget)
            return float(total), share * (slope - share @ slope)

        found = minimize(log_error, np.zeros(len(self.instance.arms)), jac=True, method="L-BFGS-B").x
        trials: np.ndarray = np.maximum(budget * np.exp(found - np.logaddexp.reduce(found)), 1.0)
        return trials

    def error(self, budget: int, runs: int) -> float:
        """How often the best mix of the estimates has another basis; from fewer runs where that is often."""
        deviation = np.r_[1.0, [0.5] * len(self.instance.costs)] / np.sqrt(self.trials(budget))[:, None]
        wrong = 0
        for run in range(runs):
            noise = deviation * self.rng.normal(size=deviation.shape)
            found = solve_means(self.instance.means + noise, self.instance.bound)
            wrong += not found.feasible or found.basis != self.basis
            if run == BLOCK - 1 and wrong > HOPELESS * BLOCK:
                return wrong / BLOCK
        return wrong / runs
