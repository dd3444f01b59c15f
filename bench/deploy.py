"""What is deployed: how often limits are truly broken, what safety costs, and whether good enough is good enough.

Safe mixes after uniform trials, on the catalog and on random instances with equal and unequal variances, with 0/1 and
rare 0/1 costs, and with prices that differ 150- to 500-fold; then runs of Challenger with a tolerance, ties included,
and small instances on which finding the support may take less than narrowing the margin does.
A cell has at first a block of runs, and further ones, up to ``runs``, while these do not decide it. Each run has its
own random instance: runs of one instance have its difficulty in common, and the intervals take runs as independent.
Blocks are kept in bench/results: what was interrupted goes on, unless the rule has changed since.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from bench.bayes import BROKEN, CELLS, fewest
from bench.deploy_cases import FIRST_SEED, NAMES, Case, breaks, covariance, deployed, drawn, some_cases
from bench.kept import Counts, kept, mark
from bench.timing import RESULTS, Figure, console
from bestmix import Challenger, Instance, catalog, families, simulate, solve
from bestmix.answers import certificate, safety
from bestmix.answers.cone import cone_mix
from bestmix.answers.safe_search import divided, nearest
from bestmix.arrays import Floats
from bestmix.kernels import jit
from bestmix.problems.solution import Solution, solve_means
from bestmix.problems.uniqueness import is_settled
from bestmix.simulation.results import wilson

TITLE = "The deployed mix: limits kept, regret bounded, good enough"
RUNS, BLOCK = 5_000, 500
TRIALS = (4, 10, 30, 100, 400)  # of each arm
SURE = 0.8  # chance of the support above which the loss of what is certified is compared with an oracle's
LIKELY = 0.5  # and above which the bound on the regret is judged
HIGHEST, MISSED = 0.06, 0.05  # shares: the upper end of the interval of what is broken, misses of a 95% bound
FAR = 3.0  # standard errors from 5%, at which a share of runs is decided
POSSIBLE_RUNS = 400  # to find what is possible in a cell: to a point or two
SAFETY = 0.95
OUT_OF_REACH = "the variance of a 0/1 value tells its mean, so that no rule that has to learn it comes near this oracle"
LOSS, FEW = 1.3, 50  # times the oracle's; and runs that are too few to judge a part of them by
NEAR_LOSS, ENOUGH_SURE = 1.2, 300  # losses above which it takes so many runs to judge them
DELTA, SHARE, CAP = 0.05, 0.1, 10**7  # risk, tolerance as a share of the spread of rewards, most trials
SETTLED = 0.02  # margin of the small instances from other answers
ENOUGH_RUNS, ENOUGH_LEAST, ENOUGH_BLOCK = 1_000, 300, 100


class Run(NamedTuple):
    """What came of one run; figures of what was not looked at are zero."""

    broken: bool
    certified: bool
    false: bool  # certified, and broken
    sure: bool
    loss: float
    oracle: float  # what one loses who knows the covariances
    exact: float  # what one loses who has exact limits of 0/1 values; the same with other values
    likely: bool
    missed: bool  # the regret is above its bound
    missed_likely: bool  # and the support is likely
    guess_broken: bool
    risk: float  # as it is claimed
    value: float  # of the mix, as estimated
    certainty: float
    bound: float  # on the regret


COUNTED = Run._fields[:-3]


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    jit.ENOUGH_WORK = 0  # thousands of small decisions: machine code pays
    most = runs or (200 if quick else RUNS)
    figures, cells = [], {}
    for name in NAMES:
        for n in (30,) if quick else TRIALS:
            cells[name, n] = measured(name, n, most)
            figures += judge(name, n, cells[name, n])
    (RESULTS / "deploy.md").write_text(table(cells))
    for name, instance in (ties() | small()).items():
        counts = stopped(name, instance, 20 if quick else runs or ENOUGH_RUNS)
        figures += judge_stop(name, counts, margin_trials(instance, counts["tolerance"]))
    return figures


# --- blocks of runs ------------------------------------------------------------------------------------------


@cache
def rule() -> str:
    """What tells the rule that gives safe mixes and their certificates from another one: its outcomes."""
    some = [run(some_cases(name, 1)[0], n, np.random.default_rng(0)) for name in NAMES for n in (10, 100)]
    return mark([[round(float(x), 6) for x in (one.value, one.certainty, one.bound)] for one in some])


@cache
def stopping_rule() -> str:
    """The same of a stop by tolerance."""
    some = ties() | small()
    return mark([stops(name, some[name], 0.1, 5, 0) for name in ("3 arms, 1 cost", "small, seed 4", "small, seed 27")])


def total(blocks: Sequence[Counts]) -> Counts:
    return {name: sum(block[name] for block in blocks) for name in blocks[0]}


# --- safe mixes ----------------------------------------------------------------------------------------------


def measured(name: str, n: int, most: int) -> Counts:
    """Counts of a family with n trials of each arm."""
    blocks: list[Counts] = []
    size = min(BLOCK, most)
    while not blocks or (len(blocks) * size < most and undecided(total(blocks))):
        make = partial(block, name, n, len(blocks), size)
        blocks.append(kept("deploy", f"{name} {n} {size} {len(blocks)} each {rule()}", make))
    return total(blocks)


def undecided(counts: Counts) -> bool:
    """Whether more runs could change the verdict; it is asked after every block, so that little luck must not do."""
    pairs = [(counts["broken"], counts["runs"]), (counts["missed_likely"], counts["likely"])]
    if counts["certified"] >= counts["runs"] / 2:
        pairs.append((counts["false"], counts["certified"]))
    if counts["sure"] >= FEW and counts["sure"] < ENOUGH_SURE and against(counts, "oracle") > NEAR_LOSS:
        return True
    near = [of and abs(k / of - BROKEN) < FAR * np.sqrt(BROKEN * (1.0 - BROKEN) / of) for k, of in pairs]
    return any(close and k > BROKEN / 2 * of for close, (k, of) in zip(near, pairs, strict=True))


def at_most(k: float, of: float) -> float:
    return wilson(int(k), int(of))[1]


def block(name: str, n: int, number: int, size: int) -> Counts:
    """Counts of the runs of a block, one for each random instance, or spread over those of the catalog."""
    runs, cases = range(number * size, (number + 1) * size), some_cases(name, size, FIRST_SEED + number * size)
    made = []
    for place, case in enumerate(cases):
        for k in runs[place :: len(cases)]:
            made.append(run(case, n, np.random.default_rng([k, n, *map(ord, case.name)])))
    return {"runs": len(made)} | {name: float(sum(getattr(one, name) for one in made)) for name in COUNTED}


def judge(name: str, n: int, counts: Counts) -> list[Figure]:
    """The figures of a cell, which are printed as a line as well.

    Where more than 5% of all runs break a limit, they are judged by what is possible: after few trials nothing can be
    certified, whatever is deployed then breaks a limit more often, and that cannot be made up for elsewhere.
    """
    what = f"{name}, {n} trials an arm"
    runs, certified, likely = counts["runs"], counts["certified"], counts["likely"]
    note = f"{certified / runs:.0%} certified; the optimum at the estimates {counts['guess_broken'] / runs:.0%}"
    most = BROKEN
    if counts["broken"] > BROKEN * runs and n in CELLS.get(name, ()):
        possible = fewest(name, n, POSSIBLE_RUNS)
        most, note = possible.possible, f"{note}; {possible}"
    figures = share_figures(f"{what}: limits broken", counts["broken"], runs, note, most)
    if certified >= runs / 2:
        figures += share_figures(f"{what}: broken of certified", counts["false"], certified)
    if counts["sure"]:
        figures += loss_figures(what, counts)
    missed, note = 100 * counts["missed"] / runs, f"{runs:.0f} runs"
    figures.append(Figure(f"{what}: regret above its bound", missed, "%", 100 * MISSED, at_most=True, note=note))
    if likely >= FEW:
        missed, note = 100 * counts["missed_likely"] / likely, f"{likely:.0f} of {runs:.0f} runs"
        figures.append(Figure(f"{what}: the same where the support is likely", missed, "%", 100 * MISSED, True, note))
    told(what, figures)
    return figures


def loss_figures(what: str, counts: Counts) -> list[Figure]:
    """What the safe mix loses against oracles', where the support is sure; there are two of them for 0/1 values."""
    target, note = LOSS if counts["sure"] >= FEW else None, f"{counts['sure']:.0f} of {counts['runs']:.0f} runs"
    ratio, exact = against(counts, "oracle"), against(counts, "exact")
    figures = [Figure(f"{what}: loss / oracle's", ratio, "x", target, at_most=True, note=note)]
    if counts["exact"] != counts["oracle"]:
        figures[0] = replace(figures[0], note=f"{note}; {OUT_OF_REACH}")
        figures.append(Figure(f"{what}: loss / that with exact limits", exact, "x", target, at_most=True, note=note))
    return figures


