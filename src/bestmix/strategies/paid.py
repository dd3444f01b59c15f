"""A strategy under a budget of money: its decisions are rounds of what can be bought.

How many trials there are is not known beforehand, so that the strategy plans each round from the money that is left
(``purse.py``). What it decides stays a pure function of what was told; the amount, and prices of arms that came later,
are kept in its memory, since they may change (``budget_changes.py``).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from bestmix import checks
from bestmix.answers.account import Account
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.arrays import Floats, Integers
from bestmix.problems.problem import Problem
from bestmix.problems.spend import Spend
from bestmix.strategies.exact_values import exact_measures
from bestmix.strategies.protocol import (
    AHEAD,
    MOST_TRIALS,
    UNDER_WAY,
    Certifying,
    Checking,
    Extendable,
    Memory,
    Strategy,
    carried,
    check_problem,
    decides_from_counts,
    least_scatter,
    look_ahead,
    mixes,
    not_extendable,
)
from bestmix.strategies.purse import Purse, check_first, purse_of, spent_on

if TYPE_CHECKING:
    from bestmix.strategies.search import Search

# Entries of the memory that are not the strategy's: what may be spent, what trials cost that were made before the run,
# what is set aside for trials that never told and how many of these are from before the last change of arms, what
# trials of retired arms have cost, what trials of each arm cost, or can cost at most, where arms came later, and slots
# that decisions do not wait for.
OWN = ("amount", "before", "lost", "silent", "retired", "prices", "most", AHEAD)


@runtime_checkable
class Buying(Protocol):
    """A strategy that knows what to buy; the memory's entry ``quota`` has the trials of the round, None at the end."""

    def begin_paid(self, problem: Problem, purse: Purse) -> Memory:
        """Memory before the first round."""

    def close_paid(self, evidence: Evidence, purse: Purse, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """Memory after a round, and what the history says of it."""


@dataclass(frozen=True)
class Paid:
    """A strategy with a budget of money; ``strategy.start(problem, Spend(...))`` makes it.

    >>> from bestmix import Problem, Uniform
    >>> search = Uniform().start(Problem(["a", "b"]), Spend(10.0, "dollars", prices={"a": 0.5, "b": 2.0}))
    >>> search.ask(), search.strategy.name
    ({'a': 8, 'b': 3}, 'USLP')
    """

    strategy: Strategy
    spend: Spend

    @property
    def name(self) -> str:
        """That of the strategy."""
        return self.strategy.name

    @property
    def decides_from_counts(self) -> bool:
        """Whether trials that were made before the run count in full."""
        return decides_from_counts(self.strategy)

    @property
    def mixes(self) -> bool:
        """Whether other arms may come into the mix to deploy."""
        return mixes(self.strategy)

    def least_scatter(self, problem: Problem) -> Floats | None:
        """What the scatter of trials that were all alike counts as."""
        return least_scatter(self.strategy, problem)

    @property
    def buying(self) -> Buying:
        """The strategy, as one that knows what to buy."""
        if not isinstance(self.strategy, Buying):
            raise checks.InvalidInput(
                "budget",
                f"{self.strategy.name} has no rule for a budget of money",
                "give a number of trials, or use Challenger(), Uniform() or SFSR()",
            )
        return self.strategy

    def start(self, problem: Problem, budget: int | Spend | None = None) -> "Search":
        """Begin a run; the money is the budget."""
        from bestmix.strategies.search import Search

        return Search(self, problem, MOST_TRIALS if budget is None else budget)

    def begin(self, problem: Problem, budget: int) -> Memory:
        """The first round that the money allows."""
        self.spend.check(problem)
        if None in problem.segments.values():
            check_chosen(self)
        if self.spend.missing(problem):
            raise checks.InvalidInput(
                "budget", f"no trial tells its {self.spend.unit}", f"give prices, or add tracked=[{self.spend.unit!r}]"
            )
        nothing = Evidence(problem, [Moments(len(problem.measures)) for _ in problem.cells])
        purse = purse_of(nothing, self.spend, self.spend.amount)
        check_first(purse, self.spend, problem)
        begun = {"amount": self.spend.amount, **self.buying.begin_paid(problem, purse)}
        ahead = look_ahead(self.strategy, problem, begun) if self.spend.hard else 0
        return begun | ({AHEAD: ahead} if ahead else {})

    def quota(self, problem: Problem, budget: int, memory: Memory) -> Integers | None:
        """What the last decision bought."""
        return None if memory["quota"] is None else np.array(memory["quota"], dtype=np.int64)

    def close(self, evidence: Evidence, budget: int, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """Decide on what to buy next."""
        own = {name: memory[name] for name in OWN if name in memory}
        closed, told = self.buying.close_paid(evidence, self.purse(evidence, memory), memory)
        closed = {name: value for name, value in closed.items() if name != UNDER_WAY}
        if closed["quota"] is None and any(memory.get(UNDER_WAY, ())):  # perhaps these cost less than they reserve
            closed["quota"] = [0] * len(evidence.counts)
        return {**closed, **own}, told

    def purse(self, evidence: Evidence, memory: Memory) -> Purse:
        """Where the money stands at a decision, trials from before the run included.

        What is set aside for trials that never told (``lost``) counts as spent, and so do trials of retired arms.
        """
        spend = self.now(memory).among(evidence.problem.arms)
        purse = purse_of(evidence, spend, memory["amount"] + memory.get("before", 0.0))
        purse = purse._replace(spent=purse.spent + memory.get("lost", 0.0) + memory.get("retired", 0.0))
        if UNDER_WAY not in memory:
            return purse
        out = np.array(memory[UNDER_WAY], dtype=np.int64)
        return purse._replace(counts=purse.counts + out, under_way=out)

    def now(self, memory: Memory) -> Spend:
        """The budget as it is now, with the prices of all arms that ever were."""
        prices, most = memory.get("prices", self.spend.prices), memory.get("most", self.spend.most)
        return Spend(memory["amount"], self.spend.unit, prices, most)

    def columns(self, problem: Problem, memory: Memory) -> Integers | None:
        """Those of the strategy."""
        return self.strategy.columns(problem, memory)

    def mixture(self, problem: Problem, memory: Memory) -> Floats | None:
        """The mix that the strategy has certified."""
        return self.strategy.mixture(problem, memory) if isinstance(self.strategy, Certifying) else None

    def check_problem(self, problem: Problem) -> None:
        """Refuse what the strategy refuses."""
        check_problem(self.strategy, problem)

    def check_trials(self, problem: Problem, rows: Floats) -> None:
        """Refuse trials that earn money, and what the strategy refuses."""
        if isinstance(self.strategy, Checking):
            self.strategy.check_trials(problem, rows)
        if self.spend.prices is None:
            least = rows[:, problem.metrics.index(self.spend.unit)].min(initial=0.0)
            if least < 0:
                raise checks.InvalidInput(
                    self.spend.unit, expected="what the trial has cost, at least 0", got=f"{least:g}"
                )

    def exact_measures(self, problem: Problem) -> list[int]:
        """Those of the strategy."""
        return exact_measures(self.strategy, problem)

    def extended(self, problem: Problem, old: float, new: float, memory: Memory) -> Memory:
        """Memory under a larger amount; a run that was over decides once more."""
        if not isinstance(self.strategy, Extendable):
            raise not_extendable(self.strategy, self.spend.say(old), self.spend.say(new))
        over = memory["quota"] is None and problem.cells
        return {**memory, "amount": new} | ({"quota": [0] * len(problem.cells)} if over else {})

    def carried(self, problem: Problem, memory: Memory) -> Memory:
        """What the strategy goes on with where rounds are planned anew."""
        return carried(self.strategy, problem, memory)

    def after(self, evidence: Evidence, memory: Memory) -> Memory:
        """Memory of a run that starts from trials which were paid for otherwise."""
        return {**memory, "before": spent_on(self.spend, evidence)}

    def account(self, evidence: Evidence, memory: Memory) -> Account:
        """Where the money stands."""
        spend = self.now(memory).among(evidence.problem.arms)
        price = purse_of(evidence, spend, memory["amount"]).price.tolist()
        known = [spend.prices is not None or count > 0 for count in evidence.counts]
        named = zip(evidence.problem.trial_names, price, known, strict=True)
        spent = spent_on(spend, evidence) + memory.get("retired", 0.0) - memory.get("before", 0.0)
        prices = {name: p for name, p, told in named if told}
        return Account(spend, spent, prices, memory.get("lost", 0.0))

    def begun_with(self, data: Mapping[str, Any], memory: Mapping[str, Any]) -> "Paid":
        """The same as a saved run began; its amount and its arms, with their prices, may have changed since."""
        saved = data.get("spend") if isinstance(data, Mapping) else None
        if not isinstance(saved, Mapping):
            return self
        begun = Paid(self.strategy, Spend.from_dict(saved))
        arms = self.spend.prices or (self.spend.most if isinstance(self.spend.most, Mapping) else ())
        now = begun.now(dict(memory)).among(arms).raised(self.spend.amount)
        return begun if now == self.spend else Paid(self.strategy, self.spend.raised(saved["amount"]))

    def for_arms(self, problem: Problem, memory: Memory) -> "Paid":
        """The same with the arms of a problem that has changed, and an amount that is enough to begin with them."""
        now = self.now(memory).among(problem.arms)
        least = sum((now.of_cells(problem, a, "prices").sum() for a in (now.prices, now.most) if a is not None), 0.0)
        return Paid(self.strategy, now.raised(max(now.amount, 2.0 * float(least))))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"kind": "Paid", "strategy": self.strategy.to_dict(), "spend": self.spend.to_dict()}


def paid(strategy: Strategy, problem: Problem, spend: Spend) -> tuple[Paid, Problem]:
    """The strategy with a budget of money, and the problem whose trials tell what they cost."""
    spend.check(problem)
    return Paid(strategy, spend), problem.tracking(spend.missing(problem))


def account_of(strategy: Strategy, evidence: Evidence, memory: Memory) -> Account | None:
    """Where the money of a run stands; None where its budget is a number of trials."""
    return strategy.account(evidence, memory) if isinstance(strategy, Paid) else None


def check_chosen(strategy: Strategy) -> None:
    """Refuse a budget of money where users arrive."""
    if isinstance(strategy, Paid):
        raise checks.InvalidInput(
            "budget",
            "where users arrive, who comes decides what a round costs",
            "give a number of trials, or the shares of the segments, and ask without a segment",
        )


def as_begun(strategy: Strategy, data: Mapping[str, Any]) -> Strategy:
    """The strategy as an experiment has kept it: with its budget, where that is one of money."""
    kept = data.get("spend") if data.get("kind") == "Paid" else None
    return strategy if kept is None or isinstance(strategy, Paid) else Paid(strategy, Spend.from_dict(kept))


def once_more(strategy: Extendable, problem: Problem, budget: int, memory: Memory) -> Memory:
    """The memory of a run that was over and decides once more, with the budget that it has."""
    if not isinstance(strategy, Paid):
        return strategy.extended(problem, budget, budget, memory)
    amount = memory["amount"]
    return strategy.extended(problem, amount, amount, memory) if isinstance(strategy.strategy, Extendable) else memory
