"""The fewest broken limits that any rule can have: those of one that knows how the instances were drawn.

A rule that sees the trials and knows the distribution of the instances and their noise, and wants nothing but to keep
the limits, deploys the mix that keeps them in the most of the instances that fit the trials. Averaged over instances
no rule breaks fewer. Means and deviations of one half of such instances tell the mix with the largest product of the
limits' chances; judged on the other half it is what a rule truly breaks. A mix that is searched for and judged on the
same half is flattered, and its share is a lower bound, as far as the search finds the best one: the fewest lies between
the two. The mix of bestmix is judged on the same instances, and so is
compared without the luck of single runs; apart from all runs, in those in which nothing could be certified.
"""

from collections.abc import Iterator
from functools import cache, partial
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from bench.deploy_cases import LEAST_SHARE, MARGIN, REWARDS, Case, covariance, deployed, drawn, random_case
from bench.kept import Counts, mark
from bench.kept import kept as stored
from bench.timing import Figure, console
from bestmix.answers.cone import spread, widest_mix
from bestmix.answers.likeliest import likeliest
from bestmix.arrays import Floats
from bestmix.kernels import jit
from bestmix.problems.solution import solve_means

TITLE = "Limits broken: the fewest that any rule can have"
RUNS, WORLDS, GRID = 200, 400, 200
FIRST_SEED = 60_000
BROKEN = 0.05  # share of runs that is aimed at
DRAWS, MOST_DRAWS = 200, 20_000  # of instances that may not fit, at a time and in all
ROUNDS, BEST = 12, 4  # of the search for a mix, and those kept in each
STEPS = (0.5, 0.2, 0.08)
CELLS = {
    "uniform3": (4,),
    "unequal3": (4,),
    "binary1": (4,),
    "binary2": (4, 10, 30),
    "binary3": (4, 10, 30, 100, 400),
    "rare1": (4, 10, 30, 100),
    "rare2": (4, 10, 30, 100, 400),
    "rare3": (4, 10, 30, 100, 400),
}


class Shares(NamedTuple):
    """Of the instances that fit the trials of a run, those in which a mix breaks a limit."""

    flattered: float  # the best one, judged on those that it was chosen by
    best: float  # the likeliest by the means and deviations of some, judged on others
    ours: float
    certified: bool


class Fewest(NamedTuple):
    """Shares of the runs of a cell that break a limit, with standard errors."""

    runs: float
    least: float  # no rule breaks limits in fewer runs
    best: float  # the rule that knows the distribution
    best_error: float
    ours: float
    above: float  # ours - best, on the same trials
    above_error: float
    uncertified: float  # share of the runs in which nothing could be certified
    behind: float  # ours - best in these
    behind_error: float

    @property
    def possible(self) -> float:
        """The share to judge a rule by: 5%, or what the rule that knows the distribution breaks where that is more."""
        return max(BROKEN, self.best)

    def __str__(self) -> str:
        return (
            f"a rule that knows how the instances are drawn breaks {100 * self.best:.1f} +- "
            f"{196 * self.best_error:.1f}%, none fewer than {100 * self.least:.1f}%; "
            f"ours on the same trials {100 * self.ours:.1f}%: "
            f"{100 * self.above:+.1f} +- {196 * self.above_error:.1f}, and {100 * self.behind:+.1f} +- "
            f"{196 * self.behind_error:.1f} in the {self.uncertified:.0%} of {self.runs:.0f} runs without a certificate"
        )


def measure(quick: bool, runs: int | None = None) -> list[Figure]:
    jit.ENOUGH_WORK = 0  # thousands of small programs: machine code pays
    runs = runs or (10 if quick else RUNS)
    cells = [(name, n) for name, trials in CELLS.items() for n in (trials[:1] if quick else trials)]
    return [judge(name, n, fewest(name, n, runs)) for name, n in cells]


