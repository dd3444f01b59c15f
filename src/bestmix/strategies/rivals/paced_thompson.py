"""Thompson sampling with a budget pacer: what routers run in production, to earn while they learn."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.arrays import Floats, Integers
from bestmix.kernels import jit, pacing
from bestmix.problems.instance import Instance
from bestmix.problems.problem import Problem
from bestmix.problems.spend import Spend
from bestmix.strategies.protocol import Memory, check_budget, check_plain
from bestmix.strategies.replication import Replication, bind
from bestmix.strategies.search import Search


@dataclass(frozen=True)
class PacedThompson:
    """Use the arm with the highest drawn reward minus the price of its costs; prices follow the spending.

    The primal-dual rule of the router ParetoBandit (Taberner-Miller, arXiv 2604.00136, package ``paretobandit``)
    without its contexts, and with Thompson sampling in place of its upper confidence bounds. After every trial the
    smoothed cost moves, s <- s + smoothing (cost - s) (eq. 3), and the price with it, p <- p + rate (s / bound - 1),
    between zero and ``most`` (eq. 4). The next trial goes to the arm with the largest reward, drawn from its posterior,
    minus p times its mean cost over the bound (eq. 2).

    What differs from the paper's Algorithm 1, beside contexts and sampling: its penalty is on the logarithm of a list
    price, and has a fixed part; arms above a ceiling that falls with the price are not used; old results are
    forgotten; and arms are not tried twice at first.

    It minimises regret, and keeps the spending near the bounds while it learns; it is no rule for finding the best mix,
    and does not stop. It assumes rewards of the order of one, positive bounds, and normal noise, whose scale is
    estimated. One trial is decided at a time. The answer here is the program's at its estimates; ``ended`` gives what
    its own runs end with.

    Parameters
    ----------
    rate, smoothing, most
        As in the package, with the defaults of its version 0.1.1 (``lr``, ``ema_alpha`` and ``lambda_max`` of
        ``budget_pacer.py``), which are the paper's. Numbers of equations are those of the text in its repository.
    seed
        Of the draws of a live run, with the number of trials so far.

    Examples
    --------
    >>> from bestmix import Problem
    >>> PacedThompson().start(Problem(["a", "b"], {"dollars": 1.0}), budget=400).ask()
    {'a': 2, 'b': 2}
    """

    rate: float = 0.05
    smoothing: float = 0.05
    most: float = 5.0
    seed: int = 0

    decides_from_counts: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name, most in (("rate", np.inf), ("smoothing", 1.0), ("most", np.inf)):
            value = checks.number(name, getattr(self, name))
            if not 0 < value <= most:
                raise checks.InvalidInput(name, expected=f"a positive number up to {most:g}", got=value)
        checks.whole("seed", self.seed, 0, "give any whole number")

    @property
    def name(self) -> str:
        """What tables call it."""
        return "paced Thompson"

    @property
    def _settings(self) -> pacing.Settings:
        return float(self.rate), float(self.smoothing), float(self.most)

    def start(self, problem: Problem, budget: int | Spend | None) -> Search:
        """Begin a run."""
        return Search(self, problem, budget)

    def begin(self, problem: Problem, budget: int) -> Memory:
        """Each arm is tried twice at first."""
        check_plain("PacedThompson", problem)
        if problem.bound.min(initial=np.inf) <= 0:
            raise checks.InvalidInput("bounds", expected="positive ones", got=f"{problem.bound.min():g}")
        unknown = len(problem.cells)
        check_budget(problem, budget, least=pacing.FIRST * unknown)
        pacer = {name: values.tolist() for name, values in pacing.new_pacer(problem.bound)._asdict().items()}
        first = [pacing.FIRST] * unknown if unknown else None
        return {"quota": first, "spent": [0.0] * len(problem.bound), **pacer}

    def quota(self, problem: Problem, budget: int, memory: Memory) -> Integers | None:
        """One trial of the arm that was drawn."""
        return None if memory["quota"] is None else np.array(memory["quota"], dtype=np.int64)

    def close(self, evidence: Evidence, budget: int, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """Move the prices by the last trial's costs, or the mean of the first ones, and draw the next arm."""
        bound, counts, unknown = evidence.problem.bound, evidence.counts, len(evidence.counts)
        pacer = pacing.Pacer(np.array(memory["smooth"]), np.array(memory["price"]))
        total, trials = counts @ evidence.means[:unknown, 1:], int(sum(memory["quota"]))
        cost = (total - np.array(memory["spent"])) / max(trials, 1)
        for _ in range(trials):
            pacing.observe(self._settings, bound, cost, pacer)
        after: Memory = {name: values.tolist() for name, values in pacer._asdict().items()}
        after |= {"quota": None, "spent": total.tolist()}
        if (spent := int(counts.sum())) < budget:
            rng, variance = np.random.default_rng([self.seed, spent]), pacing.reward_variance(counts, evidence.scatters)
            choose = jit.speed_for(evidence.means.size)(pacing.choose)
            chosen = choose(rng, evidence.means, bound, counts, variance, pacer)
            after["quota"] = [int(a == chosen) for a in range(unknown)]
        return after, {}

    def columns(self, problem: Problem, memory: Memory) -> Integers | None:
        """All of them."""
        return np.arange(len(problem.columns))

    def replicator(self, instance: Instance, budget: int) -> "WithoutShares | None":
        """Compiled runs, whose draws come from the simulation's seed."""
        run = self.ended(instance, budget)
        return None if run is None else WithoutShares(run, len(instance.arms), len(instance.bound))

    def ended(self, instance: Instance, budget: int) -> Replication | None:
        """``replicator`` with two more arrays: late shares (runs, K), and mean reward and costs (runs, 1 + L)."""
        self.begin(instance.problem, budget)
        return bind(pacing.runs, instance, budget, self._settings)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "PacedThompson", **asdict(self)}


@dataclass(frozen=True, eq=False)
class WithoutShares:
    """Runs whose spending, and the mix that they end with, nobody wants."""

    runs: Replication
    arms: int
    costs: int

    @property
    def compiled(self) -> bool:
        """Whether they leave Python's global lock alone."""
        return self.runs.compiled

    def __call__(self, rng: np.random.Generator, answer: Integers, weight: Floats, pulls: Integers) -> None:
        """Run as many times as the arrays have rows."""
        self.runs(rng, answer, weight, pulls, np.empty((len(pulls), self.arms)), np.empty((len(pulls), 1 + self.costs)))
