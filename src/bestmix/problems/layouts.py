"""A problem's segments or states, limits and known means as columns and rows of a program, before any trial.

In the program columns stand in order of segments, in each the arms that can be tried and then those that are known;
in a problem those that can be tried come first, whatever their segment. ``places`` leads from one to the other.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from bestmix.arrays import Floats, Integers
from bestmix.kernels.layout import Layout, new_layout
from bestmix.problems.limits import Limit
from bestmix.problems.markov import MarkovProblem
from bestmix.problems.problem import Cell, Problem
from bestmix.problems.quantities import Share


@lru_cache(maxsize=64)
def places(problem: Problem) -> Integers:
    """For each column of the program its number among the problem's names (n,).

    >>> places(Problem(["a", "b"], segments={"free": 0.7, "paid": 0.3}))
    array([0, 1, 2, 3])
    """
    groups = len(segments_of(problem))
    tried, known = len(problem.cells) // groups, len(problem.known_cells) // groups
    at = [[*range(s * tried, (s + 1) * tried), *_known(s, groups, tried, known)] for s in range(groups)]
    result = np.array(at, dtype=np.int64).ravel()
    result.flags.writeable = False
    return result


def _known(s: int, groups: int, tried: int, known: int) -> range:
    first = groups * tried + s * known
    return range(first, first + known)


@lru_cache(maxsize=64)
def layout_of(problem: Problem) -> Layout:
    """Columns and rows before any trial."""
    if isinstance(problem, MarkovProblem):
        return _with_flows(problem)
    cells = [[*problem.cells, *problem.known_cells][place] for place in places(problem)]
    groups, limits = segments_of(problem), problem.limits
    transform = np.array([_rows(problem, segment) for segment in groups])
    constant = _constants(limits, cells)
    given = np.vstack([problem.partly_known, problem.known_measures])[places(problem)]
    reference = [[_reference(limit, segment, cells) for limit in limits] for segment in groups]
    return new_layout(
        [len(cells) // len(groups)] * len(groups),
        transform,
        constant,
        equality=np.array([limit.equality for limit in limits], dtype=np.bool_),
        reference=np.array(reference, dtype=np.int64).reshape(len(groups), len(limits)),
        factor=np.array([limit.factor for limit in limits]),
        given=given,
    )


def _with_flows(problem: MarkovProblem) -> Layout:
    """Actions in states are the columns, all in one group; rows are the limits, and the flow of all states but one."""
    rows, cells, limits, flows = problem.rows, list(problem.cells), problem.limits, problem.flows
    visits = np.array([[float(m == visit) for m in rows.measures] for visit in rows.visits if visit.state in flows])
    here = np.array([[float(cell.segment == state) for state in flows] for cell in cells])
    first = (1.0 - problem.discount) * np.array([problem.start[state] for state in flows])
    flowing = np.arange(len(limits) + len(flows)) >= len(limits)
    result = new_layout(
        [len(cells)],
        np.vstack([rows.transform, -problem.discount * visits])[None],
        np.hstack([_constants(limits, cells), here - first]),
        equality=flowing,
    )
    return result._replace(known=result.known | flowing)


def segments_of(problem: Problem) -> list[str | None]:
    """The segments; one of no name without any, and where these are states, whose shares nobody knows."""
    return [None] if problem.flows else list(problem.segments) or [None]


def _constants(limits: Sequence[Limit], cells: list[Cell]) -> Floats:
    return np.array([[_constant(limit, cell) for limit in limits] for cell in cells]).reshape(len(cells), -1)


def _applies(limit: Limit, segment: str | None) -> bool:
    return limit.segment is None or limit.segment == segment


def _rows(problem: Problem, segment: str | None) -> Floats:
    """The goal and the limits in the measures of a segment (1 + L, M); zeros for limits of other segments."""
    applies = [True, *(_applies(limit, segment) for limit in problem.limits)]
    return problem.rows.transform * np.array(applies, dtype=np.float64)[:, None]


def _constant(limit: Limit, cell: Cell) -> float:
    """What is added to the limit's entry of an arm: minus the bound, and in a limit on shares 1 for its arm."""
    if not _applies(limit, cell.segment):
        return 0.0
    if isinstance(limit.quantity, Share):
        return limit.sign * (float(limit.quantity.arm == cell.arm) - limit.bound)
    return -limit.right_side


def _reference(limit: Limit, segment: str | None, cells: list[Cell]) -> int:
    """The column of the arm of reference in a segment; -1 where the limit has none."""
    if limit.arm is None or not _applies(limit, segment):
        return -1
    return cells.index(Cell(limit.arm, segment))
