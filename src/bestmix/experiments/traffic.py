"""The calls of an experiment on live traffic, in any store's transaction: weights go out, sums come back.

**Versions.** Each round publishes weights under a version, which is the round's number. Requests follow them and are
reported as sums by (version, segment, arm). A round is over when as many requests of its version are in as it was
planned for, or when its time has passed and any came. The next one is planned from all sums that are in, in the same
transaction; those of older versions count whenever they come.

**Reports** of one edge are numbered from 1, without gaps. A number that was counted before changes nothing, the next
one is counted, any other is refused. So nothing is counted twice, and what is kept does not grow with the reports.

**Changes.** Another bound or limit, a new arm, an arm retired: the round ends, and the next version is planned by the
new problem. The sums go on; what rounds left of a limit, or lacked, is reckoned from then on.

What every version was planned from is kept with it, so that each can be planned again and compared.
"""

from collections.abc import Sequence
from typing import NamedTuple

from bestmix import checks
from bestmix.answers.evidence import Evidence
from bestmix.answers.moments import Moments
from bestmix.answers.recommendation import Round
from bestmix.experiments.calls import advance_clock
from bestmix.experiments.clock import LeaseClock
from bestmix.experiments.errors import Closed, OutOfOrder
from bestmix.experiments.model import Outcome
from bestmix.experiments.revision import Revision, Setup
from bestmix.experiments.store import Transaction
from bestmix.experiments.traffic_model import EdgeRow, Version
from bestmix.experiments.traffic_sums import SumsRow
from bestmix.problems.problem import Problem
from bestmix.strategies import rounds
from bestmix.strategies.protocol import Memory
from bestmix.strategies.traffic import Plan, Traffic, plan_round

START = 0  # version of what was known before the first request
SINCE = "since"  # entry of the memory: the sums at the last change; None until a version is planned from them


def first_version(problem: Problem, traffic: Traffic, moments: Sequence[Moments], now: float) -> Version:
    """The weights that an experiment begins with."""
    start = Evidence(problem, list(moments))
    plan = plan_round(start, traffic, traffic.requests, start)
    return Version.planned(1, plan, traffic.requests, now, traffic.seconds, [*moments, *known_counts(problem, {})])


class Report(NamedTuple):
    """Sums that an edge reports under a number."""

    edge: str
    sequence: int
    rows: Sequence[SumsRow]


def tell_sums(
    transaction: Transaction, lease_clock: LeaseClock, setup: Setup, reports: Sequence[Report]
) -> list[Outcome | Exception]:
    """Count reports, each once; what is refused is told in its place, and leaves the others alone."""
    known = transaction.edges({report.edge for report in reports})
    told = [_admitted(transaction, lease_clock, report, known) for report in reports]
    counted = [report for report, outcome in zip(reports, told, strict=True) if outcome is Outcome.counted]
    if not counted:
        return told
    head, time, parts = (
        transaction.head,
        advance_clock(transaction, lease_clock),
        dict[tuple[int, int], list[Moments]](),
    )
    for row in (row for report in counted for row in report.rows):
        parts.setdefault((row.version, row.arm), []).append(row.moments)
    sums = [SumsRow(*place, Moments.together(found)) for place, found in parts.items()]
    _count(transaction, setup.revision, sums)
    head.complete += sum(row.moments.count for row in sums)
    came = sum(row.moments.count for row in sums if row.version == head.round + 1)
    head.owing -= min(came, head.owing)
    _turn(transaction, lease_clock, setup, time)
    return told


def _admitted(
    transaction: Transaction, lease_clock: LeaseClock, report: Report, edges: dict[str, EdgeRow]
) -> Outcome | Exception:
    """Whether a report is new; it is then noted, among the edges too, and to be counted."""
    head, known = transaction.head, edges.get(report.edge)
    last = 0 if known is None else known.sequence
    if report.sequence <= last:
        return Outcome.repeated
    if head.status == "stopped":
        return Closed("tell_sums: the experiment was stopped and takes no more sums; drop them")
    if report.sequence != last + 1:
        found = f"report {last + 1} of {report.edge!r} is the next, got {report.sequence}"
        return OutOfOrder(f"key: {found}; report them in order")
    newest = max((row.version for row in report.rows), default=0)
    if newest > head.round + 1:
        published = f"one that was published, up to {head.round + 1}"
        return checks.InvalidInput("version", expected=published, got=newest, remedy="get the weights")
    total = sum(row.moments.count for row in report.rows)
    before, version = (0, newest) if known is None else (known.requests, newest or known.version)
    now = lease_clock.clock.now()
    edges[report.edge] = EdgeRow(report.edge, report.sequence, before + total, version, now)
    transaction.write_edge(edges[report.edge])
    return Outcome.counted


def turn(transaction: Transaction, lease_clock: LeaseClock, setup: Setup) -> None:
    """End the round if its time has passed."""
    _turn(transaction, lease_clock, setup, advance_clock(transaction, lease_clock))


def _turn(transaction: Transaction, lease_clock: LeaseClock, setup: Setup, time: float) -> None:
    head = transaction.head
    if head.status != "running" or (head.owing and time < head.earliest):
        return
    if head.owing:
        version = transaction.version(head.round + 1)
        if version is None or head.owing == version.requests:  # nobody came: there is nothing to plan from
            return
    end_round(transaction, lease_clock, setup)


def change(transaction: Transaction, lease_clock: LeaseClock, setup: Setup) -> None:
    """Go on by a problem that was changed: end the round, and publish what follows from the same sums."""
    transaction.advance({**transaction.memory(), SINCE: None}, [])
    if transaction.head.status != "failed":  # what failed is planned when it is resumed
        advance_clock(transaction, lease_clock)
        _cut_short(transaction, lease_clock, setup)


