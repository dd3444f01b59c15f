"""What a strategy has: the methods that every one needs, and those that let it do more."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.arrays import Floats, Integers
from bestmix.problems.instance import Instance
from bestmix.problems.problem import Problem
from bestmix.problems.segment_instance import SegmentInstance

if TYPE_CHECKING:
    from bestmix.strategies.replication import Replication
    from bestmix.strategies.search import Search

Memory = dict[str, Any]

SERVE_ALL = "use Challenger(), Uniform() or, where trials are chosen, SFSR(score='lagrangian')"
SERVE_STATES = "use Challenger() or Uniform()"
AHEAD = "ahead"  # entry of a memory: slots that decisions do not wait for, where rounds are bought
UNDER_WAY = "under way"  # entry of a memory: trials of each arm that are planned and that a decision does not wait for
MOST_TRIALS = 2**53  # beyond it counts are no longer exact in floats


@runtime_checkable
class Strategy(Protocol):
    """A recipe for spending the budget, as pure functions of what was told.

    ``memory`` is what a run remembers between rounds, as plain data that JSON can hold. A round
    begins with ``quota`` and ends, when all of it was told, with ``close``.
    """

    @property
    def name(self) -> str:
        """What tables and figures call it."""

    def start(self, problem: Problem, budget: Any) -> "Search":
        """Begin a run with so many trials or so much money; None is for strategies that stop by themselves."""

    def begin(self, problem: Problem, budget: int) -> Memory:
        """Memory before the first round; raises ValueError when the budget is too small."""

    def quota(self, problem: Problem, budget: int, memory: Memory) -> Integers | None:
        """Pulls of each unknown arm in the coming round (K0,); None when the run is over."""

    def close(self, evidence: Evidence, budget: int, memory: Memory) -> tuple[Memory, Mapping[str, Any]]:
        """Memory after the round, and what the history says of it (fields of ``Round``)."""

    def columns(self, problem: Problem, memory: Memory) -> Integers | None:
        """Columns that the answer is made of as things stand; None is the verdict infeasible."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data that says which strategy this is."""


@runtime_checkable
class Extendable(Protocol):
    """A strategy that can go on when the budget is raised."""

    def extended(self, problem: Problem, old: Any, new: Any, memory: Memory) -> Memory:
        """Memory under a larger budget, in trials or as an amount of money."""


@runtime_checkable
class Certifying(Protocol):
    """A strategy that certifies the mix to deploy."""

    def mixture(self, problem: Problem, memory: Memory) -> Floats | None:
        """That mix (K,); None where nothing is certified, or was asked to be."""


@runtime_checkable
class Checking(Protocol):
    """A strategy that refuses trials it cannot reckon with."""

    def check_trials(self, problem: Problem, rows: Floats) -> None:
        """ValueError for a row (reward, costs) of (m, 1 + L) that must not be told."""


@runtime_checkable
class Continuing(Protocol):
    """A strategy that has to know which trials were made before the run."""

    def after(self, evidence: Evidence, memory: Memory) -> Memory:
        """Memory before the first round, after those trials."""


@runtime_checkable
class Carrying(Protocol):
    """A strategy whose memory has what goes on where a run plans anew, with another budget, other arms or limits."""

    def carried(self, problem: Problem, memory: Memory) -> Memory:
        """These entries; the problem is the one so far."""


class Replicator(Protocol):
    """Simulated runs: fills the arrays that ``kernels/rejects.py`` describes."""

    def __call__(self, rng: np.random.Generator, answer: Integers, weight: Floats, pulls: Integers, /) -> None:
        """Run as many times as the arrays have rows."""


@runtime_checkable
class Replicable(Protocol):
    """A strategy with simulated runs of its own, which are quicker than ask and tell."""

    def replicator(self, instance: Instance, budget: int) -> Replicator | None:
        """The runs; None where this instance has to be simulated by ask and tell."""


@runtime_checkable
class SegmentReplicable(Protocol):
    """A strategy with simulated runs of its own on problems of segments and limits of every kind."""

    def segment_replicator(self, instance: SegmentInstance, budget: int, way: int) -> "Replication | None":
        """The runs, which fill ``kernels.segment_runs.Answers``; None where they have to be simulated round by round.

        ``way`` is CHOSEN, ARRIVING or LEARNT of ``kernels/segment_runs.py``.
        """


@runtime_checkable
class Scored(Protocol):
    """A strategy with a score, which may be a function of the user's own."""

    @property
    def score(self) -> Any:
        """The score's name, or the function."""


@runtime_checkable
class Compiled(Protocol):
    """A replicator that says whether its runs leave Python's global lock alone, so that threads speed them up."""

    @property
    def compiled(self) -> bool:
        """Whether they do."""