def against(counts: Counts, oracle: str) -> float:
    return counts["loss"] / counts[oracle] if counts[oracle] else np.nan


def share_figures(what: str, k: float, of: float, note: str = "", most: float = BROKEN) -> list[Figure]:
    """A share of runs, and the upper end of its interval."""
    highest = most + HIGHEST - BROKEN
    ends = f"95% interval up to {100 * at_most(k, of):.2g}%, {of:.0f} runs"
    return [
        Figure(what, 100 * k / of, "%", 100 * most, at_most=True, note=f"{ends}; {note}" if note else ends),
        Figure(f"{what}, upper end", 100 * at_most(k, of), "%", 100 * highest, at_most=True),
    ]


def table(cells: Mapping[tuple[str, int], Counts]) -> str:
    """A table in Markdown, families downwards, trials of an arm across."""
    names, trials = dict.fromkeys(name for name, _ in cells), dict.fromkeys(n for _, n in cells)
    rows = [["instances", *(f"{n} trials" for n in trials)], ["---"] * (1 + len(trials))]
    rows += [[name, *(entry(cells[name, n]) if (name, n) in cells else "" for n in trials)] for name in names]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def entry(counts: Counts) -> str:
    """Per cent of runs that are certified, broken of all, broken of the certified; loss against the oracle's.

    In brackets the loss against that of an oracle with exact limits, for 0/1 values.
    """
    runs, certified = counts["runs"], counts["certified"]
    false = f"{100 * counts['false'] / certified:.1f}" if certified >= FEW else "-"
    ratio = f"{against(counts, 'oracle'):.2f}" if counts["sure"] >= FEW else "-"
    if counts["sure"] >= FEW and counts["exact"] != counts["oracle"]:
        ratio += f" ({against(counts, 'exact'):.2f})"
    return f"{100 * certified / runs:.0f} / {100 * counts['broken'] / runs:.1f} / {false} / {ratio}"


