"""Trials on shared items: how many fewer they are than trials on items of each arm's own, at equal error.

An instance of the catalog with normal noise, part of which an item has in common for all arms: the correlation of two
arms' results on one item. And real prompts: the package ``paretobandit`` with the reward and the dollars of three
models on each (``pip install paretobandit``, for this bench alone). Both ways run Challenger, which does not know of
items; the answers know them. A claim is safe when what was claimed of the support, or of the limits, was true at least
as often.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from rich.progress import track
from scipy.special import ndtri

from bench.spend import BOUND, read_prompts, support
from bench.timing import Figure, console
from bestmix import Challenger, Instance, Items, Problem, catalog

TITLE = "Shared items: trials on fresh items over trials on shared ones, at equal error"
CASES = {"A1": 2_000}  # about the fresh trials that 10% error takes
CORRELATIONS = {0.0: 0.9, 0.3: 1.2, 0.6: 1.7, 0.9: 3.0}  # with the least ratio at 10% error
SIGMA = np.array([1.0, 0.5])  # of reward and costs
STEPS = (0.35, 0.7, 1.4, 2.8)  # of a case's trials
ERRORS = (0.1, 0.01)
REAL = (60, 120, 240, 480)  # trials on real prompts
NOISE = 3.0  # standard errors by which a share of runs may be below a claim by chance

Draw = Callable[[int, Sequence[int]], np.ndarray]  # an arm's results on items (m, 1 + L)


class Ended(NamedTuple):
    """What a run ended with."""

    right: bool
    claimed: float  # chance of the support
    kept: bool
    certain: float  # chance of the limits


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    runs = runs or (4 if quick else 60)
    cases, claims = dict(list(CASES.items())[: 1 if quick else None]), list[Ended]()
    ratios: dict[float, list[list[float | None]]] = {rho: [] for rho in CORRELATIONS}
    for name, trials in track(cases.items(), "instances", console=console, transient=True):
        instance = catalog.load(name)
        fresh = needed(instance, trials, None, runs, [])
        for rho in CORRELATIONS:
            shared = needed(instance, trials, rho, runs, claims)
            ratios[rho].append([None if f is None or s is None else f / s for f, s in zip(fresh, shared, strict=True)])
    found = []
    for rho, least in CORRELATIONS.items():
        for place, error in enumerate(ERRORS):
            known = [pair[place] for pair in ratios[rho] if pair[place] is not None]
            mean = float(np.exp(np.mean(np.log(known)))) if known else None  # type: ignore[arg-type]
            what = f"correlation {rho:g}, {100 * error:g}% error: fresh over shared"
            found.append(Figure(what, mean, "x", least if error == ERRORS[0] else None))
    return [*found, *safe("drawn instances", claims), *real(runs)]


def needed(instance: Instance, trials: int, rho: float | None, runs: int, claims: list[Ended]) -> list[float | None]:
    """Trials for each error, on shared items with a correlation or on fresh ones."""
    steps = STEPS if rho is None else tuple(step * (1.0 - 0.9 * rho) for step in STEPS)
    means, truth, rates = np.column_stack([instance.reward, instance.cost.T]), support(instance), []
    scale = np.r_[SIGMA[0], np.full(means.shape[1] - 1, SIGMA[1])]
    for place, step in enumerate(steps):
        budget, ended = int(step * trials), list[Ended]()
        for run in range(runs):
            rng = np.random.default_rng([31, place, run, 0 if rho is None else 1 + int(100 * rho)])
            draw = noisy(means, scale, rho or 0.0, budget, rng)
            items = None if rho is None else Items(budget, seed=run)
            ended.append(one(instance.problem, budget, items, draw, truth, means))
        rates.append(1.0 - float(np.mean([run.right for run in ended])))
        claims += ended
    console.print(
        "fresh" if rho is None else f"shared, {rho:g}", np.round(steps, 2).tolist(), np.round(rates, 3).tolist()
    )
    return [trials_for(steps, rates, error) for error in ERRORS]


def noisy(means: np.ndarray, scale: np.ndarray, rho: float, items: int, rng: np.random.Generator) -> Draw:
    """Results with noise that items have in common."""
    common = rng.normal(size=(items, means.shape[1]))

    def draw(arm: int, on: Sequence[int]) -> np.ndarray:
        own = rng.normal(size=(len(on), means.shape[1]))
        return np.asarray(means[arm] + scale * (np.sqrt(rho) * common[list(on)] + np.sqrt(1.0 - rho) * own))

    return draw


def one(problem: Problem, budget: int, items: Items | None, draw: Draw, truth: set[str], means: np.ndarray) -> Ended:
    """A run of Challenger."""
    search, names = Challenger().start(problem, budget, items=items), list(problem.arms)
    while owed := search.ask():
        for arm, count in owed.items():
            rows = draw(names.index(arm), range(count) if items is None else search.items(arm))
            search.tell(arm, rows[:, 0], rows[:, 1:])
    rec = search.recommend()
    cost = np.array([rec.mixture.get(arm, 0.0) for arm in names]) @ means[:, 1:]
    kept = bool((cost <= problem.bound + 1e-12).all())
    return Ended(set(rec.support) == truth, rec.support_probability or 0.0, kept, rec.certainty or 0.0)


def trials_for(steps: Sequence[float], rates: Sequence[float], error: float) -> float | None:
    """The trials at which so many are wrong: errors fall as normal tails of the root of the trials do."""
    score = -ndtri(np.clip(np.array(rates), 2e-3, 1 - 2e-3))
    if score.max() <= score.min():
        return None
    slope, level = np.polyfit(np.sqrt(np.array(steps)), score, 1)
    root = (-ndtri(error) - level) / slope
    return None if slope <= 0 or root <= 0 else float(root**2)


def safe(where: str, claims: Sequence[Ended]) -> list[Figure]:
    """What was true less what was claimed, in points; above zero but for chance."""
    found = []
    for what, true, claimed in (("support", "right", "claimed"), ("limits", "kept", "certain")):
        happened = np.array([getattr(run, true) for run in claims], dtype=float)
        less = 100.0 * (happened - np.array([getattr(run, claimed) for run in claims]))
        chance = 100.0 * NOISE * float(happened.std()) / np.sqrt(len(claims))
        note = (
            f"claimed {100 * happened.mean() - less.mean():.1f}%, true {100 * happened.mean():.1f}%, {len(claims)} runs"
        )
        found.append(Figure(f"{where}: {what}, true less claimed", float(less.mean()), "points", -chance, note=note))
    return found


def real(runs: int) -> list[Figure]:
    """The same on real prompts: shared, or drawn for each model by itself."""
    prompts = read_prompts()
    if prompts is None:
        return [Figure("real prompts: fresh over shared", None, "x", note="pip install paretobandit")]
    tables = np.stack([prompts.rewards, prompts.dollars], axis=2)  # (prompts, models, 2)
    means, number = tables.mean(axis=0), len(tables)
    truth = support(Instance(means[:, 0], means[:, 1:].T, [BOUND], arms=prompts.models))
    rates, claims = {True: list[float](), False: list[float]()}, list[Ended]()
    for place, budget in enumerate(REAL):
        for shared in (True, False):
            ended = []
            for run in range(2 * runs):
                order = Items(number, shared, seed=1000 * place + run)
                ended.append(one(prompts.problem, budget, order, lambda arm, on: tables[list(on), arm], truth, means))
            rates[shared].append(1.0 - float(np.mean([run.right for run in ended])))
            claims += ended if shared else []
    console.print("real prompts", REAL, {k: np.round(v, 3).tolist() for k, v in rates.items()})
    found = []
    for error in ERRORS:
        few, many = (trials_for(REAL, rates[shared], error) for shared in (True, False))
        ratio = None if few is None or many is None else many / few
        found.append(
            Figure(
                f"real prompts, {100 * error:g}% error: fresh over shared", ratio, "x", 1.2 if error == 0.1 else None
            )
        )
    return [*found, *safe("real prompts", claims)]
