"""A budget of money: how much less the price-aware Challenger has to spend than one that does not look at prices.

Both stop when the money is spent; the blind one allocates as if all trials cost the same. Instances are those of the
catalog and random ones, with prices that are drawn log-uniformly from 1 to 100 for each run; the money is a multiple of
what an allocation would need that knew the instance and its prices. Both rules get the same trials of an arm. And real
model traffic: every prompt of the package ``paretobandit`` with the reward and the dollars of three models, whose
prices are learnt. Where the dear model is not in the best mix prices matter, where it is they hardly do: both are
shown.
"""

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from bench.ratios import SLACK, Ratio, gain, pooled, ratio, share
from bench.runs import run, use_machine_code
from bench.timing import Figure, console
from bestmix import Challenger, Instance, Problem, Spend, catalog, families, solve
from bestmix.answers.evidence import Evidence
from bestmix.kernels import conditions, jit
from bestmix.strategies.challenger_rounds import doubts
from bestmix.strategies.paid import Paid
from bestmix.strategies.protocol import Memory
from bestmix.strategies.purse import Purse, purse_of

TITLE = "A budget of money: spend of the blind rule over that of the price-aware one, at equal error"
WRONG = (0.1, 0.01)  # shares of wrong supports at which the spends are compared
GOAL = 1.4  # the blind rule's spend over the price-aware one's
CASES = ("A1", "A2", "uniform 6 x 1", "uniform 8 x 1")
STEPS = (1.0, 2.0, 4.0, 8.0)  # of the spend at which the least certain condition is one standard error away
REAL = 0.40  # dollars for all trials of the real models
BOUND = 0.0020  # dollars a prompt of the real models may cost in the mean
BOUNDS = (0.00045, BOUND)  # without the dear model in the best mix, and with it
GOALS = (0.4, 13.1)  # per cent of wrong supports, of the price-aware rule and of the blind one


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
    bound: float = BOUND

    @property
    def problem(self) -> Problem:
        """The best mix of the models within a mean price."""
        return Problem(self.models, {"dollars": self.bound})

    @property
    def truth(self) -> set[str]:
        """The models of the best mix on all prompts."""
        return support(Instance(self.rewards.mean(axis=0), [self.dollars.mean(axis=0)], [self.bound], arms=self.models))

    def draw(self, arm: int, count: int, rng: np.random.Generator) -> np.ndarray:
        """Reward and dollars of a model on prompts that are drawn."""
        rows = rng.integers(len(self.rewards), size=count)
        return np.column_stack([self.rewards[rows, arm], self.dollars[rows, arm]])


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    use_machine_code()
    runs = runs or (10 if quick else 100)
    cases = CASES[2:3] if quick else CASES
    ratios = {name: compared(name, runs) for name in cases}
    found = []
    for place, wrong in enumerate(WRONG):
        what = f"prices 1 to 100, {wrong:.0%} wrong: blind over aware"
        found += [gain(f"{name}, {what}", pair[place], None) for name, pair in ratios.items()]
        mean, note = pooled([pair[place] for pair in ratios.values()]), f"{runs} runs of each of {len(STEPS)} spends"
        found.append(gain(f"geometric mean, {what}", mean, GOAL, note))
    return [*found, *real_models(2 * runs)]


def load(name: str) -> Instance:
    if name in catalog.names():
        return catalog.load(name)
    arms, costs = (int(n) for n in name.removeprefix("uniform ").split(" x "))
    return families.uniform_instance(arms, costs, 77)


def compared(name: str, runs: int) -> list[Ratio]:
    """Spend of the blind rule over that of the aware one, at each of ``WRONG``."""
    instance = load(name)
    truth, wrong = support(instance), np.zeros((2, len(STEPS), runs), dtype=bool)
    for number in track(range(runs), name, console=console, transient=True):
        price = np.exp(np.random.default_rng([2024, number]).uniform(0.0, np.log(100.0), len(instance.arms)))
        one = spend_of_one(name, tuple(price))
        for place, step in enumerate(STEPS):
            spend = Spend(step * one, "dollars", prices=dict(zip(instance.arms, price.tolist(), strict=True)))
            for way, rule in enumerate((Blind(), Challenger())):
                wrong[way, place, number] = support_by(rule, instance, spend, [number, place]) != truth
    for way, label in enumerate(("blind", "aware")):
        console.print(
            f"{name}, {label}:", ", ".join(f"{s:g}: {share(w)}" for s, w in zip(STEPS, wrong[way], strict=True))
        )
    return [ratio((STEPS, STEPS), *wrong, error) for error in WRONG]


