"""The calls of an experiment on live traffic, in any store's transaction: weights go out, sums come back.

**Versions.** Each round publishes weights under a version, which is the round's number. Requests follow them and are
reported as sums by (version, segment, arm). A round is over when as many requests of its version are in as it was
planned for, or when its time has passed and any came. The next one is planned from all sums that are in, in the same
transaction; those of older versions count whenever they come.

**Reports** of one edge are numbered from 1, without gaps. A number that was counted before changes nothing, the next
one is counted, any other is refused. So nothing is counted twice, and what is kept does not grow with the reports.

What every version was planned from is kept with it, so that each can be planned again and compared.
"""

from collections.abc import Sequence

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.recommendation import Round
from bestmix.experiments.calls import advance_clock
from bestmix.experiments.clock import LeaseClock
from bestmix.experiments.errors import Closed, OutOfOrder
from bestmix.experiments.model import Outcome
from bestmix.experiments.store import Transaction
from bestmix.experiments.traffic_model import EdgeRow, Version
from bestmix.experiments.traffic_sums import SumsRow
from bestmix.problems.problem import Problem
from bestmix.strategies import rounds
from bestmix.strategies.protocol import Memory
from bestmix.strategies.rounds import Recipe
from bestmix.strategies.traffic import Traffic, plan_round

START = 0  # version of what was known before the first request


def first_version(problem: Problem, traffic: Traffic, moments: Sequence[Moments], now: float) -> Version:
    """The weights that an experiment begins with."""
    start = Evidence(problem, list(moments))
    plan = plan_round(start, traffic, traffic.requests, start)
    return Version.planned(1, plan, traffic.requests, now, traffic.seconds, [*moments, *known_counts(problem, {})])


def tell_sums(
    transaction: Transaction, lease_clock: LeaseClock, recipe: Recipe, edge: str, sequence: int, rows: Sequence[SumsRow]
) -> Outcome:
    """Count a report, once."""
    head, known = transaction.head, transaction.edge(edge)
    last = 0 if known is None else known.sequence
    if sequence <= last:
        return Outcome.repeated
    if sequence != last + 1:
        raise OutOfOrder(f"key: report {last + 1} of {edge!r} is the next, got {sequence}; report them in order")
    if head.status == "stopped":
        raise Closed("tell_sums: the experiment was stopped and takes no more sums; drop them")
    newest = max((row.version for row in rows), default=0)
    if newest > head.round + 1:
        raise checks.InvalidInput(
            "version", expected=f"one that was published, up to {head.round + 1}", got=newest, remedy="get the weights"
        )
    time = advance_clock(transaction, lease_clock)
    _count(transaction, recipe.problem, rows)
    total = sum(row.moments.count for row in rows)
    before, version = (0, newest) if known is None else (known.requests, newest or known.version)
    transaction.write_edge(EdgeRow(edge, sequence, before + total, version, lease_clock.clock.now()))
    head.complete += total
    head.owing -= min(sum(row.moments.count for row in rows if row.version == head.round + 1), head.owing)
    _turn(transaction, lease_clock, recipe, time)
    return Outcome.counted


def turn(transaction: Transaction, lease_clock: LeaseClock, recipe: Recipe) -> None:
    """End the round if its time has passed."""
    _turn(transaction, lease_clock, recipe, advance_clock(transaction, lease_clock))


def _turn(transaction: Transaction, lease_clock: LeaseClock, recipe: Recipe, time: float) -> None:
    head = transaction.head
    if head.status != "running" or (head.owing and time < head.earliest):
        return
    if head.owing:
        version = transaction.version(head.round + 1)
        if version is None or head.owing == version.requests:  # nobody came: there is nothing to plan from
            return
    end_round(transaction, lease_clock, recipe)


def end_round(transaction: Transaction, lease_clock: LeaseClock, recipe: Recipe) -> None:
    """Close the round and publish the next version; an error fails the experiment and loses nothing."""
    head, problem, traffic = transaction.head, recipe.problem, recipe.strategy
    assert isinstance(traffic, Traffic)
    number, sums, start = head.round + 1, transaction.moments(), transaction.version_sums(START)
    moments = [sums[arm] for arm in sorted(sums)]
    counts = {arm: found.count for arm, found in transaction.version_sums(number).items()}
    memory = transaction.memory()
    known = known_counts(problem, memory)
    expected = max(sum(counts.values()), 1)
    try:
        plan = plan_round(Evidence(problem, moments), traffic, expected, beginning(problem, start), known)
        answer = rounds.mixture(recipe, {}, moments)
    except Exception as error:  # arithmetic on what users report may raise anything
        head.status, head.reason = "failed", f"{traffic.name}: {type(error).__name__}: {error}"[:1000]
        transaction.add_event("failed", reason=head.reason)
        return
    pulls = {problem.names[arm]: n for arm, n in sorted(counts.items()) if n}
    transaction.advance(memory, [Round(number, pulls)], answer)
    now = lease_clock.clock.now()
    transaction.add_version(Version.planned(number + 1, plan, expected, now, traffic.seconds, [*moments, *known]))
    head.round += 1
    head.owing, head.earliest = plan.requests, head.clock + traffic.seconds
    transaction.add_event("round", number=number, rejected=None)
    if plan.alarm:
        transaction.add_event("alarm", version=number + 1, reason=plan.alarm)


def beginning(problem: Problem, sums: dict[int, Moments]) -> Evidence:
    """What was known before the first request."""
    return Evidence(problem, [sums.get(arm, Moments(len(problem.measures))) for arm in range(len(problem.cells))])


def known_counts(problem: Problem, memory: Memory) -> list[Moments]:
    """How many requests each arm that is known was given, in each segment: sums of nothing but the count."""
    counts = memory.get("known") or [0] * len(problem.known_cells)
    return [Moments(len(problem.measures), n) for n in counts]


def _count(transaction: Transaction, problem: Problem, rows: Sequence[SumsRow]) -> None:
    """Add sums to those of their versions and of all."""
    for version in dict.fromkeys(row.version for row in rows):
        mine = [row for row in rows if row.version == version]
        held = transaction.version_sums(version, [row.arm for row in mine])
        added = {row.arm: held[row.arm].joined(row.moments) if row.arm in held else row.moments for row in mine}
        transaction.write_version_sums(version, added)
    tried = [row for row in rows if row.arm < len(problem.cells)]
    if tried:
        totals = transaction.moments(list(dict.fromkeys(row.arm for row in tried)))
        for row in tried:
            totals[row.arm] = totals[row.arm].joined(row.moments)
        transaction.write_moments(totals)
    if len(tried) < len(rows):
        memory = transaction.memory()
        counts = [sums.count for sums in known_counts(problem, memory)]
        for row in rows:
            if row.arm >= len(problem.cells):
                counts[row.arm - len(problem.cells)] += row.moments.count
        transaction.advance({**memory, "known": counts}, [])
