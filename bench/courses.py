"""Courses of live traffic: what rounds truly cost against the limit, and what a request loses, by round and by rule."""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from rich.progress import track

from bench import pacers
from bench.timing import RESULTS, Figure, console
from bestmix import Instance, catalog, plots, solve
from bestmix.answers import noisy_program
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.programs import program_of
from bestmix.kernels import jit
from bestmix.plots.theme import COLOURS, style
from bestmix.reproduction.rival_instances import traffic
from bestmix.strategies.traffic import Traffic, exploration, plan_round

TITLE = "Courses of live traffic without a round that truly exceeds a limit, and regret of a request"
ROUNDS, EXPLORE, BEFORE = 30, 0.05, 10  # rounds, exploring share, trials of each arm beforehand
FEW = 2000  # requests up to which trials are drawn one by one
KEPT = 95.0  # % of courses in which no round may exceed a limit
FIRST_SEED = 5000  # smaller ones were used for tuning
RULE, UNIFORM, PACER = "this rule", "uniform exploration, optimum served", "budget pacer, Thompson sampling"
PACKAGE, WARM = "paretobandit", "paretobandit, its defaults and prior"
RULES = {
    RULE: Traffic(EXPLORE),
    "this rule at 95%": Traffic(EXPLORE, safety=0.95),
    "what is left carried over, at 95%": Traffic(EXPLORE, safety=0.95, carry=True),
    "the plan, optimum served": None,
    UNIFORM: None,
}
DRAWN = {RULE: COLOURS["support"], UNIFORM: COLOURS["mix"], PACER: COLOURS["rejected"], PACKAGE: COLOURS["known"]}


class Case(NamedTuple):
    """What traffic is like."""

    name: str
    instance: Instance
    size: int  # requests in a round
    rules: tuple[str, ...]


class Course(NamedTuple):
    """What each round of a course was truly like, of the limit that was furthest above."""

    excess: np.ndarray  # (rounds,) mean cost above the bound, over the bound
    total: np.ndarray  # (rounds,) the same of all requests so far, of which the costs are as they came
    regret: np.ndarray  # (rounds,)
    explore: np.ndarray  # (rounds,)


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    runs = runs or (3 if quick else 200)
    jit.ENOUGH_WORK = 0  # thousands of decisions: machine code for all of them
    figures, drawn = [], {}
    for case in cases(quick):
        for rule in case.rules:
            courses = several(case, rule, seeds(rule, runs))
            figures.append(told(case, rule, courses))
            if rule in DRAWN:
                drawn.setdefault(case.name, {})[rule] = courses
    if not pacers.installed():
        figures.append(Figure("paretobandit on its own data", None, "%", note="pip install paretobandit"))
    draw(drawn)
    return figures


def cases(quick: bool) -> list[Case]:
    """Those of the catalog, prices that are far apart, and the data of ``paretobandit`` with two of its own targets."""
    every, short = (*RULES, PACER), (RULE, UNIFORM, PACER)
    found = [
        Case("A2", catalog.load("A2"), 1000, every),
        Case("prices 150-fold apart", prices(), 1000, every),
    ]
    if not quick:
        found.append(Case("A2, ten million requests", catalog.load("A2"), 333_334, tuple(RULES)))
    for name, target in pacers.TARGETS.items() if pacers.installed() else ():
        instance = traffic(target)
        assert instance is not None
        found.append(Case(f"data of paretobandit, {name}", instance, 1000, (*short, PACKAGE, WARM)))
    return [*found, Case("D2P", catalog.load("D2P"), 2000, short)]