@cache
def terms_of(name: str) -> np.ndarray:
    """Terms of the variances of all conditions of the best mix, in units of their squared gaps (conditions, arms)."""
    instance, many = load(name), 10**9
    arms, costs, speed = len(instance.arms), len(instance.bound), jit.speed_for(1)
    state = conditions.new_state(arms, arms, costs)
    state.counts[:], state.scatter[:] = many, instance.covariance * (many - 1)
    speed(conditions.solve)(instance.means, instance.bound, np.arange(arms + costs), state)
    speed(conditions.pool)(state)
    speed(conditions.conditions)(state)
    found = doubts(speed, state)
    asked = found.terms.any(axis=1)
    asked[-1] = False  # whether any mix keeps the limits
    return np.asarray(found.terms[asked] / found.gap[asked, None] ** 2)


def spend_of_one(name: str, prices: tuple[float, ...]) -> float:
    """The least spend at which every condition holds by one standard error, for who knows the instance.

    Trials n_a = sqrt(sum_j weight_j k_ja / p_a), with weights that grow where a condition is less certain than others.
    """
    terms, price = terms_of(name), np.array(prices)
    weight, best = np.full(len(terms), 1.0 / len(terms)), np.inf
    for _ in range(300):
        trials = np.maximum(np.sqrt(weight @ terms / price), 1e-12)
        variance = (terms / trials).sum(axis=1)
        best = min(best, float(variance.max() * (trials @ price)))
        weight *= np.clip(variance / (weight @ variance), 0.2, 5.0) ** 0.5
        weight /= weight.sum()
    return best


def support_by(rule: Challenger, instance: Instance, spend: Spend, seed: list[int]) -> set[str]:
    """The arms that a run answers with, whose trials depend on the seed and the arm alone."""
    rngs = [np.random.default_rng([*seed, arm]) for arm in range(len(instance.arms))]
    return run(
        instance.problem,
        Paid(rule, spend).begin(instance.problem, 1),
        lambda sums, memory: rule.close_paid(sums, purse_of(sums, spend, spend.amount), memory),
        lambda arm, _, count: instance.draw(arm, count, rngs[arm]),
    )


def support(instance: Instance) -> set[str]:
    return {arm for arm, share in zip(instance.arms, solve(instance).mixture, strict=True) if share > 0}


def real_models(runs: int) -> list[Figure]:
    """Wrong supports at equal spend on real prompts, whose prices are learnt."""
    found = []
    for bound in BOUNDS:
        prompts, name = read_prompts(bound), f"real models within {1000 * bound:g} dollars a thousand prompts"
        if prompts is None:
            return [Figure(name, None, "%", note="pip install --no-deps paretobandit")]
        aware, blind = (
            np.array(
                [
                    is_wrong(rule, prompts, [7, number])
                    for number in track(range(runs), name, console=console, transient=True)
                ]
            )
            for rule in (Challenger(), Blind())
        )
        less = 100.0 * (blind.astype(float) - aware)
        error, note = float(less.std() / np.sqrt(runs)), f"{share(aware)}, the blind rule {share(blind)}; {runs} runs"
        goal = GOALS[1] - GOALS[0] - SLACK * error if bound == BOUNDS[0] else None
        note += f", wanted {GOALS[0]}% and {GOALS[1]}%" if bound == BOUNDS[0] else ""
        found.append(Figure(f"{name}: fewer wrong supports", float(less.mean()), "points", goal, note=note))
    return found


def is_wrong(strategy: Challenger, prompts: Prompts, seed: list[int]) -> bool:
    """Whether a run on real prompts answers with other models than those of the best mix."""
    search, rng = strategy.start(prompts.problem, Spend(REAL, "dollars")), np.random.default_rng(seed)
    while owed := search.ask():
        for arm, count in owed.items():
            rows = prompts.draw(prompts.models.index(arm), count, rng)
            search.tell(arm, rows[:, 0], rows[:, 1:])
    return set(search.recommend(safety=None).support) != prompts.truth


def read_prompts(bound: float = BOUND) -> Prompts | None:
    """The prompts, if the package is installed; it is not imported, since that needs more."""
    spec = importlib.util.find_spec("pareto_bandit")
    if spec is None or spec.origin is None:
        return None
    file = Path(spec.origin).parent / "data/examples/test_holdout.jsonl"
    rows = [json.loads(line)["arms"] for line in file.read_text().split("\n") if line]
    models = tuple(sorted({model for row in rows for model in row}))
    whole = [row for row in rows if set(row) == set(models)]
    rewards, dollars = (
        np.array([[row[model][what] for model in models] for row in whole]) for what in ("reward", "cost")
    )
    return Prompts(models, rewards, dollars, bound)
