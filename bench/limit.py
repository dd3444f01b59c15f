"""How close Challenger comes to the limit: its mean trials over those that every delta-correct algorithm makes.

The bound is on algorithms that are delta-correct whatever the means. Challenger's stop is measured and not proven, so
that it may come below. Cells are kept in bench/results as they come: what was interrupted goes on.
"""

from functools import cache, partial

import numpy as np

from bench.kept import Counts, kept, mark
from bench.timing import Figure, console
from bestmix import Challenger, Instance, Problem, catalog, families, limit, simulate
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.simulation.results import wilson
from bestmix.strategies.proven.support import look
from bestmix.theory import LowerBound

TITLE = "Trials of Challenger over the limit of all algorithms"
DELTAS = (0.1, 0.05, 0.01, 1e-3, 1e-4, 1e-6)
GOALS = {0.05: 1.25, 1e-4: 1.08}  # of the geometric mean over the instances
RUNS, SEED, CAP = 1_000, 21_000_001, 10**9
PROVEN, PROVEN_DELTA, PROVEN_RUNS, PROVEN_GOAL = ("A2", "D2P", "H2"), 1e-4, 20, 2.0  # the stop with a proof
TIES = {
    "two equal arms": [[1.0, 0.0], [1.0, 0.0]],
    "an arm at its bound": [[1.0, 1.0], [0.0, 0.0]],
}  # rewards and costs
TIES_DELTA, TIES_RUNS, TIES_CAP = 0.3, 600, 4_000  # so that it could be seen to be wrong


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    most, ratios, figures = runs or (100 if quick else RUNS), {delta: [] for delta in DELTAS}, []
    for name, instance in instances(quick).items():
        bound = limit(instance)
        for delta in DELTAS:
            figure = ratio(name, instance, bound.at(delta), most)
            console.print(f"{figure.what}: {figure.measured:.3f}; {figure.note}", highlight=False)
            ratios[delta].append(figure.measured)
            figures.append(figure)
    means = {delta: float(np.exp(np.mean(np.log(some)))) for delta, some in ratios.items()}
    goals = [Figure(f"geometric mean, delta {d:g}", means[d], "x", GOALS.get(d), at_most=True) for d in DELTAS]
    proofs = [proven(name, 3 if quick else PROVEN_RUNS) for name in PROVEN]
    return figures + goals + proofs + [false_proofs(what, 20 if quick else TIES_RUNS) for what in TIES]


def proven(name: str, runs: int) -> Figure:
    """The same for the stop with a proof, the scales of the noise given."""
    instance = catalog.load(name)
    sigma = {"reward": 1.0, **dict.fromkeys(instance.costs, 0.5)}
    strategy = Challenger(delta=PROVEN_DELTA, proven=True, sigma=sigma)
    counts = kept(
        "limit",
        f"{name} {PROVEN_DELTA:g} {runs} proven",
        partial(stopped, instance, strategy, runs),
    )
    bound = limit(instance, delta=PROVEN_DELTA).trials
    note = f"{counts['pulls']:,.0f} trials, the limit is {bound:,.0f}; wrong {counts['wrong']} of {runs}"
    return Figure(f"{name}, delta {PROVEN_DELTA:g}, proven", counts["pulls"] / bound, "x", PROVEN_GOAL, True, note)


def false_proofs(what: str, runs: int) -> Figure:
    """How often the stop with a proof calls a basis certain where none is the only answer: every proof is wrong."""
    problem, rng, wrong = Problem(["a", "b"], {"x": 1.0}), np.random.default_rng(1), 0
    for _ in range(runs):
        trials = np.array(TIES[what])[:, None] + rng.normal(size=(2, TIES_CAP, 2))
        sums, naming = trials.cumsum(axis=1), None
        for n in np.unique(np.geomspace(5, TIES_CAP, 60).astype(int)):
            told = [Moments.from_statistics(int(n), row[n - 1] / n, n * np.eye(2)) for row in sums]
            found = look(Evidence(problem, told), np.ones(2), TIES_DELTA, naming)
            naming = found.naming
            if found.certain:
                wrong += 1
                break
    low, high = wilson(wrong, runs)
    note = f"{low:.2%} to {high:.2%}; {wrong} of {runs} runs"
    what = f"{what}, delta {TIES_DELTA}, proven: wrong"
    return Figure(what, 100 * wrong / runs, "%", 100 * TIES_DELTA, at_most=True, note=note)


def instances(quick: bool) -> dict[str, Instance]:
    """The catalog, and instances with uniform means."""
    found = {name: catalog.load(name) for name in catalog.names()[:: 4 if quick else 1]}
    for arms, costs in ((4, 1), (16, 1), (8, 2)):
        for seed in range(21_000, 21_001 if quick else 21_003):
            found[f"uniform {arms} x {costs}, seed {seed}"] = families.uniform_instance(arms, costs, seed)
    return found


def ratio(name: str, instance: Instance, bound: LowerBound, runs: int) -> Figure:
    """Mean trials over the limit, with its standard error and how often the answer was wrong."""
    key = f"{name} {bound.delta:g} {runs} {rule()}"
    counts = kept("limit", key, partial(stopped, instance, Challenger(delta=bound.delta), runs))
    error = counts["deviation"] / np.sqrt(runs) / bound.trials
    low, high = wilson(int(counts["wrong"]), runs)
    note = f"± {error:.3f}; {counts['pulls']:,.0f} trials, the limit is {bound.trials:,.0f}"
    note += f"; wrong {counts['wrong'] / runs:.2%} ({low:.2%} to {high:.2%})"
    return Figure(f"{name}, delta {bound.delta:g}", counts["pulls"] / bound.trials, note=note)


def stopped(instance: Instance, strategy: Challenger, runs: int) -> Counts:
    """Runs that stop by themselves."""
    result = simulate(instance, strategy, CAP, runs, SEED, threads=1)
    pulls, wrong = result.outcomes.pulls, int((result.outcomes.outcome != 0).sum())
    return {"pulls": float(pulls.mean()), "deviation": float(pulls.std(ddof=1)), "wrong": wrong}


@cache
def rule() -> str:
    """What tells the rule that stops from another one: its outcomes."""
    return mark(
        [round(stopped(catalog.load(name), Challenger(delta=0.05), 5)["pulls"]) for name in ("A1", "D2P", "H3")]
    )
