"""True means, noise and shares of segments as users write them, read in the order of a problem's names and measures."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats
from bestmix.problems import noise as models
from bestmix.problems.problem import SHARES_ADD_UP, Cell, Problem
from bestmix.problems.quantities import Tail, Visit


def read_means(problem: Problem, means: Any) -> Floats:
    """True mean of each measure of every arm, in each segment: (names, measures).

    >>> asked = Problem(["a", "b"], limits=["dollars >= 1"])
    >>> read_means(asked, {"a": {"reward": 1.0, "dollars": 2.0}, "b": {"reward": 3.0, "dollars": 4.0}})
    array([[1., 2.],
           [3., 4.]])
    """
    shape = (len(problem.cells), len(problem.measures))
    if isinstance(means, Mapping):
        tried = np.array([_row(problem, cell, means) for cell in problem.cells]).reshape(shape)
    else:
        cube = (len(problem.segments), len(problem.arms), shape[1])
        same = np.shape(means) == cube and np.size(means) == shape[0] * shape[1]
        given = np.reshape(means, shape) if same else means
        tried = np.array(checks.array("means", given, shape, "(arms in segments, measures)"))
        _check_known(problem, tried)
    return np.vstack([tried, problem.known_measures])


def _row(problem: Problem, cell: Cell, means: Mapping[str, Any]) -> list[float]:
    """Means of one arm, in a segment where there are any; known ones may be left out."""
    where, table = "means", means
    for name in [cell.arm] if cell.segment is None else [cell.segment, cell.arm]:
        if name not in table:
            raise checks.InvalidInput(
                where,
                expected=f"an entry {name!r}",
                got=checks.shown(list(table)),
                remedy=f"give the means of '{cell}'",
            )
        where = f"{where}[{name!r}]"
        table = checks.mapping(where, table[name], "of names to means")
    if problem.flows:
        table = _with_visits(problem, where, table)
    known = problem.partly_known[problem.cells.index(cell)]
    needed = [m for m, value in zip(problem.measures, known, strict=True) if np.isnan(value)]
    if unknown := [name for name in table if name not in problem.measures]:
        raise checks.InvalidInput(
            where, expected=f"means of {', '.join(map(repr, problem.measures))}", got=checks.shown(unknown[0])
        )
    if missing := [name for name in needed if name not in table]:
        raise checks.InvalidInput(where, f"the mean of {missing[0]!r} is missing", "give it")
    row = [
        checks.number(f"{where}[{name!r}]", table[name]) if name in table else float(value)
        for name, value in zip(problem.measures, known, strict=True)
    ]
    _check_row(problem, cell, row, known)
    return row


def _with_visits(problem: Problem, where: str, table: Mapping[str, Any]) -> dict[str, Any]:
    """Means of an action in a state, with the probability of each state that comes next instead of ``next``."""
    metric, states = Visit.metric, list(problem.segments)
    odds = checks.mapping(f"{where}[{metric!r}]", table.get(metric), "of states that come next to their probabilities")
    if strange := [state for state in odds if state not in states]:
        got = checks.shown(strange[0])
        raise checks.InvalidInput(f"{where}[{metric!r}]", expected=f"some of {checks.shown(states)}", got=got)
    found = {state: checks.number(f"{where}[{metric!r}][{state!r}]", odds.get(state, 0.0)) for state in states}
    if min(found.values()) < 0 or abs(sum(found.values()) - 1.0) > SHARES_ADD_UP:
        expected, got = "probabilities of at least 0 that add up to 1", checks.shown(dict(odds))
        raise checks.InvalidInput(f"{where}[{metric!r}]", expected=expected, got=got, remedy="check them")
    return {name: mean for name, mean in table.items() if name != metric} | {
        str(visit): found[visit.state] for visit in problem.rows.visits
    }


def _with_next(problem: Problem, means: dict[str, float]) -> dict[str, Any]:
    """Inverse of ``_with_visits``."""
    odds = {visit.state: means.pop(str(visit)) for visit in problem.rows.visits}
    return means | {Visit.metric: {state: share for state, share in odds.items() if share > 0}}


def _check_known(problem: Problem, tried: Floats) -> None:
    for cell, row, known in zip(problem.cells, tried, problem.partly_known, strict=True):
        _check_row(problem, cell, row.tolist(), known)


def _check_row(problem: Problem, cell: Cell, row: Sequence[float], known: Floats) -> None:
    for name, given, value in zip(problem.measures, row, known.tolist(), strict=True):
        if not np.isnan(value) and given != value:
            raise checks.InvalidInput(
                "means", f"'{cell}' has the known {name} {value:g}, got {given:g}", "change one, or leave this one out"
            )


def written_means(problem: Problem, means: Floats) -> dict[str, Any]:
    """Means (names, measures) as ``read_means`` takes them from a file, without those that the problem knows."""
    result: dict[str, Any] = {}
    for cell, row, known in zip(problem.cells, means.tolist(), problem.partly_known, strict=False):
        table = result if cell.segment is None else result.setdefault(cell.segment, {})
        entries = zip(problem.measures, row, known.tolist(), strict=True)
        told = {name: mean for name, mean, value in entries if np.isnan(value)}
        table[cell.arm] = _with_next(problem, told) if problem.flows else told
    return result


def read_noise(
    problem: Problem, sigma: float | Mapping[str, float] | None, events: Sequence[str], noise: models.Noise | None
) -> models.Noise:
    """The noise model of the measures.

    >>> read_noise(Problem(["a"], limits=["p(seconds > 2) <= 5%"]), 0.5, (), None).to_dict()
    {'kind': 'mixed', 'sigma': [0.5, 0.5], 'binary': [False, True]}
    """
    if noise is not None:
        if sigma is not None or len(events):
            raise checks.InvalidInput("noise", expected="either noise, or sigma and events", got="both")
        if not hasattr(noise, "draw"):
            raise checks.InvalidInput(
                "noise", expected="a noise model such as Bernoulli()", got=checks.shown(noise), remedy="build one"
            )
        return noise
    for name in checks.names("events", events, "metric"):
        checks.choice("events", name, list(problem.measures))
    visits = np.array([isinstance(m, Visit) for m in problem.rows.measures])
    binary = np.array([isinstance(m, Tail) for m in problem.rows.measures]) | np.isin(problem.measures, list(events))
    deviation = _deviations(problem, 1.0 if sigma is None else sigma)
    if visits.any():
        return models.Mixed(deviation, binary | visits, visits)
    if binary.all():
        return models.Bernoulli()
    if binary.any():
        return models.Mixed(deviation, binary)
    return models.Gaussian(deviation[0], deviation[1:])


def _deviations(problem: Problem, sigma: float | Mapping[str, float]) -> list[float]:
    if not isinstance(sigma, Mapping):
        return [checks.number("sigma", sigma)] * len(problem.measures)
    for name in sigma:
        checks.choice("sigma", name, list(problem.measures))
    return [checks.number(f"sigma[{name!r}]", sigma.get(name, 1.0)) for name in problem.measures]


def read_shares(problem: Problem, shares: Mapping[str, float] | None) -> tuple[float, ...]:
    """True shares of the segments; one of 1 where there are none.

    >>> read_shares(Problem(["a"], segments=["free", "paid"]), {"free": 0.7, "paid": 0.3})
    (0.7, 0.3)
    """
    if problem.flows and shares is None:
        return (1.0,)
    known = [share for share in problem.segments.values() if share is not None]
    if len(known) == len(problem.segments):
        if shares is not None:
            raise checks.InvalidInput("shares", "the problem knows the shares of its segments", "leave them out")
        return tuple(known) or (1.0,)
    if shares is None:
        raise checks.InvalidInput(
            "shares", "the problem does not know the shares of its segments", "give the true ones: shares={...}"
        )
    given = checks.mapping("shares", shares, "of segments to their shares")
    checks.same_names("shares", given, list(problem.segments), "segment")
    found = tuple(checks.number(f"shares[{name!r}]", given[name]) for name in problem.segments)
    if min(found) <= 0 or abs(sum(found) - 1.0) > SHARES_ADD_UP:
        raise checks.InvalidInput("shares", expected="shares above 0 that add up to 1", got=checks.shown(list(found)))
    return found