def seeds(rule: str, runs: int) -> range:
    """Of the rule that is judged so many, of others a fifth, of the package, which takes long, a tenth."""
    share = 1 if rule == RULE else 10 if rule in (PACKAGE, WARM) else 5
    return range(FIRST_SEED, FIRST_SEED + max(runs // share, 2))


def prices() -> Instance:
    """Five arms whose prices are 150-fold apart, the limit between them."""
    dollars = np.array([0.01, 0.04, 0.15, 0.6, 1.5])
    return Instance([0.55, 0.62, 0.70, 0.76, 0.80], [dollars], [0.3], sigma_reward=0.4, sigma_cost=0.3 * dollars[None])


def several(case: Case, rule: str, chosen: range) -> Course:
    """Courses of a rule, each part (courses, rounds)."""
    if rule == PACER:
        return paced(case, pacers.thompson(case.instance, case.size, ROUNDS, BEFORE, chosen))
    listed = track(chosen, f"{case.name}: {rule}", console=console, transient=True)
    if rule in RULES:
        courses = [course(case.instance, case.size, rule, seed) for seed in listed]
        return Course(*(np.array(part) for part in zip(*courses, strict=True)))
    made = [
        paced(case, pacers.package(case.instance, case.size, ROUNDS, BEFORE, seed, rule == WARM)) for seed in listed
    ]
    return Course(*(np.concatenate(part) for part in zip(*made, strict=True)))


def told(case: Case, rule: str, courses: Course) -> Figure:
    """How many courses have no round above, and the rest in words."""
    excess, total, regret, explore = courses
    above = 100 * excess
    kept = 100 * (above <= 1e-10).all(axis=1).mean()
    note = (
        f"{len(excess)} courses; rounds above {100 * (above > 1e-10).mean():.1f}%, by at most {above.max():.1f}%, "
        f"all requests so far {100 * (total > 0).mean():.1f}%; cost at first {100 + above[:, :5].mean():.1f}%, "
        f"then {100 + above[:, -10:].mean():.1f}%; "
        f"regret {regret[:, :5].mean():.4f}, then {regret[:, -10:].mean():.4f}"
    )
    note += f"; explores {100 * explore.mean():.2f}%" if rule in RULES else ""
    console.print(
        f"{case.name}, {case.size} a round, {rule}: {kept:.1f}% without a round above, {note}", highlight=False
    )
    return Figure(f"{case.name}, {case.size} a round: {rule}", kept, "%", KEPT if rule == RULE else None, note=note)


def paced(case: Case, rounds: Iterable[tuple[np.ndarray, np.ndarray]]) -> Course:
    """Courses of a pacer from what it used in each round: it has no weights, the shares of its requests are judged."""
    instance, best = case.instance, solve(case.instance).value
    parts, spent = [], np.zeros(1)
    for k, (shares, costs) in enumerate(rounds):
        mean, spent = shares @ instance.means, spent + costs
        total = spent / ((k + 1) * case.size * instance.bound) - 1.0
        parts.append(
            (
                (mean[:, 1:] / instance.bound - 1.0).max(axis=1),
                total.max(axis=1),
                best - mean[:, 0],
                np.zeros(len(mean)),
            )
        )
    return Course(*(np.array(part).T for part in zip(*parts, strict=True)))


def course(instance: Instance, size: int, rule: str, seed: int) -> Course:
    """One course of a rule."""
    rng, best = np.random.default_rng(seed), solve(instance).value
    moments = [sums(instance, arm, BEFORE, rng) for arm in range(len(instance.arms))]
    start, told = Evidence(instance.problem, list(moments)), np.zeros((4, ROUNDS))
    spent = np.zeros(len(instance.bound))
    for k in range(ROUNDS):
        weights, explored = chosen(Evidence(instance.problem, list(moments)), start, rule, size)
        mean = weights @ instance.means
        counts = rng.multinomial(size, weights / weights.sum())
        for arm in np.flatnonzero(counts):
            new = sums(instance, int(arm), int(counts[arm]), rng)
            spent += counts[arm] * new.mean()[1:]
            moments[arm] = moments[arm].joined(new)
        total = spent / ((k + 1) * size * instance.bound) - 1.0
        told[:, k] = (mean[1:] / instance.bound - 1.0).max(), total.max(), best - mean[0], explored
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
    if rule != UNIFORM:
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


def draw(found: dict[str, dict[str, Course]]) -> None:
    """``results/courses.png``: cost of the traffic and regret by round; means, and 90% of the courses."""
    if not plots.available():
        return
    with style():
        from matplotlib.figure import Figure as Picture

        picture = Picture(figsize=(3.1 * len(found), 5.6), layout="constrained")
        axes = picture.subplots(2, len(found), squeeze=False, sharex=True)
        for k, (name, rules) in enumerate(found.items()):
            for rule, courses in rules.items():
                for ax, values in zip(axes[:, k], (100.0 + 100.0 * courses.excess, courses.regret), strict=True):
                    rounds = 1 + np.arange(values.shape[1])
                    ax.fill_between(
                        rounds, *np.quantile(values, (0.05, 0.95), axis=0), color=DRAWN[rule], alpha=0.18, lw=0
                    )
                    ax.plot(rounds, values.mean(axis=0), color=DRAWN[rule], lw=1.4, label=rule)
            axes[0, k].axhline(100.0, color=COLOURS["bound"], lw=1.0, ls="--")
            axes[0, k].set_title(name, fontsize=9)
            axes[1, k].set_xlabel("round")
        axes[0, 0].set_ylabel("mean cost of the traffic, % of the limit")
        axes[1, 0].set_ylabel("regret of a request")
        handles = {line.get_label(): line for ax in axes[0] for line in ax.get_lines() if line.get_label() in DRAWN}
        picture.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=len(handles), fontsize=9)
        RESULTS.mkdir(exist_ok=True)
        picture.savefig(RESULTS / "courses.png", dpi=110)
