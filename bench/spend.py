"""A budget of money: how much less the price-aware Challenger has to spend than one that does not look at prices.

Both stop when the money is spent; the blind one allocates as if all trials cost the same. Instances are those of the
catalog, with prices drawn log-uniformly from 1 to 100, and real model traffic: every prompt of the package
``paretobandit`` with the reward and the dollars of three models (``pip install paretobandit``, for this bench alone).
"""

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtri

from bench.timing import Figure, console
from bestmix import Challenger, Instance, Problem, Spend, catalog, solve
from bestmix.answers.evidence import Evidence
from bestmix.strategies.protocol import Memory
from bestmix.strategies.purse import Purse

TITLE = "A budget of money: spend of the blind rule over that of the price-aware one, at equal error"
WRONG = (0.1, 0.01)  # shares of wrong supports at which the spends are compared
GOAL = 1.4  # the blind rule's spend over the price-aware one's
CASES = {"A1": 24_000.0, "A2": 32_000.0, "uniform 6 x 1": 24_000.0, "uniform 8 x 1": 8_000.0}
STEPS = (0.5, 1.0, 2.0)  # of a case's amount
DRAWS = 3  # of the prices of an instance
BOUND = 0.0020  # dollars a prompt of the real models may cost in the mean
REAL = 0.40  # dollars for all trials of the real models


