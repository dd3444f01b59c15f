"""Planning ahead: how long an experiment takes with 8 workers whose trials take log-normal times, and its errors.

Times are those of experiments, errors those of many runs of the same decisions, in pairs: an arm's i-th trial has the
same result with and without planning ahead.
"""

import heapq
from dataclasses import dataclass, field

import numpy as np
from rich.progress import track

from bench.ratios import SLACK, share
from bench.runs import Sums, use_machine_code
from bench.spend import support
from bench.timing import Figure, console
from bestmix import Challenger, Instance, catalog, families, open_experiment
from bestmix.strategies import rounds
from bestmix.strategies.protocol import UNDER_WAY

TITLE = "Planning ahead: time with 8 workers and log-normal durations"
WORKERS = 8
SPREAD = 1.0  # of the logarithm of a duration


@dataclass(order=True)
class Running:
    """A trial that is under way, in the order in which they end."""

    ends: float
    token: int
    trial: object = field(compare=False)


@dataclass(frozen=True)
class Case:
    """An instance with a budget, the slots that decisions do not wait for, and the times over the ideal to reach."""

    name: str
    instance: Instance
    budget: int
    ahead: int
    goals: tuple[float, float]  # waiting for all, and planning ahead


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    use_machine_code()
    runs = runs or (10 if quick else 600)
    cases = [Case("16 arms, 300 trials", families.uniform_instance(16, 1, 5), 300, 30, (2.68, 1.32))]
    cases += [] if quick else [Case("D2P, 3,000 trials", catalog.load("D2P"), 3_000, 32, (1.26, 1.08))]
    return [figure for case in cases for figure in (*times(case, max(runs // 60, 2)), errors(case, runs))]


def times(case: Case, runs: int) -> list[Figure]:
    """Time over the ideal, in which no worker ever waits."""
    bar = track(range(runs), f"{case.name}: time", console=console, transient=True)
    waits, plans = np.array([[time(case, slots, seed) for slots in (0, case.ahead)] for seed in bar]).T
    error = float(plans.std(ddof=1) / np.sqrt(runs))
    note = f"+- {error:.2f}; {waits.mean():.2f} without, {runs} runs; wanted {case.goals[0]} -> {case.goals[1]}"
    goal = case.goals[1] + SLACK * error
    ratio, least = plans.mean() / waits.mean(), case.goals[1] / case.goals[0]
    spread = SLACK * float((plans / waits).std(ddof=1) / np.sqrt(runs))
    return [
        Figure(f"{case.name}: time over the ideal", float(plans.mean()), "x", goal, at_most=True, note=note),
        Figure(f"{case.name}: time of what it is without", float(ratio), "x", least + spread, at_most=True),
    ]


def errors(case: Case, runs: int) -> Figure:
    """Wrong supports of planning ahead beyond those of waiting for all."""
    truth = support(case.instance)
    bar = track(range(runs), f"{case.name}: errors", console=console, transient=True)
    wrong = np.array([[answer(case, slots, seed) != truth for slots in (0, case.ahead)] for seed in bar]).T
    more = wrong[1].astype(float) - wrong[0]
    error = float(more.std(ddof=1) / np.sqrt(runs))
    note = f"+- {100 * error:.1f}; {share(wrong[0])} without, {share(wrong[1])} with; {runs} runs in pairs"
    goal = 100 * SLACK * error
    return Figure(
        f"{case.name}: more wrong supports", 100 * float(more.mean()), "points", goal, at_most=True, note=note
    )


def answer(case: Case, ahead: int, seed: int) -> set[str]:
    """The arms that a run answers with: every decision is made from all slots of the plan but the last."""
    problem, strategy = case.instance.problem, Challenger(ahead=ahead)
    rngs = [np.random.default_rng([seed, arm]) for arm in range(len(problem.arms))]
    sums, slots, made, waits = Sums.none(problem), list[int](), 0, 0
    memory = strategy.begin(problem, case.budget)
    while memory["quota"] is not None:
        slots += rounds.share_out(list(enumerate(memory["quota"])), sum(memory["quota"]))
        waits = max(waits, len(slots) - (ahead if made and len(slots) < case.budget else 0))
        for arm, count in enumerate(np.bincount(slots[made:waits], minlength=len(rngs)).tolist()):
            if count:
                sums.add(arm, case.instance.draw(arm, count, rngs[arm]))
        made, out = waits, np.bincount(slots[waits:], minlength=len(rngs)).tolist()
        memory, _ = strategy.close(sums, case.budget, {**memory, UNDER_WAY: out})  # type: ignore[arg-type]
    return {problem.arms[column] for column in memory["basis"] if column < len(problem.arms)}


def time(case: Case, ahead: int, seed: int) -> float:
    """Time of an experiment over the ideal."""
    instance = case.instance
    exp = open_experiment("memory://", "bench", instance.problem, case.budget, Challenger(ahead=ahead), lease=1e7)
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
    return now / (paid / WORKERS)