def told(what: str, figures: Sequence[Figure]) -> None:
    parts = [f"{f.what.removeprefix(what)[2:]} {f.measured:.3g}{f.unit}{'!' * (f.verdict == 'miss')}" for f in figures]
    console.print(f"{what}: {'; '.join(parts)}", highlight=False)


def run(case: Case, n: int, rng: np.random.Generator) -> Run:
    """One run: trials, the safe mix and its certificate, and what is true of them."""
    truth = solve_means(case.means, case.bound)
    data, guess, chance, mix = deployed(case, drawn(case, n, rng), n)
    proof = certificate.certify(data, mix.mixture, case.bound, chance, guess.dual)
    regret = truth.value - mix.mixture @ case.means[:, 0]
    loss = oracle = exact = 0.0
    sure = chance > SURE and mix.certified
    if sure:
        loss = lost(case, truth, mix.mixture)
        oracle = exact = lost(case, truth, oracle_mix(case, data, n))
        if case.sigma is None:
            exact = lost(case, truth, exact_mix(case, data))
    broken = breaks(case, mix.mixture)
    return Run(
        broken=broken,
        certified=mix.certified,
        false=mix.certified and broken,
        sure=sure,
        loss=loss,
        oracle=oracle,
        exact=exact,
        likely=chance > LIKELY,
        missed=proof.regret < regret,
        missed_likely=chance > LIKELY and proof.regret < regret,
        guess_broken=breaks(case, guess.mixture),
        risk=1.0 - mix.certainty,
        value=proof.value,
        certainty=mix.certainty,
        bound=proof.regret,
    )


