"""What trials told, as a table: a row for each trial, its metrics in the order of the problem."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bestmix import checks
from bestmix.arrays import Floats


def named_rows(metrics: Sequence[str], values: Mapping[str, Any]) -> Floats:
    """Metrics of trials (m, metrics), given by name: one value for all trials, or one for each.

    >>> named_rows(["reward", "dollars"], {"dollars": 0.2, "reward": [1.0, 0.0]})
    array([[1. , 0.2],
           [0. , 0.2]])
    """
    given = dict(values)
    checks.same_names("metrics", given, metrics, "metric")
    sizes = {len(column) for column in given.values() if _depth(column) > 0}
    if len(sizes) > 1:
        raise checks.InvalidInput("metrics", f"they differ in length: {sorted(sizes)}", "give one value for each trial")
    rows = sizes.pop() if sizes else 1
    return np.column_stack([_column(f"metrics[{name!r}]", given[name], rows) for name in metrics])


def cost_rows(names: Sequence[str], costs: Any, rows: int) -> Floats:
    """Metrics with these names of ``rows`` trials as (rows, L), given by name or in this order.

    >>> cost_rows(["dollars", "seconds"], {"seconds": [1.0, 2.0], "dollars": 0.2}, rows=2)
    array([[0.2, 1. ],
           [0.2, 2. ]])
    """
    size = len(names)
    if isinstance(costs, Mapping):
        checks.same_names("costs", costs, names, "cost")
        columns = [_column(f"costs[{c!r}]", costs[c], rows) for c in names]
        return np.array(columns, dtype=np.float64).reshape(size, rows).T
    if costs is None and names:
        wanted = f"a value of {', '.join(map(repr, names))}"
        raise checks.InvalidInput("costs", expected=wanted, got="none", remedy="tell it beside the reward")
    if costs is None:
        costs = np.empty((rows, 0))
    if _depth(costs) == 0:
        costs = [checks.number("costs", costs)]
    flat = checks.array("costs", costs, (None,) * _depth(costs), "(trials, costs)")
    if flat.ndim < 2 and flat.size == rows * size and (rows == 1 or size == 1):
        flat = flat.reshape(rows, size)
    return checks.array("costs", flat, (rows, size), "(trials, costs)")


def _depth(values: Any) -> int:
    """Number of axes; a ragged list counts as two."""
    try:
        return np.ndim(values)
    except ValueError:
        return 2


def _column(name: str, values: Any, rows: int) -> Floats:
    """One metric of every trial, given as one value or as ``rows`` of them."""
    if _depth(values) == 0:
        return np.full(rows, checks.number(name, values))
    return checks.array(name, values, (rows,), "(trials,)")
