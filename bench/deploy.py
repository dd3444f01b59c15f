"""What is deployed: how often limits are truly broken, what safety costs, and whether good enough is good enough.

Safe mixes after uniform trials, on the catalog and on random instances with equal and unequal variances and with 0/1
and rare 0/1 costs; then runs of Challenger with a tolerance, ties included.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from rich.progress import track

from bench.timing import Figure, console
from bestmix import Challenger, Instance, catalog, families, simulate, solve
from bestmix.answers import certificate, safety
from bestmix.arrays import Floats
from bestmix.kernels import conditions, jit
from bestmix.problems.solution import Solution, solve_means
from bestmix.simulation.results import wilson

TITLE = "The deployed mix: limits kept, regret bounded, good enough"
SURE = 0.8  # chance of the support above which the loss is compared with an oracle's
BROKEN, MISSED = 6.0, 5.0  # per cent: the upper end of the interval, and the misses of a 95% bound
LOSS = 1.3  # times the oracle's
DELTA, TOLERANCE, CAP = 0.05, 0.1, 10**7


class Case(NamedTuple):
    """True means, bounds and noise."""

    name: str
    means: Floats
    bound: Floats
    sigma: Floats | None  # deviations (K, 1 + L); None: values of 0 and 1
    correlation: float = 0.0


class Run(NamedTuple):
    """What came of one run; figures of what was not looked at are zero."""

    broken: bool
    certified: bool
    sure: bool
    loss: float
    oracle: float
    likely: bool  # the support is right with a chance of one half at least
    regret_missed: bool
    guess_broken: bool


def measure(quick: bool) -> list[Figure]:
    seeds, runs, trials = (2, 10, (30,)) if quick else (100, 50, (4, 10, 30, 100, 400))
    listed = [(name, cases, n) for name, cases in groups(seeds) for n in trials]
    figures = [f for group in track(listed, "groups", console=console, transient=True) for f in safe(*group, runs)]
    return figures + [f for name in ties() for f in good_enough(name, 20 if quick else 400)]


# --- safe mixes ----------------------------------------------------------------------------------------------


def groups(seeds: int) -> Iterator[tuple[str, list[Case]]]:
    """Families of instances."""
    load, uniform, random = catalog.load, families.uniform_instance, families.random_instance
    yield "catalog", [gaussian(n, load(n)) for n in ("D2P", "D3P", "A2", "H1", "H2")]
    for costs in (1, 2, 3):
        yield f"uniform{costs}", [gaussian(f"u{costs}.{s}", uniform(12, costs, 500 + s)) for s in range(seeds)]
        yield f"random{costs}", [gaussian(f"r{costs}.{s}", random(12, costs, 500 + s, 0.5)) for s in range(seeds)]
        yield f"unequal{costs}", [unequal(f"q{costs}.{s}", uniform(12, costs, 700 + s), s) for s in range(seeds)]
        yield f"binary{costs}", [zero_one(f"b{costs}.{s}", uniform(8, costs, 900 + s), 0.4) for s in range(seeds)]
        yield f"rare{costs}", [zero_one(f"e{costs}.{s}", uniform(8, costs, 1100 + s), 0.03) for s in range(seeds)]


def gaussian(name: str, instance: Instance, factor: Floats | float = 1.0, correlation: float = 0.0) -> Case:
    scale = np.broadcast_to(np.reshape(factor, (-1, 1)), instance.means.shape)
    sigma = np.r_[1.0, np.full(len(instance.bound), 0.5)] * scale
    return Case(name, np.array(instance.means), np.array(instance.bound), sigma, correlation)


def unequal(name: str, instance: Instance, seed: int) -> Case:
    rng = np.random.default_rng([seed, 77])
    return gaussian(name, instance, 10 ** rng.uniform(-0.6, 0.4, len(instance.means)), 0.5)


def zero_one(name: str, instance: Instance, rate: float) -> Case:
    """Rewards and costs of 0 and 1: the means of an instance on [0, 2] put on [0, 1], costs around ``rate``."""
    means = np.clip(np.array(instance.means) / 2.2, 0.02, 0.98)
    means[:, 1:] = np.clip(np.array(instance.means)[:, 1:] * rate, rate / 50, 0.98)
    return Case(name, means, np.array(instance.bound) * rate, None)


def safe(name: str, cases: Sequence[Case], n: int, runs: int) -> list[Figure]:
    """Figures of a family with n trials of each arm."""
    made = [
        run(case, n, rng, solve_means(case.means, case.bound)) for case in cases for rng in generators(case, n, runs)
    ]
    total = {field: sum(float(getattr(one, field)) for one in made) for field in Run._fields}
    what, count = f"{name}, {n} trials an arm", len(made)
    low, high = wilson(int(total["broken"]), count)
    note = (
        f"{100 * low:.1f} to {100 * high:.1f}%; the optimum at the estimates {100 * total['guess_broken'] / count:.0f}%"
    )
    note += f"; {100 * total['certified'] / count:.0f}% certified"
    figures = [Figure(f"{what}: limits broken, upper end", 100 * high, "%", BROKEN, at_most=True, note=note)]
    if total["oracle"] > 0:
        ratio, note = total["loss"] / total["oracle"], f"{total['sure']:.0f} of {count} runs"
        figures.append(Figure(f"{what}: loss / oracle's", ratio, "x", LOSS, at_most=True, note=note))
    if total["likely"]:
        missed, note = 100 * total["regret_missed"] / total["likely"], f"{total['likely']:.0f} of {count} runs"
        figures.append(Figure(f"{what}: regret above its bound", missed, "%", MISSED, at_most=True, note=note))
    return figures


def generators(case: Case, n: int, runs: int) -> Iterator[np.random.Generator]:
    for k in range(runs):
        yield np.random.default_rng([k, n, *map(ord, case.name)])


def run(case: Case, n: int, rng: np.random.Generator, truth: Solution) -> Run:
    """One run: trials, the safe mix and its certificate, and what is true of them."""
    means, scatters = drawn(case, n, rng)
    counts, binary = np.full(len(means), float(n)), np.full(means.shape, case.sigma is None)
    data = safety.estimates(means, scatters, counts, binary)
    guess = solve_means(means, case.bound)
    chance = support_chance(means, scatters, n, case.bound) if guess.status == "optimal" else 0.0
    mix = safety.safe_mix(data, case.bound, chance)
    proof = certificate.certify(data, mix.mixture, case.bound, chance, guess.dual)
    regret = truth.value - mix.mixture @ case.means[:, 0]
    loss = oracle = 0.0
    if chance > SURE:
        known = safety.Estimates(means, covariance(case) * 1e9 / n, np.full(len(means), 1e9), binary & False)
        best = safety.safe_mix(known, case.bound, 1.0 / safety.CAUTION)
        loss, oracle = lost(case, truth, mix.mixture), lost(case, truth, best.mixture)
    return Run(
        broken=breaks(case, mix.mixture),
        certified=mix.certified,
        sure=chance > SURE,
        loss=loss,
        oracle=oracle,
        likely=chance >= 0.5,
        regret_missed=chance >= 0.5 and proof.regret < regret,
        guess_broken=breaks(case, guess.mixture),
    )


def support_chance(means: Floats, scatters: Floats, n: int, bound: Floats) -> float:
    """Estimated chance that the support of the optimum at the estimates is right."""
    state = conditions.new_state(len(means), len(means), len(bound))
    state.counts[:], state.scatter[:] = n, scatters
    speed = jit.speed_for(means.size)
    speed(conditions.solve)(means, bound, np.arange(len(means) + len(bound)), state)
    speed(conditions.pool)(state)
    speed(conditions.conditions)(state)
    return float(speed(conditions.chance)(state))


def drawn(case: Case, n: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """Means and scatters of n trials of every arm, drawn as such for Gaussian trials (Bartlett)."""
    arms, size = case.means.shape
    if case.sigma is None:
        values = (rng.random((arms, n, size)) < case.means[:, None]).astype(float)
        means = values.mean(axis=1)
        rest = values - means[:, None]
        return means, np.einsum("ani,anj->aij", rest, rest)
    root = np.linalg.cholesky(np.eye(size) * (1 - case.correlation) + case.correlation) * case.sigma[:, :, None]
    means = case.means + np.einsum("aij,aj->ai", root, rng.standard_normal((arms, size))) / np.sqrt(n)
    lower = np.tril(rng.standard_normal((arms, size, size)), -1)
    degrees = np.maximum(n - 1.0 - np.arange(size), 0.0)
    squares = np.where(degrees > 0, rng.chisquare(np.maximum(degrees, 1e-9), (arms, size)), 0.0)
    lower[:, np.arange(size), np.arange(size)] = np.sqrt(squares)
    half = root @ lower
    return means, half @ half.transpose(0, 2, 1)


def covariance(case: Case) -> Floats:
    """Of one trial of each arm (K, 1 + L, 1 + L)."""
    size = case.means.shape[1]
    if case.sigma is None:
        return np.asarray(np.einsum("ai,ij->aij", case.means * (1 - case.means), np.eye(size)))
    correlations = np.eye(size) * (1 - case.correlation) + case.correlation
    return np.asarray(case.sigma[:, :, None] * correlations * case.sigma[:, None, :])


def breaks(case: Case, mixture: Floats) -> bool:
    """Whether a limit is truly broken."""
    return bool((mixture @ case.means[:, 1:] > case.bound + 1e-9).any())


def lost(case: Case, truth: Solution, mixture: Floats) -> float:
    """Regret, and the price of what is above the bounds."""
    excess = np.maximum(mixture @ case.means[:, 1:] - case.bound, 0.0)
    return float(truth.value - mixture @ case.means[:, 0] + truth.dual @ excess)


# --- good enough ---------------------------------------------------------------------------------------------


def ties() -> dict[str, Instance]:
    """Instances with and without ties."""
    noise = {"sigma_reward": 1.0, "sigma_cost": 0.5}
    return {
        "A1": catalog.load("A1"),
        "A2": catalog.load("A2"),
        "D2P": catalog.load("D2P"),
        "uniform 16 x 1": families.uniform_instance(16, 1, 2000),
        "arm at its bound": Instance([1.0, 0.6, 0.3, 0.8], [[1.0, 0.5, 0.2, 1.6]], [1.0], **noise),
        "equal arms": Instance([1.7, 2.6, 2.6, 0.5, 1.0], [[0.0, 1.8, 1.8, 0.8, 0.4]], [1.0], **noise),
    }


def good_enough(name: str, runs: int) -> list[Figure]:
    """Runs with a tolerance: how often one is wrong, and the trials against those for the exact support."""
    instance = ties()[name]
    result = simulate(instance, Challenger(delta=DELTA, tolerance=TOLERANCE), CAP, runs, seed=0)
    wrong = int(((result.outcomes.regret > TOLERANCE) | ~(result.outcomes.violation <= 0)).sum())
    low, high = wilson(wrong, runs)
    note = f"{100 * low:.1f} to {100 * high:.1f}%; {result.mean_pulls:,.0f} trials"
    what = f"{name}, tolerance {TOLERANCE}"
    figures = [Figure(f"{what}: wrong", 100 * wrong / runs, "%", 100 * DELTA, at_most=True, note=note)]
    if "arm" not in name:  # the exact rule does not end where there is a tie
        exact = simulate(instance, Challenger(delta=DELTA), CAP, runs, seed=0)
        ratio, note = result.mean_pulls / exact.mean_pulls, f"{solve(instance).value:.3g} at best"
        figures.append(Figure(f"{what}: trials / those for the support", ratio, "x", 1.0, at_most=True, note=note))
    return figures