def oracle_mix(case: Case, data: safety.Estimates, n: int) -> Floats:
    """The safe mix of one who knows the covariances, and need not fear that the support is wrong."""
    many = np.full(len(data.means), 1e9)
    known = safety.Estimates(data.means, covariance(case) * 1e9 / n, many, np.zeros_like(data.binary))
    return whole_risk(safety.CostLimits(known, case.bound))


def exact_mix(case: Case, data: safety.Estimates) -> Floats:
    """The same of one who knows nothing of the noise but that values are 0 or 1.

    Nobody knows their variance without knowing the mean. The limit that keeps its risk whatever the mean is is the
    exact one (Clopper and Pearson), and any other one breaks its promise somewhere.
    """
    return whole_risk(ExactLimits(data, case.bound))


def whole_risk(limits: safety.CostLimits) -> Floats:
    """The safe mix of one who need not fear that the support is wrong, and spends the whole risk."""
    found = divided(limits, 1.0 - SAFETY)
    return nearest(limits, 1.0 - SAFETY)[0] if found is None else found


class ExactLimits(safety.CostLimits):
    """Limits on the means of 0/1 costs, with the exact upper limit of each arm."""

    def within(self, tail: Floats | float) -> Floats | None:
        """The best mix with margins."""
        events, n = self.data.means[:, 1:] * self.counts[:, None], self.counts[:, None]
        tail = np.broadcast_to(tail, events.shape)
        upper = np.where(n - events < 0.5, 1.0, 1.0 - betaincinv(np.maximum(n - events, 0.5), events + 1.0, tail))
        return cone_mix(self.data.means, self.bound, np.maximum(upper - self.data.means[:, 1:], 0.0))


def lost(case: Case, truth: Solution, mixture: Floats) -> float:
    """Regret, and the price of what is above the bounds."""
    excess = np.maximum(mixture @ case.means[:, 1:] - case.bound, 0.0)
    return float(truth.value - mixture @ case.means[:, 0] + truth.dual @ excess)


# --- good enough ---------------------------------------------------------------------------------------------


def ties() -> dict[str, Instance]:
    """Instances without ties, and with some."""
    noise = {"sigma_reward": 1.0, "sigma_cost": 0.5}
    small = {"sigma_reward": 0.1, "sigma_cost": 0.5}
    return {
        **{name: catalog.load(name) for name in catalog.names()},
        **{f"uniform 16 x 1, seed {s}": families.uniform_instance(16, 1, s) for s in range(12_000, 12_004)},
        **{f"uniform 8 x 2, seed {s}": families.uniform_instance(8, 2, s) for s in range(12_000, 12_004)},
        "3 arms, 1 cost": Instance([0.6, 0.7, 0.9], [[1.0, 4.0, 9.0]], [5.0], **small),
        "tie: arm at its bound": Instance([1.0, 0.6, 0.3, 0.8], [[1.0, 0.5, 0.2, 1.6]], [1.0], **noise),
        "tie: equal arms": Instance([1.7, 2.6, 2.6, 0.5, 1.0], [[0.0, 1.8, 1.8, 0.8, 0.4]], [1.0], **noise),
        "tie: equal rewards": Instance([1.0, 1.0, 1.0], [[0.2, 0.9, 1.5]], [1.0], **noise),
    }


