"""How many trials do I need? Budgets for a wanted error, from guessed means or from a pilot log."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from bestmix import checks
from bestmix.problems.instance import Instance
from bestmix.problems.known import Known
from bestmix.problems.segment_instance import SegmentInstance
from bestmix.problems.solution import solve
from bestmix.problems.spend import Spend
from bestmix.problems.uniqueness import broken_condition
from bestmix.strategies import SFSR, Challenger, SingleArm, Strategy, Uniform
from bestmix.strategies.protocol import MOST_TRIALS
from bestmix.strategies.tolerance_stop import parse_tolerance
from bestmix.theory.bounds import any_exponent, budget_for
from bestmix.theory.gaps.measure import MOST_BASES, Gaps, gaps
from bestmix.theory.limit.bound import LowerBound
from bestmix.theory.limit.measure import limit_at_once
from bestmix.theory.planning.bisection import Bisection, Budget
from bestmix.theory.planning.error_rates import ErrorRates, LossRates
from bestmix.theory.planning.guesses import PILOT, as_instance, read_guess
from bestmix.theory.planning.sensitivity import Sensitivity, sensitivity_of
from bestmix.theory.sentences import reasons

RUNS = 4000  # of each simulated budget, at least
ERRORS = 40  # that are expected among the runs, at least, with the wanted error
SMALLEST = 1e-4  # error that can be planned for
LARGEST_BUDGET = 10_000_000  # where the search for a budget ends
LARGEST_SLOW = 100_000  # the same by ask and tell, as for money, in trials of the mean price, and with features
SLOW_RUNS, SLOW_ERRORS = 200, 8  # RUNS and ERRORS for these
SLOW_PRECISION = 1.1  # between neighbouring amounts: fewer runs tell no more
NO_THEORY = "The theorems are about the support, not about the loss, so there are no theoretical budgets."
FIXED_CONFIDENCE = "To stop by itself and promise the error whatever the means is more than a fixed budget does."
NO_MONEY = "The theorems count trials, not money, so there are no theoretical budgets."
NO_FEATURES = "The theorems know no features, so there are no theoretical budgets."
NO_THEOREM = "The theorems are about one segment and limits on means, so there are no theoretical budgets."


def built_in(instance: Instance | None = None, coin: Spend | None = None) -> list[Strategy]:
    """The strategies that a plan compares when none are named: those that serve the instance, in money two of them.

    >>> from bestmix import catalog
    >>> [strategy.name for strategy in built_in(catalog.load("S3L1"))]
    ['Challenger', 'SFSR-L', 'USLP']
    """
    if coin is not None or (instance is not None and instance.problem.features):
        return [Challenger(), Uniform()]
    if instance is None or instance.problem.plain:
        return [Challenger(), SFSR(), SFSR(score="lagrangian"), Uniform(), SingleArm()]
    schedules = None not in instance.problem.segments.values() and not instance.problem.flows
    chosen = [SFSR(score="lagrangian")] if schedules else []
    return [Challenger(), *chosen, Uniform()]


@dataclass(frozen=True, eq=False)
class Plan:
    """How many trials to plan for.

    Attributes
    ----------
    instance
        The guesses.
    error
        The wanted chance of a wrong support.
    budgets
        What each strategy needs, the smallest first.
    guarantee
        Trials with which Theorem 1 bounds SFSR's error as wanted, if means and noise are exactly those of
        ``instance``; a guess or an estimate of a pilot log, so this promises nothing. None where it is not known.
    at_least
        About as many trials are needed by any consistent algorithm (``any``) and by uniform sampling
        (``uniform``), by the exponents of Theorem 2 read as those of normal tails; None where they are not known.
        The theorem holds in the long run, so these are a guide and no proof.
    note
        Why there are no theoretical budgets, if so.
    hard
        Sentences about the two or three arms or bounds that make it hard, the worst first.
    sensitivity
        What the best strategy needs if the guesses are a little wrong; None when it was not asked for.
    tolerance
        The wanted mean loss, where the budgets are for that; None where they are for the error.
    limit
        What no algorithm can beat that is never wrong more often, whatever the means; None where it is not known.
    coin
        In a plan of money the amount that budgets count, the mean price of a trial, with its unit; None for trials.
    from_log
        Whether the guesses are means of a pilot log, whose gaps may be luck.
    """

    instance: Instance
    error: float
    budgets: tuple[Budget, ...]
    guarantee: int | None
    at_least: Mapping[str, int] | None
    note: str
    hard: tuple[str, ...]
    sensitivity: Sensitivity | None
    gaps: Gaps | None = field(repr=False)
    tolerance: float | None = None
    limit: LowerBound | None = field(repr=False, default=None)
    coin: Spend | None = None
    from_log: bool = False

    @property
    def best(self) -> Budget | None:
        """The strategy that needs the fewest trials."""
        return next((b for b in self.budgets if b.trials is not None), None)

    def amount(self, budget: int) -> float:
        """A budget as a number of trials, or as an amount of money."""
        return budget if self.coin is None else budget * self.coin.amount

    def say(self, budget: int) -> str:
        """A budget in words: "1,200 trials", "0.42 dollars"."""
        return f"{budget:,} trials" if self.coin is None else self.coin.say(budget * self.coin.amount)

    @property
    def goal(self) -> str:
        """What is planned for."""
        return f"an error of {self.error:g}" if self.tolerance is None else f"a mean loss of {self.tolerance:.3g}"

    def sentence(self) -> str:
        """The answer in plain language."""
        if self.best is None:
            most = max((b.most for b in self.budgets), default=0)
            return f"No strategy gets down to {self.goal} with {self.say(most)}.{self._consolation()}"
        assert self.best.trials is not None
        low, high = self.short(self.best.least), self.say(self.best.trials)
        made = "" if self.coin is None else f", about {self.best.pulls:,.0f} trials"
        end = self.short(self.best.trials) if self.coin is None else high
        between = f"(the need is between {low} and {end})"
        if self.tolerance is not None:
            safe = " A mix that keeps its limits with certainty loses more." if self.instance.problem.costs else ""
            return (
                f"Plan {high} with {self.best.strategy}{made}: the best mix of the estimates then loses at most "
                f"{self.tolerance:.3g} of {self.instance.problem.goal.quantity} on average (regret, and what is above "
                f"a limit at its shadow price), if the means are as guessed {between}.{safe}"
            )
        return (
            f"Plan {high} with {self.best.strategy}{made}: wrong in at most {self.error:.3g} of all cases, if the "
            f"means are as guessed {between}."
        )

    def _consolation(self) -> str:
        """Where answers nearly tie, which of them is found matters little: what the mix loses after few trials."""
        known = [(loss, n, b.strategy) for b in self.budgets for n, loss in b.losses[:1] if math.isfinite(loss)]
        if not known:
            return ""
        loss, trials, strategy = min(known)
        advice = "; give a tolerance to plan for the loss" if self.tolerance is None else ""
        return (
            f" But answers that are so hard to tell apart are nearly equally good: with {self.say(trials)} "
            f"{strategy}'s "
            f"mix loses {loss:.2g} of {self.instance.problem.goal.quantity} on average{advice}."
        )

    def rows(self) -> list[dict[str, Any]]:
        """The table, a dict for each strategy."""
        return [
            {
                "strategy": b.strategy,
                "budget": None if b.trials is None else self.amount(b.trials),
                "least": self.amount(b.least),
                "error_rate": b.error_rate,
                "low": b.error_interval[0],
                "high": b.error_interval[1],
                "loss": b.loss,
                "loss_low": b.loss_interval[0],
                "loss_high": b.loss_interval[1],
                "runs": b.runs,
                "seed": b.seed,
            }
            | ({} if self.coin is None else {"trials": b.pulls})
            for b in self.budgets
        ]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a JSON file."""
        return {
            "error": self.error,
            "tolerance": self.tolerance,
            **({} if self.coin is None else {"unit": self.coin.unit, "prices": self._prices()}),
            "instance": self.instance.to_dict(),
            "budgets": [{k: v if v == v else None for k, v in row.items()} for row in self.rows()],
            "guarantee": self.guarantee,
            "at_least": None if self.at_least is None else dict(self.at_least),
            "note": self.note,
            "limit": None if self.limit is None else self.limit.to_dict(),
            "hard": list(self.hard),
            "sensitivity": None if self.sensitivity is None else asdict(self.sensitivity),
        }

    def _prices(self) -> dict[str, float] | None:
        return None if self.coin is None or self.coin.prices is None else dict(self.coin.prices)

    def __str__(self) -> str:
        name = "budget" if self.coin is None else self.coin.unit
        around = [] if self.sensitivity is None else [self.sensitivity.sentence(self.from_log)]
        lines = [
            *(around if self.from_log else []),
            self.sentence(),
            f"{'strategy':<14} {name:>12} {'between':>25}  error rate (95% interval)  mean loss",
        ]
        for b in self.budgets:
            budget = f"> {self.short(b.most)}" if b.trials is None else self.short(b.trials)
            between = "" if b.trials is None else f"{self.short(b.least)} and {self.short(b.trials)}"
            rate = f"{b.error_rate:.4f} ({b.error_interval[0]:.4f}, {b.error_interval[1]:.4f})"
            lines.append(f"{b.strategy:<14} {budget:>12} {between:>25}  {rate:<25}  {b.loss:.3g}")
        lines += [*self.theory(), *self.hard]
        return "\n".join([*lines, *([] if self.from_log else around)])

    def short(self, budget: int) -> str:
        """A budget in words without its unit."""
        return f"{budget:,}" if self.coin is None else self.coin.number(budget * self.coin.amount)

    def theory(self) -> list[str]:
        """What the theorems say, in sentences."""
        lines = [] if self.limit is None else [f"{FIXED_CONFIDENCE} {self.limit.sentence()}"]
        if self.gaps is None:
            return [self.note, *lines]
        if self.guarantee is not None:
            lines.append(
                f"If the means and the noise are exactly as guessed, SFSR is wrong at most so often with "
                f"{self.guarantee:,} trials, by Theorem 1, which is a loose bound. Guesses carry no guarantee."
            )
        anyone, uniform = ((self.at_least or {}).get(who, 0) for who in ("any", "uniform"))
        if anyone:
            lines.append(
                f"With a fixed budget, as here, any consistent algorithm needs at least about {anyone:,} trials by the "
                f"exponents of Theorem 2, uniform sampling {uniform:,}."
            )
        return lines