def judge(name: str, n: int, found: Fewest) -> Figure:
    """Ours against what is possible, up to the error of their difference; printed as a line too."""
    what, target = f"{name}, {n} trials an arm: limits broken", 100 * found.possible + 196 * found.above_error
    figure = Figure(what, 100 * found.ours, "%", target, at_most=True, note=str(found))
    console.print(f"{what} {figure.measured:.1f}%, {figure.verdict}: {found}", highlight=False)
    return figure


@cache
def rule() -> str:
    """What tells the rule that gives safe mixes from another one: its outcomes."""
    cases = [random_case(name, 0) for name in CELLS]
    some = [deployed(case, drawn(case, 10, np.random.default_rng(0)), 10).mix for case in cases]
    return mark([[round(float(x), 6) for x in (*mix.mixture, mix.certainty)] for mix in some])


def fewest(name: str, n: int, runs: int) -> Fewest:
    """The fewest broken limits of a cell, kept in bench/results."""
    found = stored("bayes", f"{name} {n} {runs} {WORLDS} likeliest {rule()}", partial(_fewest, name, n, runs))
    return Fewest(**found)


def _fewest(name: str, n: int, runs: int) -> Counts:
    made = [run(random_case(name, FIRST_SEED + k), n, np.random.default_rng([k, n])) for k in range(runs)]
    least, best, ours, certified = (np.array(column, dtype=np.float64) for column in zip(*made, strict=True))
    above = ours - best
    behind = above[certified == 0] if (certified == 0).any() else np.zeros(1)
    result = Fewest(
        runs,
        least.mean(),
        best.mean(),
        best.std() / np.sqrt(runs),
        ours.mean(),
        above.mean(),
        above.std() / np.sqrt(runs),
        1.0 - certified.mean(),
        behind.mean(),
        behind.std() / np.sqrt(len(behind)),
    )
    return {key: float(value) for key, value in result._asdict().items()}


def run(case: Case, n: int, rng: np.random.Generator) -> Shares:
    trials = drawn(case, n, rng)
    means = trials.means
    mix = deployed(case, trials, n).mix
    excess = worlds(case, means, n, rng)
    some, others = excess[::2], excess[1::2]
    likely = likeliest_mix(some)
    share = best_share(some, np.vstack([mix.mixture, likely]), rng)
    judged = kept(others, np.vstack([likely, mix.mixture]))
    ours = (judged[1] + kept(some, mix.mixture[None])[0]) / 2.0
    return Shares(1.0 - share, 1.0 - judged[0], 1.0 - ours, mix.certified)


# --- instances that fit the trials ---------------------------------------------------------------------------