def small() -> dict[str, Instance]:
    """Three to five arms with uniform means, two or more of them in the best mix, and any noise."""
    found: dict[str, Instance] = {}
    for seed in range(40):
        rng = np.random.default_rng([10, seed])
        arms, costs = int(rng.integers(3, 6)), 1 if seed < 24 else 2
        reward, cost = rng.uniform(0.0, 1.0, arms), rng.uniform(0.0, 2.0, (costs, arms))
        noise = {"sigma_reward": float(rng.uniform(0.05, 0.5)), "sigma_cost": float(rng.uniform(0.05, 0.5))}
        instance = Instance(reward, cost, np.ones(costs), **noise)
        if (solve(instance).mixture > 0).sum() > 1 and is_settled(instance, SETTLED):
            found[f"small, seed {seed}"] = instance
    return found


def margin_trials(instance: Instance, tolerance: float) -> float:
    """Trials that any rule needs, about, whose mix is to keep its limits and be within the tolerance, each with half of
    the risk, even if it knows the support and the noise.

    A mix has to stay z standard errors below a limit to keep it, and may be as many further below it: that costs
    2 z sum_l lam_l se_l, and with the best shares of the trials the root of these times se_l is sum_a p_a sd_al.
    """
    best = solve(instance)
    deviation = np.sqrt(np.diagonal(instance.covariance, axis1=1, axis2=2)[:, 1:])
    prices = np.where(np.isfinite(best.dual), np.maximum(best.dual, 0.0), 0.0)
    z = NormalDist().inv_cdf(1.0 - DELTA / 2.0)
    return float((2.0 * z * prices @ (best.mixture @ deviation) / tolerance) ** 2)


def stopped(name: str, instance: Instance, most: int) -> Counts:
    """Counts of runs with a tolerance, and of as many for the exact support where there is no tie."""
    tolerance = SHARE * (float(np.ptp(instance.reward)) or 1.0)
    blocks: list[Counts] = []
    size = min(ENOUGH_BLOCK, most)
    while not blocks or (len(blocks) * size < most and doubtful(total(blocks))):
        make = partial(stops, name, instance, tolerance, size, len(blocks))
        blocks.append(kept("deploy", f"{name} {size} {len(blocks)} {stopping_rule()}", make))
    return total(blocks) | {"tolerance": tolerance}


def doubtful(counts: Counts) -> bool:
    often = counts["wrong"] > DELTA / 2 * counts["runs"] and at_most(counts["wrong"], counts["runs"]) > DELTA
    return often or counts["runs"] < ENOUGH_LEAST


def stops(name: str, instance: Instance, tolerance: float, runs: int, seed: int) -> Counts:
    result = simulate(instance, Challenger(delta=DELTA, tolerance=tolerance), CAP, runs, seed, threads=1)
    wrong = int(((result.outcomes.regret > tolerance) | ~(result.outcomes.violation <= 0)).sum())
    counts = {"runs": runs, "wrong": wrong, "pulls": result.mean_pulls * runs, "exact": 0.0}
    if not name.startswith("tie"):  # the exact rule does not end where there is one
        counts["exact"] = simulate(instance, Challenger(delta=DELTA), CAP, runs, seed, threads=1).mean_pulls * runs
    return counts


def judge_stop(name: str, counts: Counts, margin: float) -> list[Figure]:
    """How often a run with a tolerance is wrong, and its trials against those for the exact support.

    On small instances they are not bound to be fewer: the ``margin`` alone may take more.
    """
    what, runs = f"{name}, tolerance {counts['tolerance']:.3g}", counts["runs"]
    ends = " to ".join(f"{100 * end:.2g}" for end in wilson(int(counts["wrong"]), int(runs)))
    note = f"{ends}%, {runs:.0f} runs; {counts['pulls'] / runs:,.0f} trials"
    figures = [Figure(f"{what}: wrong", 100 * counts["wrong"] / runs, "%", 100 * DELTA, at_most=True, note=note)]
    if counts["exact"]:
        note = f"{counts['exact'] / runs:,.0f} trials for the support, {margin:,.0f} for the margin whoever finds it"
        ratio, target = counts["pulls"] / counts["exact"], None if name.startswith("small") else 1.0
        figures.append(Figure(f"{what}: trials / those for the support", ratio, "x", target, at_most=True, note=note))
    told(what, figures)
    return figures
