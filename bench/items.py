"""Trials on shared items: how many fewer they are than trials on items of each arm's own, at equal error.

Instances with normal noise, part of which an item has in common for all arms: the correlation of two arms' results on
one item. Real prompts: the package ``paretobandit`` with the reward and the dollars of three models on each. And an
instance built so that sharing hurts: whether its best mix keeps a second limit is a matter of levels, not of contrasts.
Both ways run Challenger, which does not know of items; the answers know them. A claim is safe when what was claimed of
the support, or of the limits, was true at least as often.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from rich.progress import track

from bench.ratios import Ratio, gain, pooled, ratio, share
from bench.runs import challenger, use_machine_code
from bench.spend import load, read_prompts, support
from bench.timing import Figure, console
from bestmix import Challenger, Instance, Items, Problem

TITLE = "Shared items: trials on fresh items over trials on shared ones, at equal error"
CASES = {"A1": 1_200, "A2": 2_400}  # about the fresh trials that 10% error takes
CORRELATIONS = {0.3: 1.4, 0.6: 1.9, 0.9: 3.7}  # with the ratio that is wanted at 10% error
SIGMA = 1.0, 0.5  # of reward and costs
STEPS = (0.35, 0.7, 1.4, 2.8)  # of a case's trials
ERRORS = (0.1, 0.01)
REAL = (60, 120, 240, 480, 960)  # trials on real prompts
REAL_GOAL = 1.6
NOISE = 3.0  # standard errors by which a share of runs may be below a claim by chance

Results = Callable[[int, Sequence[int]], np.ndarray]  # an arm's results on items (m, 1 + L)


class Ended(NamedTuple):
    """What a run ended with."""

    right: bool
    claimed: float  # chance of the support
    kept: bool
    certain: float  # chance of the limits


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    use_machine_code()
    runs = runs or (20 if quick else 400)
    found, claims = list[Figure](), list[Ended]()
    cases = dict(list(CASES.items())[: 1 if quick else None])
    fresh = {name: wrong_runs(name, sizes(trials, 0.0), 0.0, runs) for name, trials in cases.items()}
    for rho, goal in CORRELATIONS.items():
        ratios = list[list[Ratio]]()
        for name, trials in cases.items():
            both = sizes(trials, 0.0), sizes(trials, rho)
            shared = wrong_runs(name, both[1], rho, runs)
            ratios.append([ratio(both, fresh[name], shared, error) for error in ERRORS])
        for place, error in enumerate(ERRORS):
            what = f"correlation {rho:g}, {100 * error:g}% error: fresh over shared"
            note = f"by instance {', '.join(str(pair[place]) for pair in ratios)}"
            mean = pooled([pair[place] for pair in ratios])
            found.append(gain(what, mean, goal if error == ERRORS[0] else None, note))
        claims += claimed(rho, max(runs // 10, 2))
    return [*found, *safe("drawn instances", claims), *real(runs), hurt(4 * runs)]


def sizes(trials: int, rho: float) -> list[int]:
    """Numbers of trials around those that 10% error takes."""
    return [int(step * trials * (1.0 - 0.8 * rho)) for step in STEPS]


def wrong_runs(name: str, budgets: Sequence[int], rho: float, runs: int) -> np.ndarray:
    """Which runs (budgets, runs) answer with a wrong support; without a correlation items are as good as fresh."""
    instance = load(name)
    truth, wrong = support(instance), np.zeros((len(budgets), runs), dtype=bool)
    for number in track(range(runs), f"{name}, {rho:g}", console=console, transient=True):
        for place, budget in enumerate(budgets):
            draw = noisy(instance, rho, budget, [31, place, number, int(100 * rho)])
            answer = challenger(instance.problem, budget, lambda a, n, m, d=draw: d(a, range(n, n + m)))
            wrong[place, number] = answer != truth
    shares = (f"{n}: {share(w)}" for n, w in zip(budgets, wrong, strict=True))
    console.print(f"{name}, correlation {rho:g}:", ", ".join(shares))
    return wrong


def noisy(instance: Instance, rho: float, items: int, seed: list[int]) -> Results:
    """Results with noise that items have in common."""
    rng, means = np.random.default_rng(seed), instance.means
    scale = np.r_[SIGMA[0], np.full(means.shape[1] - 1, SIGMA[1])]
    common = rng.normal(size=(items, means.shape[1])) if rho else np.zeros((items, means.shape[1]))

    def draw(arm: int, on: Sequence[int]) -> np.ndarray:
        own = rng.normal(size=(len(on), means.shape[1]))
        return np.asarray(means[arm] + scale * (np.sqrt(rho) * common[list(on)] + np.sqrt(1.0 - rho) * own))

    return draw


def claimed(rho: float, runs: int) -> list[Ended]:
    """Runs on shared items of the first case, with what they claim."""
    name, trials = next(iter(CASES.items()))
    instance, ended = load(name), list[Ended]()
    for number in range(runs):
        budget = int(STEPS[number % len(STEPS)] * trials * (1.0 - 0.8 * rho))
        draw = noisy(instance, rho, budget, [32, number])
        ended.append(one(instance.problem, budget, Items(budget, seed=number), draw, support(instance), instance.means))
    return ended


def one(problem: Problem, budget: int, items: Items, draw: Results, truth: set[str], means: np.ndarray) -> Ended:
    """A search on items."""
    search, names = Challenger().start(problem, budget, items=items), list(problem.arms)
    while owed := search.ask():
        for arm in owed:
            rows = draw(names.index(arm), search.items(arm))
            search.tell(arm, rows[:, 0], rows[:, 1:])
    rec = search.recommend()
    cost = np.array([rec.mixture.get(arm, 0.0) for arm in names]) @ means[:, 1:]
    kept = bool((cost <= problem.bound + 1e-12).all())
    return Ended(set(rec.support) == truth, rec.support_probability or 0.0, kept, rec.certainty or 0.0)


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
        return [Figure("real prompts: fresh over shared", None, "x", note="pip install --no-deps paretobandit")]
    tables = np.stack([prompts.rewards, prompts.dollars], axis=2)  # (prompts, models, 2)
    wrong, claims = np.zeros((2, len(REAL), runs), dtype=bool), list[Ended]()
    for number in track(range(runs), "real prompts", console=console, transient=True):
        rng = np.random.default_rng([33, number])
        orders = [rng.permutation(len(tables)) for _ in prompts.models]
        for way, place in np.ndindex(2, len(REAL)):
            answer = challenger(
                prompts.problem,
                REAL[place],
                lambda a, n, m, way=way, own=orders: tables[own[0 if way else a].take(range(n, n + m), mode="wrap"), a],
            )
            wrong[way, place, number] = answer != prompts.truth
    for way, label in enumerate(("fresh", "shared")):
        shares = (f"{n}: {share(w)}" for n, w in zip(REAL, wrong[way], strict=True))
        console.print(f"real prompts, {label}:", ", ".join(shares))
    for number in range(max(runs // 4, 2)):
        order, budget = Items(len(tables), seed=number), REAL[number % 4]
        means = tables.mean(axis=0)
        claims.append(one(prompts.problem, budget, order, lambda a, on: tables[list(on), a], prompts.truth, means))
    found = []
    for error, goal in zip(ERRORS, (REAL_GOAL, None), strict=True):
        seen = ratio((REAL, REAL), *wrong, error)
        what = f"real prompts, {100 * error:g}% error: fresh over shared"
        found.append(gain(what, seen, goal, f"{runs} runs"))
    return [*found, *safe("real prompts", claims)]


def hurt(runs: int) -> Figure:
    """Right supports where the mean cost of a mix of two arms is close to a second limit."""
    instance = Instance(
        reward=[0.0, 2.0, 0.3], cost=[[0.0, 2.0, 1.0], [0.965, 0.965, 0.0]], bound=[1.0, 1.0], arms=["a", "b", "c"]
    )
    truth, wrong = support(instance), np.zeros((2, runs), dtype=bool)
    for number in track(range(runs), "built to hurt", console=console, transient=True):
        for way in range(2):
            draw = noisy(instance, 0.6 * way, 400, [34, number])
            answer = challenger(instance.problem, 400, lambda a, n, m, d=draw: d(a, range(n, n + m)))
            wrong[way, number] = answer != truth
    fresh, shared = ~wrong
    note = f"{share(fresh)} right on fresh items, {share(shared)} on shared ones; {runs} runs, correlation 0.6"
    less = 100.0 * float(fresh.mean() - shared.mean())
    return Figure("an instance built so that sharing hurts: fewer right supports", less, "points", note=note)