def check_strategy(strategy: Any) -> Strategy:
    """The strategy, or an error that says what was passed instead.

    >>> from bestmix import Uniform
    >>> check_strategy(Uniform()).name
    'USLP'
    """
    if isinstance(strategy, type) or not isinstance(strategy, Strategy):
        raise checks.InvalidInput(
            "strategy", expected="a strategy such as SFSR()", got=checks.shown(strategy), remedy="pass an instance"
        )
    return strategy


def extended(strategy: Strategy, problem: Problem, old: float, new: float, memory: Memory) -> Memory:
    """The memory of a run under a larger budget, where the strategy knows how to go on.

    >>> from bestmix import Uniform
    >>> extended(Uniform(), Problem(["a", "b"]), 4, 10, {"over": True})
    {'over': False, 'pulled': 2}
    """
    if not isinstance(strategy, Extendable):
        raise not_extendable(strategy, old, new)
    return strategy.extended(problem, old, new, memory)


def not_extendable(strategy: Strategy, old: object, new: object) -> checks.InvalidInput:
    """Why a budget cannot be raised."""
    return checks.InvalidInput(
        "budget",
        f"{strategy.name} lays out its rounds from the budget at the start, so that it cannot be extended "
        f"from {old} to {new}",
        "start anew with the larger budget",
    )


def certified_mix(strategy: Strategy, problem: Problem, memory: Memory) -> Floats | None:
    """The mix (K,) that a run which is over has certified; None where it has none, or goes on.

    >>> from bestmix import Uniform
    >>> certified_mix(Uniform(), Problem(["a", "b"]), {"over": True, "pulled": 2}) is None
    True
    """
    over = isinstance(strategy, Certifying) and strategy.quota(problem, MOST_TRIALS, memory) is None
    return strategy.mixture(problem, memory) if isinstance(strategy, Certifying) and over else None


def mixes(strategy: Strategy) -> bool:
    """Whether other arms may come into the mix to deploy where those of the answer are not certain enough.

    >>> from bestmix import SFSR, SingleArm
    >>> mixes(SFSR()), mixes(SingleArm())
    (True, False)
    """
    return bool(getattr(strategy, "mixes", True))


def least_scatter(strategy: Strategy, problem: Problem) -> Floats | None:
    """What the scatter of each measure (M,) counts as where an arm's trials were all alike, as decisions take it.

    >>> from bestmix import Challenger, Uniform
    >>> least_scatter(Challenger(ranges={"reward": (0, 3)}), Problem(["a"])), least_scatter(Uniform(), Problem(["a"]))
    (array([9.]), None)
    """
    found = getattr(strategy, "least_scatter", None)
    return None if found is None else found(problem)


def check_problem(strategy: Strategy, problem: Problem) -> None:
    """Refuse a problem that a strategy cannot go on with, as a change of limits could make one.

    >>> from bestmix import Challenger, Uniform
    >>> check_problem(Uniform(), Problem(["a"]))
    >>> check_problem(Challenger(ranges={"dollars": (0, 3)}), Problem(["a"]))
    Traceback (most recent call last):
    bestmix.checks.InvalidInput: ranges: expected names of metrics: 'reward', got 'dollars'; see their spelling
    """
    found = getattr(strategy, "check_problem", None)
    if found is not None:
        found(problem)


def decides_from_counts(strategy: Strategy) -> bool:
    """Whether trials that were made before the run count in full: what a schedule planned matters to others.

    >>> from bestmix import SFSR, Challenger
    >>> decides_from_counts(Challenger()), decides_from_counts(SFSR())
    (True, False)
    """
    return bool(getattr(strategy, "decides_from_counts", False))


def left_out(strategy: Strategy, results: int) -> str:
    """Why results are not in the estimates; no text where all are.

    >>> from bestmix import SFSR
    >>> left_out(SFSR(), 79)  # doctest: +NORMALIZE_WHITESPACE
    '79 results are left out of the estimates: SFSR has a number of places for each arm, and theirs were filled.
    recommend(everything=True), in the shell --everything, counts them.'
    """
    if not results:
        return ""
    why = f"{strategy.name} has a number of places for each arm, and theirs were filled"
    if decides_from_counts(strategy):
        why = "they came when their places were filled, which version 0.1 did not count"
    some = "1 result is" if results == 1 else f"{results:,} results are"
    return (
        f"{some} left out of the estimates: {why}. recommend(everything=True), in the shell --everything, counts them."
    )


def with_slacks(problem: Problem, columns: Integers | None) -> Integers | None:
    """The columns that a schedule has kept, with all slacks.

    That a limit is used up was decided without the results that it had no place for; with them it need not be.

    >>> with_slacks(Problem(["a", "b"], {"x": 1.0}), np.array([0, 1]))
    array([0, 1, 2])
    """
    return None if columns is None else np.union1d(columns, np.arange(len(problem.names), len(problem.columns)))


