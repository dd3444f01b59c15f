"""Courses of live traffic: how often rounds truly exceed a limit, and what a request loses."""

from typing import NamedTuple

import numpy as np
from rich.progress import track

from bench.timing import Figure, console
from bestmix import Instance, catalog, solve
from bestmix.answers import noisy_program
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.programs import program_of
from bestmix.kernels import jit
from bestmix.strategies.traffic import Traffic, exploration, plan_round

TITLE = "Courses of live traffic without a round that truly exceeds a limit, and regret of a request"
ROUNDS, EXPLORE, BEFORE = 30, 0.05, 10  # rounds, exploring share, trials of each arm beforehand
FEW = 2000  # requests up to which trials are drawn one by one
KEPT = 95.0  # % of courses in which no round may exceed a limit
FIRST_SEED = 5000  # smaller ones were used for tuning
RULES = {
    "this rule": Traffic(EXPLORE),
    "this rule at 95%": Traffic(EXPLORE, safety=0.95),
    "what is left carried over, at 95%": Traffic(EXPLORE, safety=0.95, carry=True),
    "the plan, optimum served": None,
    "uniform exploration, optimum served": None,
}


class Course(NamedTuple):
    """What each round of a course was truly like: cost above the bound in the worst limit, so far and in the round."""

    excess: np.ndarray  # (rounds,)
    total: np.ndarray  # (rounds,) the same of all requests so far, of which the costs are as they came
    regret: np.ndarray  # (rounds,)
    explore: np.ndarray  # (rounds,)


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    runs = runs or (3 if quick else 60)
    jit.ENOUGH_WORK = 0  # thousands of decisions: machine code for all of them
    cases = {"A2": (catalog.load("A2"), 1000), "D2P": (catalog.load("D2P"), 2000), "prices": (prices(), 1000)}
    cases |= {} if quick else {"A2, ten million requests": (catalog.load("A2"), 333_334)}
    return [figure for name, (instance, size) in cases.items() for figure in compared(name, instance, size, runs)]


def prices() -> Instance:
    """Five arms whose prices are 150-fold apart, the limit between them."""
    dollars = np.array([0.01, 0.04, 0.15, 0.6, 1.5])
    return Instance([0.55, 0.62, 0.70, 0.76, 0.80], [dollars], [0.3], sigma_reward=0.4, sigma_cost=0.3 * dollars[None])


def compared(name: str, instance: Instance, size: int, runs: int) -> list[Figure]:
    figures = []
    for rule in RULES:
        listed = track(range(FIRST_SEED, FIRST_SEED + runs), f"{name}: {rule}", console=console, transient=True)
        courses = [course(instance, size, rule, seed) for seed in listed]
        excess, total, regret, explore = (np.array(part) for part in zip(*courses, strict=True))
        kept = 100 * (excess <= 1e-12).all(axis=1).mean()
        note = (
            f"rounds above {100 * (excess > 1e-12).mean():.1f}%, all requests so far {100 * (total > 0).mean():.1f}%; "
            f"regret {regret[:, :5].mean():.4f}, then {regret[:, -10:].mean():.4f}; "
            f"explores {100 * explore.mean():.2f}%"
        )
        console.print(f"{name}, {size} a round, {rule}: {kept:.1f}% without a round above, {note}", highlight=False)
        target = KEPT if RULES[rule] == Traffic(EXPLORE) else None
        figures.append(Figure(f"{name}, {size} a round: {rule}", kept, "%", target, note=note))
    return figures


def course(instance: Instance, size: int, rule: str, seed: int) -> Course:
    """One course of a rule."""
    rng, best = np.random.default_rng(seed), solve(instance).value
    moments = [sums(instance, arm, BEFORE, rng) for arm in range(len(instance.arms))]
    start, told = Evidence(instance.problem, list(moments)), np.zeros((4, ROUNDS))
    above = np.zeros(len(instance.bound))
    for k in range(ROUNDS):
        weights, explored = chosen(Evidence(instance.problem, list(moments)), start, rule, size)
        mean = weights @ instance.means
        counts = rng.multinomial(size, weights / weights.sum())
        for arm in np.flatnonzero(counts):
            new = sums(instance, int(arm), int(counts[arm]), rng)
            above += counts[arm] * (new.mean()[1:] - instance.bound)
            moments[arm] = moments[arm].joined(new)
        told[:, k] = (mean[1:] - instance.bound).max(), above.max(), best - mean[0], explored
    return Course(*told)


def chosen(evidence: Evidence, start: Evidence, rule: str, size: int) -> tuple[np.ndarray, float]:
    """Weights of a round, and the share that explores."""
    traffic = RULES[rule]
    if traffic is not None:
        plan = plan_round(evidence, traffic, size, start)
        return np.array([plan.weights[""].get(arm, 0.0) for arm in evidence.problem.arms]), plan.explore
    program = program_of(evidence)
    mix = noisy_program.solve(program).weights
    even = np.full(len(mix), 1.0 / len(mix))
    if rule.startswith("the plan"):
        even = exploration(evidence, program, mix, EXPLORE, size, np.zeros(1, dtype=np.bool_))
    return (1.0 - EXPLORE) * mix + EXPLORE * even, EXPLORE


def sums(instance: Instance, arm: int, count: int, rng: np.random.Generator) -> Moments:
    """Sums of trials of an arm; of many, drawn as a whole (exact in law for Gaussian trials)."""
    if count <= FEW:
        return Moments(instance.means.shape[1]).plus(instance.draw(arm, count, rng))
    size = instance.means.shape[1]
    root = np.linalg.cholesky(instance.covariance[arm])
    low = np.tril(rng.standard_normal((size, size)), -1) + np.diag(
        np.sqrt(rng.chisquare(count - 1.0 - np.arange(size)))
    )
    mean = instance.means[arm] + root @ rng.standard_normal(size) / np.sqrt(count)
    return Moments.from_statistics(count, mean, root @ low @ low.T @ root.T)