def plan(
    source: Any,
    error: float = 0.05,
    strategies: Sequence[Strategy] | None = None,
    *,
    bounds: Mapping[str, float] | None = None,
    known: Mapping[str, Known] | None = None,
    arm: str = "arm",
    reward: str = "reward",
    drop_missing: bool = False,
    goal: str = "maximise reward",
    limits: Sequence[str] = (),
    segment: str | tuple[str, str] | None = None,
    discount: float | None = None,
    start: str | Mapping[str, float] | None = None,
    next_state: str = "next",
    features: Sequence[str] | Mapping[str, Any] | None = None,
    arriving: bool = False,
    pilot: float = PILOT,
    draws: int = 20,
    runs: int | None = None,
    seed: int = 0,
    most: int = LARGEST_BUDGET,
    tolerance: float | str | None = None,
    unit: str | None = None,
    prices: Mapping[str, float] | None = None,
    threads: int | None = None,
    progress: Callable[[str], object] | None = None,
) -> Plan:
    """The budget that each strategy needs to find the right support, except with a chance of ``error``.

    Budgets are numbers of trials, or with ``unit`` amounts of money.

    Parameters
    ----------
    source
        Guessed means: an Instance, with segments and limits of any kind too, a .toml or .json file of one, or a name
        from the catalog. Or a pilot log as in ``from_log``, with ``bounds`` or ``limits``, which is turned into
        Gaussian noise with each arm's own covariance.
    error
        The wanted chance of a wrong support.
    strategies
        By default all of this package that serve the problem.
    bounds, known, arm, reward, drop_missing, goal, limits
        As in ``from_log``, for a pilot log.
    segment
        Of a pilot log: the column of the segments, as in ``"tier"``, whose shares are those of the rows; or a column
        and what it says in the only rows that count, as in ``("tier", "free")``.
    discount, start, next_state, features
        Of a pilot log of steps between states, or of arms that are made of features, as in ``from_log``. Steps have
        the deviation that all actions have together.
    arriving
        With segments: users arrive and only their arm is chosen, so that the budget is a number of users.
    pilot
        Trials of each arm that guessed means are worth: how far ``draws`` around them scatter. A pilot log has
        its own counts.
    draws
        Instances around the guesses for which the best strategy's budget is estimated too; 0 for none.
    runs, seed
        Of each simulated budget; by default 4,000 runs, and more for a small error.
    most
        Trials at which the search for a budget is given up.
    tolerance
        Plan for the mean loss instead of the error: how much less than the best mix the recommended one may earn on
        average, what is above a limit counted at its shadow price. An amount, or a text such as ``"1%"`` of the best
        value. Then ties do not matter, and there are no theoretical budgets and no draws around the guesses.
    unit, prices
        Plan how much money to spend instead of how many trials to make: in which unit, and what a trial of each arm
        costs in it. Without prices the unit is one of the costs, and a trial costs the mean of its arm. Runs are
        then made by ask and tell: by default 200 of each amount, of Challenger and of uniform sampling, and no
        draws around the guesses. ``most`` is in trials of the mean price, at most 100,000. So it is where arms have
        features.
    threads
        How many; all cores by default.
    progress
        Called with a sentence before each step.

    Examples
    --------
    >>> from bestmix import Uniform
    >>> guess = Instance(reward=[1.7, 2.6, 0.5], cost=[[0.0, 1.8, 0.8]], bound=[1.0], sigma_cost=0.5)
    >>> answer = plan(guess, error=0.05, strategies=[Uniform()], draws=0, runs=1000)
    >>> answer.best.strategy, answer.best.error_interval[1] <= 0.05
    ('USLP', True)
    """
    error = checks.number("error", error, "give a probability such as 0.05")
    if not SMALLEST <= error < 1:
        raise checks.InvalidInput(
            "error", expected=f"a probability from {SMALLEST:g} to below 1", got=f"{error:g}", remedy="try 0.05"
        )
    money = unit is not None or prices is not None
    if runs is not None:
        runs = checks.whole("runs", runs, math.ceil(4 / error), "with fewer no budget can be told to be enough")
    draws = checks.whole("draws", draws, 0, "20 is a good number")
    most = checks.whole("most", most, 1, "give a number of trials", MOST_TRIALS)
    tell = progress or (lambda sentence: None)
    tell("Reading the guesses")
    asked: dict[str, Any] = {"bounds": bounds, "known": known, "goal": goal, "limits": limits, "features": features}
    asked |= {"discount": discount, "start": start, "next_state": next_state}
    instance, counts = read_guess(source, asked, arm, reward, drop_missing, pilot, segment)
    coin = coin_of(instance, unit, prices) if money else None
    slow = money or bool(instance.problem.features)  # by ask and tell
    if runs is None:
        runs = max(SLOW_RUNS if slow else RUNS, math.ceil((SLOW_ERRORS if slow else ERRORS) / error))
    recipes = built_in(instance, coin) if strategies is None else list(strategies)
    allowed = None if tolerance is None else _allowed(instance, tolerance)
    _check(instance, recipes, unique=allowed is None)
    tell("Measuring the gaps")
    found, note = _theory(instance) if allowed is None else (None, NO_THEORY)
    plain = _plain(instance)
    if slow:
        note, most, draws = NO_MONEY if money else note, min(most, LARGEST_SLOW), 0
    kind, wanted = (ErrorRates, error) if allowed is None else (LossRates, allowed)
    budgets = []
    for strategy in recipes:
        tell(f"Simulating {strategy.name}")
        rates = kind(instance, strategy, seed, threads, arriving, coin)
        search = Bisection(rates, wanted, runs // 2, SLOW_PRECISION) if slow else Bisection(rates, wanted)
        budgets.append(search.budget(runs, most))
    budgets.sort(key=lambda b: (b.trials is None, b.trials or 0, b.error_rate))
    chosen = next((s for s in recipes if budgets[0].trials is not None and s.name == budgets[0].strategy), None)
    sensitivity = None
    if draws and allowed is None and chosen is not None and budgets[0].trials is not None:
        tell(f"Simulating {chosen.name} around the guesses")
        around = draws, seed, threads, arriving
        sensitivity = sensitivity_of(instance, counts, chosen, error, budgets[0].trials, *around)
    hard, found = tuple(reasons(found)) if found else (), found if coin is None else None
    exponent = None if found is None else any_exponent(found)
    return Plan(
        instance=instance,
        error=error,
        budgets=tuple(budgets),
        guarantee=None if found is None else budget_for(found, error),
        at_least=_at_least(exponent, error, len(instance.problem.cells)),
        note=note,
        hard=hard,
        sensitivity=sensitivity,
        gaps=found,
        tolerance=allowed,
        limit=limit_at_once(plain, error) if allowed is None and plain is not None and coin is None else None,
        coin=coin,
        from_log=as_instance(source) is None,
    )


def coin_of(instance: Instance, unit: str | None, prices: Mapping[str, float] | None) -> Spend:
    """The mean price of a trial, which amounts are counted in; where trials tell it, at the mean of each arm.

    >>> guess = Instance(reward=[1.7, 2.6], cost=[[0.5, 1.5]], bound=[1.0], costs=["dollars"])
    >>> coin_of(guess, "dollars", None).amount, coin_of(guess, "cents", {"arm0": 2.0, "arm1": 6.0}).amount
    (1.0, 4.0)
    """
    unit = "dollars" if unit is None else unit
    if prices is None and unit in instance.costs and not instance.problem.segments:
        means = instance.means[:, 1 + instance.costs.index(unit)].tolist()
        prices = dict(zip(instance.problem.arms, means, strict=False))
    if prices is None:
        raise checks.InvalidInput(
            "unit",
            expected=f"one of the costs: {', '.join(instance.costs) or 'there are none'}",
            got=unit,
            remedy="give prices= (--price), what a trial of each arm costs",
        )
    spend = Spend(1.0, unit, prices)
    price = float(spend.of_cells(instance.problem, prices, "prices").mean())
    if price <= 0:
        raise checks.InvalidInput(
            "prices", f"a trial of some arm has to cost more than 0 {unit}", "plan trials instead"
        )
    return spend.raised(price)


def _allowed(instance: Instance, tolerance: float | str) -> float:
    """The tolerance as an amount of reward."""
    best = solve(instance)
    if not best.feasible:
        raise checks.InvalidInput("source", "no mix keeps all bounds, so that no mix has a loss", "raise a bound")
    return parse_tolerance(tolerance).of(best.value)


def _plain(instance: Instance) -> Instance | None:
    """The instance by arrays, which theory is about; None where there is none."""
    return instance.as_plain() if isinstance(instance, SegmentInstance) else instance


def _check(instance: Instance, strategies: list[Strategy], unique: bool) -> None:
    names = checks.names("strategies", [s.name for s in strategies], "strategy")
    if not names:
        raise checks.InvalidInput(
            "strategies", expected="at least one", got="none", remedy="leave it out to compare them all"
        )
    if not instance.problem.arms:
        raise checks.InvalidInput(
            "source", expected="an arm whose means are unknown", got="none", remedy="there is nothing to try, see solve"
        )
    solution = solve(instance)
    if unique and solution.feasible and (reason := broken_condition(instance, solution)):
        raise checks.InvalidInput(
            "source", f"no budget is enough where {reason}", "give a tolerance, or change the means a little"
        )


def _theory(instance: Instance) -> tuple[Gaps | None, str]:
    plain = _plain(instance)
    if plain is None:
        return None, NO_FEATURES if instance.problem.features else NO_THEOREM
    instance, columns, size = plain, len(plain.problem.columns), len(plain.bound) + 1
    if not solve(instance).feasible:
        return None, "No mix keeps all bounds, so the right answer is that verdict; the theorems do not speak of it."
    if math.comb(columns, size) > MOST_BASES:
        return None, "There are too many bases to compute the gaps, so there are no theoretical budgets."
    return gaps(instance, bases=False), ""


def _at_least(exponent: float | None, error: float, unknown: int) -> dict[str, int] | None:
    if exponent is None or not exponent > 0:
        return None
    from scipy.special import ndtri

    trials = max(float(-ndtri(error)), 0.0) ** 2 / (2 * exponent)
    return {"any": math.ceil(trials), "uniform": math.ceil(trials * unknown)}