def worlds(case: Case, means: Floats, n: int, rng: np.random.Generator) -> Floats:
    """Mean costs above the bounds (worlds, K, L) of instances drawn as the family is, given their trials."""
    found: list[Floats] = []
    for _ in range(MOST_DRAWS // DRAWS):
        some = gaussian(case, means, n, rng) if case.sigma is not None else zero_one(case, means, n, rng)
        found += [each[:, 1:] - 1.0 for each in some if settled(each)]
        if len(found) >= WORLDS:
            break
    return np.array(found[:WORLDS])


def settled(means: Floats) -> bool:
    """Whether a uniform instance would be taken, rewards and costs on [0, 2] and bounds 1: as ``is_settled``."""
    found, excess = solve_means(means, np.ones(means.shape[1] - 1)), means[:, 1:] - 1.0
    weight = np.r_[found.mixture, found.slack]
    reduced = np.r_[means[:, 0] - found.value - excess @ found.dual, -found.dual]
    basic = np.isin(np.arange(len(weight)), found.basis)
    return bool(found.feasible and (weight[basic] > MARGIN).all() and (reduced[~basic] < -MARGIN).all())


def gaussian(case: Case, means: Floats, n: int, rng: np.random.Generator) -> Iterator[Floats]:
    """Normal around the estimates, within [0, 2]: what falls outside is drawn again."""
    root = np.linalg.cholesky(covariance(case) / n)
    some = np.empty((DRAWS, *means.shape))
    outside = np.ones(some.shape[:2], dtype=np.bool_)
    for _ in range(MOST_DRAWS // DRAWS):
        noise = rng.standard_normal((int(outside.sum()), means.shape[1], 1))
        at = np.nonzero(outside)[1]
        some[outside] = means[at] + (root[at] @ noise)[:, :, 0]
        outside = ((some < 0.0) | (some > 2.0)).any(axis=2)
        if not outside.any():
            break
    return iter(np.clip(some, 0.0, 2.0))


def zero_one(case: Case, means: Floats, n: int, rng: np.random.Generator) -> Iterator[Floats]:
    """By the likelihood on a grid; means of shares are cut off as ``deploy_cases.zero_one`` does it."""
    grid = np.linspace(0.0, 2.0, GRID)
    share = np.column_stack([grid / REWARDS, grid[:, None] * case.bound])  # (grid, 1 + L)
    least = LEAST_SHARE * np.r_[1.0, case.bound]
    share, events = np.clip(share, least, 1.0 - LEAST_SHARE), n * means[:, None]
    weight = events * np.log(share) + (n - events) * np.log1p(-share)
    chance = np.exp(weight - weight.max(axis=1, keepdims=True)).cumsum(axis=1)  # (K, grid, 1 + L)
    u = rng.random((DRAWS, len(means), 1, means.shape[1]))
    return iter(grid[(chance / chance[:, -1:] < u).sum(axis=2)])


# --- the best mix --------------------------------------------------------------------------------------------


def likeliest_mix(fitting: Floats) -> Floats:
    """The mix with the largest product of the limits' chances; the instances tell means and deviations."""
    excess, deviation = fitting.mean(axis=0), fitting.std(axis=0) + 1e-9

    def scores(mix: Floats) -> tuple[Floats, Floats]:
        return -mix @ excess, spread(deviation, mix)

    def slopes(mix: Floats) -> tuple[Floats, Floats]:
        return -excess, deviation**2 * mix[:, None] / spread(deviation, mix)

    one = np.zeros(len(excess), dtype=np.int64)
    found = [likeliest(mix, scores, slopes, one, np.ones(1)) for mix in starts(fitting)[len(excess) :]]
    return max(found, key=lambda mix: float(log_ndtr(np.divide(*scores(mix))).sum()))


def best_share(fitting: Floats, some: Floats, rng: np.random.Generator) -> float:
    """In how many instances the best mix keeps all limits, by random search from several starts and ``some`` mixes."""
    mixes = np.vstack([starts(fitting), some])
    shares = kept(fitting, mixes)
    for _ in range(ROUNDS):
        order = np.argsort(-shares, kind="stable")[:BEST]
        mixes, shares = mixes[order], shares[order]
        near = np.vstack([neighbours(mix, rng) for mix in mixes])
        mixes, shares = np.vstack([mixes, near]), np.r_[shares, kept(fitting, near)]
    return float(shares.max())


def starts(fitting: Floats) -> Floats:
    """Every arm, all arms, the least mean violation, and the most room in standard deviations."""
    arms, costs = fitting.shape[1:]
    table, zero = np.column_stack([np.zeros(arms), fitting.mean(axis=0)]), np.zeros(costs)
    widest = widest_mix(table, zero, 9.0 * fitting.std(axis=0) + 1e-9, 8)[1]
    some = [np.full(arms, 1.0 / arms), solve_means(table, zero).mixture]
    return np.vstack([np.eye(arms), *some, *([] if widest is None else [widest])])


def neighbours(mix: Floats, rng: np.random.Generator) -> Floats:
    steps = np.repeat(STEPS, 6)[:, None]
    return np.asarray((1.0 - steps) * mix + steps * rng.dirichlet(np.full(len(mix), 0.3), len(steps)))


def kept(fitting: Floats, mixes: Floats) -> Floats:
    """Share of the instances in which each mix keeps all limits."""
    arms, costs = fitting.shape[1:]
    excess = mixes @ fitting.transpose(1, 0, 2).reshape(arms, -1)
    return np.asarray((excess.reshape(len(mixes), -1, costs) <= 1e-12).all(axis=2).mean(axis=1))