class Blind(Challenger):
    """Challenger that takes all trials for equally dear, but for what is left of the money."""

    def begin_paid(self, problem: Problem, purse: Purse) -> Memory:
        """The first share of the money, evenly."""
        return super().begin_paid(problem, evened(purse))

    def close_paid(self, evidence: Evidence, purse: Purse, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """A round by what trials help, whatever they cost."""
        return super().close_paid(evidence, evened(purse), memory)


def evened(purse: Purse) -> Purse:
    """The same prices for all arms: what a trial has cost so far in the mean."""
    made = int(purse.counts.sum())
    mean = float(purse.counts @ purse.price) / made if made else float(purse.price.mean())
    return purse._replace(price=np.full_like(purse.price, mean))


@dataclass(frozen=True)
class Prompts:
    """Real prompts with the reward and the dollars of each model (prompts, models)."""

    models: tuple[str, ...]
    rewards: np.ndarray
    dollars: np.ndarray

    @property
    def problem(self) -> Problem:
        """The best mix of the models within a mean price."""
        return Problem(self.models, {"dollars": BOUND})

    def draw(self, arm: int, count: int, rng: np.random.Generator) -> np.ndarray:
        """Reward and dollars of a model on prompts that are drawn."""
        rows = rng.integers(len(self.rewards), size=count)
        return np.column_stack([self.rewards[rows, arm], self.dollars[rows, arm]])


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    runs = runs or (4 if quick else 100)
    cases = list(CASES.items())[: 1 if quick else None]
    steps = STEPS[:2] if quick else STEPS
    ratios = {name: compared(load(name), amount, steps, runs) for name, amount in cases}
    found = []
    for place, wrong in enumerate(WRONG):
        what = f"prices 1 to 100, {wrong:.0%} wrong: blind over aware"
        one = {name: pair[place] for name, pair in ratios.items()}
        found += [Figure(f"{name}, {what}", ratio) for name, ratio in one.items()]
        known = [ratio for ratio in one.values() if ratio is not None]
        mean = float(np.exp(np.mean(np.log(known)))) if known else None
        found.append(Figure(f"geometric mean, {what}", mean, "x", GOAL, note=f"{DRAWS * runs} runs of each spend"))
    return [*found, *real_models(runs)]


def load(name: str) -> Instance:
    from bestmix import families

    if name in catalog.names():
        return catalog.load(name)
    arms, costs = (int(n) for n in name.removeprefix("uniform ").split(" x "))
    return families.uniform_instance(arms, costs, 77)


def compared(instance: Instance, amount: float, steps: tuple[float, ...], runs: int) -> list[float | None]:
    """Spend of the blind rule over that of the aware one, at each of ``WRONG``."""
    rates = {name: [0.0] * len(steps) for name in ("aware", "blind")}
    arms = instance.problem.arms
    for draw in range(DRAWS):
        rng = np.random.default_rng([2024, draw])
        price = np.exp(rng.uniform(0.0, np.log(100.0), len(arms)))
        prices = dict(zip(arms, price.tolist(), strict=True))
        scale = float(np.mean(price)) / 20.0
        for place, step in enumerate(steps):
            spend = Spend(step * amount * scale, "dollars", prices=prices)
            for name, strategy in (("aware", Challenger()), ("blind", Blind())):
                wrong = sum(is_wrong(strategy, instance, spend, [draw, place, run]) for run in range(runs))
                rates[name][place] += wrong / runs / DRAWS
    console.print({name: np.round(rate, 3).tolist() for name, rate in rates.items()})
    seen = 1.0 / (DRAWS * runs)  # the smallest share that can be told from none
    rates = {name: np.clip(rate, seen / 2, 1.0 - seen / 2).tolist() for name, rate in rates.items()}
    needed = [[spend_for(steps, rate, wrong) for rate in rates.values()] for wrong in WRONG if wrong > 2 * seen]
    ratios = [None if aware is None or blind is None else blind / aware for aware, blind in needed]
    return [*ratios, *[None] * (len(WRONG) - len(ratios))]


def is_wrong(strategy: Challenger, instance: Any, spend: Spend, seed: Any, truth: set[str] | None = None) -> bool:
    search, rng = strategy.start(instance.problem, spend), np.random.default_rng(seed)
    names = list(instance.problem.names)
    while owed := search.ask():
        for arm, count in owed.items():
            rows = instance.draw(names.index(arm), count, rng)
            search.tell(arm, rows[:, 0], rows[:, 1:])
    right = support(instance) if truth is None else truth
    return set(search.recommend(safety=None).support) != right


def support(instance: Instance) -> set[str]:
    return {arm for arm, share in zip(instance.arms, solve(instance).mixture, strict=True) if share > 0}


def spend_for(steps: tuple[float, ...], rates: list[float], wrong: float) -> float | None:
    """The spend at which so many are wrong: errors fall as normal tails of the root of the spend do."""
    score = -ndtri(np.array(rates))
    if score.max() <= score.min():
        return None
    slope, level = np.polyfit(np.sqrt(np.array(steps)), score, 1)
    root = (-ndtri(wrong) - level) / slope
    return None if slope <= 0 or root <= 0 else float(root**2)


def real_models(runs: int) -> list[Figure]:
    """Wrong supports at equal spend on real prompts, whose prices are learnt."""
    prompts = read_prompts()
    name = f"real models, {REAL:g} dollars: wrong supports"
    if prompts is None:
        return [Figure(name, None, "%", note="pip install paretobandit")]
    means = np.column_stack([prompts.rewards.mean(axis=0), prompts.dollars.mean(axis=0)])
    truth = support(Instance(means[:, 0], means[:, 1:].T, [BOUND], arms=prompts.models))
    aware, blind = (
        100.0 * np.mean([is_wrong(s, prompts, Spend(REAL, "dollars"), [7, run], truth) for run in range(3 * runs)])
        for s in (Challenger(), Blind())
    )
    note = f"the blind rule {blind:.1f}%, {3 * runs} runs, {len(prompts.rewards):,} prompts"
    return [Figure(name, float(aware), "%", float(blind), at_most=True, note=note)]


def read_prompts() -> Prompts | None:
    """The prompts, if the package is installed; it is not imported, since that needs more."""
    spec = importlib.util.find_spec("pareto_bandit")
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).parent / "data/examples/test_holdout.jsonl"
    rows = [json.loads(line)["arms"] for line in file.read_text().splitlines()]
    models = tuple(sorted({model for row in rows for model in row}, key=lambda model: model))
    whole = [row for row in rows if set(row) == set(models)]
    tables = [np.array([[row[model][what] for model in models] for row in whole]) for what in ("reward", "cost")]
    return Prompts(models, *tables)