def resume(transaction: Transaction, lease_clock: LeaseClock, setup: Setup) -> None:
    """Plan what could not be planned: the round after one that is over, or by a problem that was changed."""
    if not transaction.head.owing:
        end_round(transaction, lease_clock, setup)
    elif transaction.memory().get(SINCE, ...) is None:
        advance_clock(transaction, lease_clock)
        _cut_short(transaction, lease_clock, setup)


def _cut_short(transaction: Transaction, lease_clock: LeaseClock, setup: Setup) -> None:
    """End a round before its requests are in: as many are expected in the next one as were in it."""
    version = transaction.version(transaction.head.round + 1)
    if version is not None:
        end_round(transaction, lease_clock, setup, version.expected)


def end_round(transaction: Transaction, lease_clock: LeaseClock, setup: Setup, expected: int | None = None) -> None:
    """Close the round and publish the next version; an error fails the experiment and loses nothing.

    As many requests are expected in the next round as came in this one, unless it was cut short.
    """
    head, revision, traffic = transaction.head, setup.revision, setup.strategy
    assert isinstance(traffic, Traffic)
    number, sums = head.round + 1, transaction.moments()
    moments = revision.chosen([sums[arm] for arm in sorted(sums)])
    counts = {arm: found.count for arm, found in transaction.version_sums(number).items()}
    memory = _accounted(transaction.memory(), revision.problem, moments)
    known = known_counts(revision.problem, memory)
    expected = max(sum(counts.values()), 1) if expected is None else expected
    try:
        basis = basis_of(revision, memory.get(SINCE), transaction.version_sums(START))
        plan = basis.plan(traffic, expected, moments, known)
        answer = rounds.mixture(setup.recipe, {}, moments)
    except Exception as error:  # arithmetic on what users report may raise anything
        head.status, head.reason = "failed", f"{traffic.name}: {type(error).__name__}: {error}"[:1000]
        transaction.add_event("failed", reason=head.reason)
        return
    pulls = {str(revision.served[arm]): n for arm, n in sorted(counts.items()) if n}
    transaction.advance(memory, [Round(number, pulls)], answer)
    now = lease_clock.clock.now()
    transaction.add_version(Version.planned(number + 1, plan, expected, now, traffic.seconds, [*moments, *known]))
    head.round += 1
    head.owing, head.earliest = plan.requests, head.clock + traffic.seconds
    transaction.add_event("round", number=number, rejected=None)
    if plan.alarm:
        transaction.add_event("alarm", version=number + 1, reason=plan.alarm)


def _accounted(memory: Memory, problem: Problem, moments: Sequence[Moments]) -> Memory:
    """The memory, in which the account of the limits begins with these sums if the problem was changed."""
    if memory.get(SINCE, ...) is not None:
        return memory
    sums = [*moments, *known_counts(problem, memory)]
    return {**memory, SINCE: [sum_.to_dict() for sum_ in sums]}


class Basis(NamedTuple):
    """What a version is planned by, beside its sums."""

    problem: Problem
    start: Evidence
    known: Sequence[Moments]  # how many requests of known arms are no part of the account
    newcomers: frozenset[str]

    def plan(self, traffic: Traffic, expected: int, moments: Sequence[Moments], known: Sequence[Moments]) -> Plan:
        """The next version's weights."""
        since = [Moments(m.size, m.count - old.count) for m, old in zip(known, self.known, strict=True)]
        evidence = Evidence(self.problem, list(moments))
        return plan_round(evidence, traffic, expected, self.start, since, self.newcomers)


def basis_of(revision: Revision, since: Sequence[dict[str, object]] | None, start: dict[int, Moments]) -> Basis:
    """What versions are planned by now: ``since`` are the sums at the last change, ``start`` those of no request."""
    problem = revision.problem
    if since is None:
        return Basis(problem, beginning(problem, start), known_counts(problem, {}), revision.newcomers)
    sums = [Moments.from_dict(data) for data in since]
    tried = len(problem.cells)
    return Basis(problem, Evidence(problem, sums[:tried]), sums[tried:], revision.newcomers)


def beginning(problem: Problem, sums: dict[int, Moments]) -> Evidence:
    """What was known before the first request."""
    return Evidence(problem, [sums.get(arm, Moments(len(problem.measures))) for arm in range(len(problem.cells))])


def known_counts(problem: Problem, memory: Memory) -> list[Moments]:
    """How many requests each arm that is known was given, in each segment: sums of nothing but the count."""
    counts = memory.get("known") or [0] * len(problem.known_cells)
    return [Moments(len(problem.measures), n) for n in counts]


def _count(transaction: Transaction, revision: Revision, rows: Sequence[SumsRow]) -> None:
    """Add sums to those of their versions and of all."""
    for version in dict.fromkeys(row.version for row in rows):
        mine = [row for row in rows if row.version == version]
        held = transaction.version_sums(version, [row.arm for row in mine])
        added = {row.arm: held[row.arm].joined(row.moments) if row.arm in held else row.moments for row in mine}
        transaction.write_version_sums(version, added)
    first, known = revision.first, len(revision.problem.known_cells)
    tried = [(row.arm - known * (row.arm >= first), row) for row in rows if not first <= row.arm < first + known]
    if tried:
        totals = transaction.moments(list(dict.fromkeys(number for number, _ in tried)))
        for number, row in tried:
            totals[number] = totals[number].joined(row.moments)
        transaction.write_moments(totals)
    if len(tried) < len(rows):
        memory = transaction.memory()
        counts = [sums.count for sums in known_counts(revision.problem, memory)]
        for row in rows:
            if first <= row.arm < first + known:
                counts[row.arm - first] += row.moments.count
        transaction.advance({**memory, "known": counts}, [])