def after_log(strategy: Strategy, evidence: Evidence, memory: Memory) -> Memory:
    """The memory of a run that starts from trials which were made before: they were paid for otherwise.

    >>> from bestmix import Uniform
    >>> after_log(Uniform(), Evidence(Problem(["a"]), []), {"over": False})
    {'over': False}
    """
    return strategy.after(evidence, memory) if isinstance(strategy, Continuing) else memory


def carried(strategy: Strategy, problem: Problem, memory: Memory) -> Memory:
    """Entries of the memory that go on where a run of this problem plans anew.

    >>> from bestmix import Uniform
    >>> carried(Uniform(), Problem(["a"]), {"over": False})
    {}
    """
    return strategy.carried(problem, memory) if isinstance(strategy, Carrying) else {}


def look_ahead(strategy: Strategy, problem: Problem, memory: Memory) -> int:
    """Slots at the end of the plan that a decision does not wait for.

    >>> from bestmix import Challenger, Uniform
    >>> look_ahead(Challenger(ahead=8), Problem(["a"]), {}), look_ahead(Uniform(), Problem(["a"]), {})
    (8, 0)
    """
    if AHEAD in memory:
        return int(memory[AHEAD])
    ahead = getattr(strategy, "look_ahead", None)
    return 0 if ahead is None or arriving(problem, memory) else int(ahead(problem))


def arriving(problem: Problem, memory: Memory) -> bool:
    """Whether users arrive and only their arm is chosen: asked so before, or needed to learn the segments' shares.

    >>> arriving(Problem(["a"], segments=["free", "paid"]), {}), arriving(Problem(["a"]), {})
    (True, False)
    """
    return bool(memory.get("arriving")) or None in problem.segments.values()


def check_plain(strategy: str, problem: Problem, remedy: str = SERVE_ALL) -> None:
    """Refuse a problem that a strategy of the paper does not know, with the name of one that does.

    >>> check_plain("SFSR", Problem(["a", "b"], limits=["share(a) <= 40%"]))
    Traceback (most recent call last):
    bestmix.checks.InvalidInput: strategy: SFSR knows one segment and limits on means alone, ...
    """
    check_featureless(strategy, problem, SERVE_STATES if remedy == SERVE_ALL else remedy)
    if not problem.plain:
        raise checks.InvalidInput(
            "strategy",
            f"{strategy} knows one segment and limits on means alone, got {_beyond(problem)}",
            SERVE_STATES if problem.flows and remedy == SERVE_ALL else remedy,
        )


def check_featureless(strategy: str, problem: Problem, remedy: str = SERVE_STATES) -> None:
    """Refuse a problem whose arms have features, where a strategy knows none.

    >>> check_featureless("SFSR", Problem(["a", "b"], features=[[1, 0], [1, 1]]))
    Traceback (most recent call last):
    bestmix.checks.InvalidInput: strategy: SFSR knows arms without features alone; use Challenger() or Uniform()
    """
    if problem.features:
        raise checks.InvalidInput("strategy", f"{strategy} knows arms without features alone", remedy)


def check_stateless(strategy: str, problem: Problem, remedy: str = SERVE_STATES) -> None:
    """Refuse a problem with states, where a strategy knows none.

    >>> check_stateless("SFSR-L", Problem(["a", "b"]))
    """
    if problem.flows:
        raise checks.InvalidInput("strategy", f"{strategy} knows no states, got {_beyond(problem)}", remedy)


def check_arrivals(problem: Problem) -> None:
    """Refuse users who arrive where there are states: steps are made from states of choice.

    >>> check_arrivals(Problem(["a"], segments=["free", "paid"]))
    """
    if problem.flows:
        raise checks.InvalidInput(
            "segment", "steps are made from states of choice, not from where somebody is", "ask() for all trials"
        )


def _beyond(problem: Problem) -> str:
    """What makes a problem more than the paper's."""
    if problem.segments:
        return f"{len(problem.segments)} {problem.group}s"
    strange = [limit for limit in problem.limits if limit.on_share or limit.arm is not None or limit.equality]
    return f"'{strange[0]}'" if strange else "partly known arms"


def check_budget(problem: Problem, budget: int, least: int) -> None:
    """Refuse a budget that leaves an arm without a trial.

    >>> check_budget(Problem(["a", "b"]), 2, least=2)
    """
    if budget < least:
        raise checks.InvalidInput(
            "budget",
            expected=f"at least {least} trials for {len(problem.cells)} unknown arms",
            got=budget,
            remedy="raise it",
        )
